//! The page: the window in a browser, and its browser-specific parts.
//!
//! A page has one thread, and no piece of work may hold it for more than 50 ms. A browser compiles
//! a function when it is first called, so start-up is spread out:
//!
//! - A worker with the same program makes the bodies as soon as the device is open (`making`).
//! - Meanwhile the page prepares the passes of the picture, the glyphs and the controls, and yields
//!   to the event loop in between (`gpu::let_browser_turn`, `app/window/compile_ahead.rs`).
//! - The first frame with bodies shows the picture alone; the panel follows part by part
//!   (`app/panel/growth.rs`).
//! - The kernels of the reports are compiled in the background, during the first steps.
//!
//! Outside of Rust, `web/` has films as WebM (`film.js`), starting without a network (`sw.js`) and
//! the tool that writes the pages of scenes (`web/tool`).

mod listen;
mod log;
mod making;
mod mirror;
mod storage;
mod typing;
mod without_window;

use std::path::PathBuf;

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element, HtmlInputElement, Window};

use super::window;
use super::window::machine::{PageEvent, enqueue};
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::gpu::let_browser_turn;
use gravitile::settings::{ViewRequest, link};

pub use listen::copy;
pub use making::{load, restart as cancel_loading};
pub use mirror::mirror;
pub use typing::{is_touched, type_into};

/// The canvas of the window.
pub const CANVAS: &str = "window";
/// The element for a note outside the window.
const NOTE: &str = "note";
/// The element shown first, its progress text, and its button.
const BEGIN: &str = "begin";
const PROGRESS: &str = "progress";
const CANCEL: &str = "cancel";
/// The browser's dialog for files.
const PICKER: &str = "picker";

fn browser() -> Option<Window> {
    web_sys::window()
}

fn document() -> Option<Document> {
    browser()?.document()
}

/// The page's element with this id.
pub fn element(id: &str) -> Option<Element> {
    document()?.get_element_by_id(id)
}

/// Starts the page. `adapter` is the browser's description of the graphics adapter, empty if there
/// is none.
#[wasm_bindgen]
pub async fn start(adapter: String) {
    log::set_up();
    std::panic::set_hook(Box::new(|panic| {
        ::log::error!("{panic}");
        hide(BEGIN);
        note(&format!("The page has stopped because of an error in gravitile: {panic}"));
    }));
    files::put_up(Box::new(storage::BrowserStorage));
    making::set_up();
    let_browser_turn().await;
    let (request, refused) = request().await;
    let_browser_turn().await;
    if adapter.is_empty() {
        return without_window::start(request, refused.as_ref(), "This browser has no WebGPU");
    }
    gravitile::gpu::name_adapter(&adapter);
    listen::set_up();
    typing::set_up();
    if let Some(refused) = refused {
        enqueue(PageEvent::Warning(refused.to_string()));
    }
    let_browser_turn().await;
    continue_without_window(window::open(request, |_| ()));
}

/// The request of the link, or the first scene with the link's error.
async fn request() -> (ViewRequest, Option<Error>) {
    let fragment = browser().and_then(|browser| browser.location().hash().ok()).unwrap_or_default();
    if fragment.trim_start_matches('#').is_empty() && own_scene().is_none() {
        return (window::first_scene(), None);
    }
    match parse_link(&fragment).await {
        Ok(request) => (request, None),
        // The message must not lie below the welcome sheet.
        Err(error) => (ViewRequest { is_default: false, ..window::first_scene() }, Some(error)),
    }
}

async fn parse_link(fragment: &str) -> Result<ViewRequest> {
    let own = own_scene();
    let request: ViewRequest =
        link::parse(fragment, own.as_deref().unwrap_or(window::FIRST_SCENE))?;
    let_browser_turn().await;
    let engine = &request.engine;
    if request.shaders.is_some() || !engine.adapter.names.is_empty() || engine.devices.is_some() {
        let problem = "the link names a folder or an adapter: these belong to one computer only";
        return Err(Error::Outside(problem.to_owned()));
    }
    request.input.scene()?;
    request.steps.check()?;
    request.engine.by.chosen()?;
    request.look.style()?;
    Ok(request)
}

/// The scene of this page; `None` on the page for all scenes.
fn own_scene() -> Option<String> {
    document()?.document_element()?.get_attribute("data-scene")
}

/// Sets the page's title, once it shows bodies.
pub fn set_title(title: &str) {
    if let Some(document) = document() {
        document.set_title(title);
    }
    hide(BEGIN);
}

/// Shows the progress of loading before the first bodies, with a button that cancels it.
pub fn progress(text: &str) {
    if let Some(element) = element(PROGRESS) {
        element.set_text_content(Some(&format!("{text} …")));
        show(CANCEL);
    }
}

fn show(id: &str) {
    if let Some(element) = element(id) {
        let _ = element.remove_attribute("hidden");
    }
}

fn hide(id: &str) {
    if let Some(element) = element(id) {
        let _ = element.set_attribute("hidden", "");
    }
}

/// Sets the fragment of the page's address, and returns the address.
pub fn link(fragment: &str) -> String {
    let Some(browser) = browser() else { return fragment.to_owned() };
    // Where a link to the scene's own page is pasted, its preview shows the scene's picture.
    let scene = fragment.strip_prefix("#scene=").and_then(|rest| rest.split('&').next());
    let page = scene.map_or(String::new(), |scene| format!("{scene}.html"));
    if let Ok(history) = browser.history() {
        let url = format!("{page}{fragment}");
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&url));
    }
    browser.location().href().unwrap_or_else(|_| fragment.to_owned())
}

/// The page's width in CSS pixels.
pub fn width() -> Option<f64> {
    browser()?.inner_width().ok()?.as_f64()
}

/// The browser's user agent.
pub fn agent() -> Option<String> {
    browser()?.navigator().user_agent().ok()
}

/// Name and version from a user agent, such as `Firefox 145`. User agents contain several names;
/// the first match in this order is the browser.
pub fn browser_of(agent: &str) -> String {
    let named = |(mark, name): (&str, &str)| {
        let version = agent.split_once(mark)?.1.split(['.', ' ']).next()?;
        Some(format!("{name} {version}"))
    };
    let marks =
        [("Firefox/", "Firefox"), ("Edg/", "Edge"), ("Chrome/", "Chrome"), ("Version/", "Safari")];
    marks.into_iter().find_map(named).unwrap_or_else(|| "a browser".to_owned())
}

/// Shows a note in the page itself.
fn note(text: &str) {
    let Some(note) = element(NOTE) else { return };
    note.set_text_content(Some(text));
    show(NOTE);
}

/// After an error of the window, continues in the page without it, and shows the reason.
pub fn continue_without_window(ended: Result<()>) {
    let Err(error) = ended else { return };
    ::log::error!("{error}");
    spawn_local(async move {
        let (request, refused) = request().await;
        without_window::start(request, refused.as_ref(), &error.to_string());
    });
}

/// Opens the browser's dialog for files.
pub fn ask_for_file() {
    if let Some(input) = element(PICKER).and_then(|e| e.dyn_into::<HtmlInputElement>().ok()) {
        input.click();
    }
}

/// Opens whole files that were dropped or picked.
fn take_files(dropped: Vec<(String, Vec<u8>)>) {
    let mut paths = Vec::new();
    for (name, bytes) in dropped {
        // The prefix distinguishes a file from a scene of the same name.
        let path = PathBuf::from(format!("dropped/{name}"));
        files::lay_down(&path, bytes);
        paths.push(path);
    }
    enqueue(PageEvent::Files(paths));
}
