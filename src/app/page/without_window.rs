//! The page without its window. Without WebGPU: the CPU's engine and painter, a canvas, a button,
//! and a note, but no panel, as it needs WebGPU. For benchmarks: steps only.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use wasm_bindgen::{Clamped, JsCast};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{CanvasRenderingContext2d, Event, HtmlCanvasElement, ImageData};

use super::listen::on;
use super::{
    BEGIN, CANVAS, browser, element, hide, log, making, note, parse_link, set_title, show,
};
use gravitile::error::{Error, Result};
use gravitile::gpu::name_adapter;
use gravitile::render::{Director, Look, Painter, PictureSize, Points};
use gravitile::scene::Scene;
use gravitile::settings::{EngineRequest, InputRequest, MethodRequest, ViewRequest};
use gravitile::sim::Simulation;

/// The element around canvas and button.
const PLAIN: &str = "plain";
const PICTURE: &str = "picture";
const PAUSE: &str = "pause";
/// Largest number of bodies whose all-pairs forces leave one CPU thread time to paint.
const MOST_BODIES: usize = 1500;
/// Pixels of a picture, independent of the screen's.
const PIXELS: f64 = 640.0 * 360.0;
/// Seconds that a picture counts for exposure, colours and cameras that follow the bodies.
const PICTURE_SECS: f64 = 1.0 / 30.0;

/// Shows `request` without WebGPU, with the reason `why`; `refused` is the error of a link that
/// this request replaces.
pub fn start(mut request: ViewRequest, refused: Option<&Error>, why: &str) {
    let mut text = format!(
        "{why}: this shows a few bodies, computed on one processor thread, without the panel. With WebGPU (a \
         recent Chrome, Edge, Safari or Firefox) there are tens of thousands."
    );
    if let Some(refused) = refused {
        text += &format!(" {} is shown instead of the link: {refused}.", request.input.input);
    }
    if let Some(n) = limit(&mut request.input) {
        text += &format!(" {MOST_BODIES} bodies are shown instead of {n}.");
    }
    if !request.thrown.throw.is_empty() {
        text += " What the link throws in is left out.";
    }
    spawn_local(async move {
        // The note must be visible before the work begins.
        hide(CANVAS);
        note(&text);
        if let Err(problem) = run(&request).await {
            hide(BEGIN);
            note(&format!("{text} This failed: {problem}"));
        }
    });
}

/// Ends when the browser is about to show the next picture.
async fn next_picture() {
    let promise = js_sys::Promise::new(&mut |done, _| {
        let requested_frame = browser().map(|browser| browser.request_animation_frame(&done));
        if !matches!(requested_frame, Some(Ok(_))) {
            let _ = done.call0(&JsValue::NULL);
        }
    });
    let _ = JsFuture::from(promise).await;
}

async fn run(request: &ViewRequest) -> Result<()> {
    next_picture().await;
    let size = picture_size()?;
    let mut loaded = making::load(&request.input, request.steps.eps).await?;
    let by = MethodRequest { engine: "cpu".to_owned(), ..MethodRequest::default() };
    let engine = EngineRequest { by, ..EngineRequest::default() };
    let settings = request.steps.settings(&mut loaded, &engine)?;
    let style = request.look.style()?;
    let bodies = loaded.snapshot.bodies;
    let lasts = loaded.run.until;
    let motion = request.look.motion(&bodies, loaded.view.as_ref(), &style, size, lasts)?;
    let mut painter = Painter::cpu(size);
    let mut sim = Simulation::builder(bodies, settings).open().await?;
    let state = sim.fetch().await?;
    let mut look = Look::new(&style, &state.bodies, Some(&state.acceleration))?;
    let canvas = PageCanvas::new(size)?;
    show(PLAIN);
    set_title(&format!("gravitile: {}", request.input.input));
    let paused = pause_button(request.paused);
    let mut shown = None;
    let (mut secs, mut director) = (0.0, Director::default());
    loop {
        next_picture().await;
        if !paused.get() {
            sim.advance(1, &mut |_| true).await?;
        }
        if shown.replace(sim.steps()) == Some(sim.steps()) {
            continue;
        }
        let Some((bodies, acceleration)) = sim.host() else { return Ok(()) };
        let points = Points::Host { bodies, acceleration: Some(acceleration) };
        secs += PICTURE_SECS;
        look.follow_values(bodies, Some(acceleration), PICTURE_SECS);
        let camera = director.camera(&motion, (secs, sim.time()), bodies, &look.style, size)?;
        canvas.draw(painter.paint(points, &camera, &look, secs)?.rgba())?;
        ::log::trace!(target: "gravitile::seen", "plain picture, step {}", sim.steps());
    }
}

/// Limits the number of bodies to [`MOST_BODIES`]; returns a larger number that a link requested.
fn limit(input: &mut InputRequest) -> Option<usize> {
    let requested = input.n;
    let n = requested.or_else(|| input.scene().ok()?.as_ref().and_then(Scene::n));
    // Scenes of a few bodies refuse any number.
    n.filter(|n| *n > MOST_BODIES)?;
    input.n = Some(MOST_BODIES);
    requested
}

/// A size of about [`PIXELS`] with the page's aspect ratio.
fn picture_size() -> Result<PictureSize> {
    let side = |value: Option<std::result::Result<JsValue, JsValue>>| {
        value.and_then(|value| value.ok()?.as_f64()).unwrap_or(640.0).max(100.0)
    };
    let width = side(browser().map(|browser| browser.inner_width()));
    let height = side(browser().map(|browser| browser.inner_height()));
    let scale = (PIXELS / (width * height)).sqrt();
    PictureSize::new((width * scale) as u32, (height * scale) as u32)
}

/// Sets up the button; the cell holds whether the run is paused.
fn pause_button(paused: bool) -> Rc<Cell<bool>> {
    let state = Rc::new(Cell::new(paused));
    let Some(button) = element(PAUSE) else { return state };
    let name = |paused: bool| if paused { "Play" } else { "Pause" };
    button.set_text_content(Some(name(paused)));
    let (its, itself) = (Rc::clone(&state), button.clone());
    on(&button, "click", move |_: Event| {
        its.set(!its.get());
        itself.set_text_content(Some(name(its.get())));
    });
    state
}

struct PageCanvas {
    context: CanvasRenderingContext2d,
    size: PictureSize,
}

impl PageCanvas {
    fn new(size: PictureSize) -> Result<Self> {
        let nowhere = || Error::Display("the page has no canvas for pictures".to_owned());
        let canvas = element(PICTURE).and_then(|e| e.dyn_into::<HtmlCanvasElement>().ok());
        let canvas = canvas.ok_or_else(nowhere)?;
        canvas.set_width(size.width());
        canvas.set_height(size.height());
        let context = canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into().ok());
        Ok(Self { context: context.ok_or_else(nowhere)?, size })
    }

    fn draw(&self, rgba: &[u8]) -> Result<()> {
        let (width, height) = (self.size.width(), self.size.height());
        ImageData::new_with_u8_clamped_array_and_sh(Clamped(rgba), width, height)
            .and_then(|image| self.context.put_image_data(&image, 0.0, 0.0))
            .map_err(|_| Error::Display("the browser cannot draw pictures".to_owned()))
    }
}

/// Steps without a picture, called by `web/tool/benches/steps.rs` to compare a page with the native
/// program: takes `count` steps of the bodies of a link, and returns a description of the engine.
/// `adapter` is the browser's description of the graphics adapter.
///
/// # Errors
///
/// Those of the link, of its bodies and of the device, as a text.
#[wasm_bindgen]
pub async fn steps(
    adapter: String,
    link: String,
    count: u32,
) -> std::result::Result<String, JsValue> {
    log::set_up();
    name_adapter(&adapter);
    take_steps(&link, count).await.map_err(|problem| JsValue::from(problem.to_string()))
}

async fn take_steps(link: &str, count: u32) -> Result<String> {
    let request = parse_link(link).await?;
    let mut input = request.input.load(request.steps.eps)?;
    let settings = request.steps.settings(&mut input, &request.engine)?;
    let mut sim = Simulation::builder(input.snapshot.bodies, settings).open().await?;
    let done = sim.advance(u64::from(count), &mut |_| true).await?;
    // Waits for the device to complete the steps.
    let state = sim.fetch().await?;
    let bodies = state.bodies.len();
    Ok(format!("{done} steps of {bodies} bodies on {}", sim.describe_engine()))
}
