//! A page in a browser.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use winit::event_loop::{ActiveEventLoop, EventLoop, EventLoopProxy};
use winit::platform::web::WindowAttributesExtWebSys;
use winit::window::WindowAttributes;

use super::UserEvent;
use crate::page;
pub use crate::page::{cancel_loading, is_touched, link, load, progress, set_title};
use crate::window::no_display;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::render::Image;
use gravitile::render::animated_png::{AnimatedPng, COUNT_AT, count_chunk};
pub use gravitile::settings::FilmOptions;

thread_local! {
    static PROXY: RefCell<Option<EventLoopProxy<UserEvent>>> = const { RefCell::new(None) };
    static EVENTS: RefCell<Vec<PageEvent>> = const { RefCell::new(Vec::new()) };
}

/// An event of the page's elements, queued for the next frame.
pub enum PageEvent {
    /// A warning to show.
    Warning(String),
    /// Input for egui.
    Input(egui::Event),
    /// Files that were dropped onto the page, or picked.
    Files(Vec<PathBuf>),
    /// Cancels loading.
    CancelLoading,
    /// The panel must be laid out.
    Repaint,
    /// The page may be closed.
    Leave,
}

/// The window's event loop, which wakes up for [`enqueue`].
///
/// # Errors
///
/// The browser refuses.
pub fn event_loop() -> Result<EventLoop<UserEvent>> {
    let made = EventLoop::with_user_event().build();
    let event_loop = made.map_err(|error| no_display(&error.to_string()))?;
    PROXY.set(Some(event_loop.create_proxy()));
    Ok(event_loop)
}

/// Queues an event for the next frame, and requests a frame.
pub fn enqueue(event: PageEvent) {
    EVENTS.with_borrow_mut(|all| all.push(event));
    PROXY.with_borrow(|proxy| {
        // Before the event loop exists, nothing is sent: its first frame handles the queue.
        proxy.as_ref().map(|proxy| proxy.send_event(UserEvent::Wake));
    });
}

/// The events queued since the last frame.
pub fn page_events() -> Vec<PageEvent> {
    EVENTS.take()
}

/// Sets the page's canvas, whose size the page determines.
///
/// # Errors
///
/// The page has no canvas.
pub fn window_attributes(
    attributes: WindowAttributes,
    _: &ActiveEventLoop,
    _: [f64; 2],
) -> Result<WindowAttributes> {
    let canvas = page::element(page::CANVAS).and_then(|element| element.dyn_into().ok());
    let canvas = canvas.ok_or_else(|| no_display("the page has no canvas"))?;
    Ok(attributes.with_canvas(Some(canvas)))
}

/// Handles egui's output: text for the clipboard, the on-screen keyboard, and the accessibility
/// tree.
pub fn take_output(output: &egui::PlatformOutput) {
    for command in &output.commands {
        if let egui::OutputCommand::CopyText(text) = command {
            page::copy(text);
        }
    }
    page::type_into(output.ime.is_some());
    if let Some(update) = &output.accesskit_update {
        page::mirror(update);
    }
}

/// Zoom factor on touch screens, as fingers need larger controls than a mouse.
const ZOOM_FOR_FINGERS: f32 = 1.2;

/// Enables the accessibility tree, which the page mirrors as elements, and wakes the event loop
/// when something between two frames, such as a fetched picture, needs a layout.
pub fn prepare(context: &egui::Context) {
    context.enable_accesskit();
    context.set_request_repaint_callback(|request| {
        if request.delay.is_zero() {
            enqueue(PageEvent::Repaint);
        }
    });
    context.set_fonts(fonts());
    if page::is_touched() {
        context.set_zoom_factor(ZOOM_FOR_FINGERS);
    }
}

/// egui's fonts, reduced to the glyphs that a page shows. The symbols on buttons are in the
/// monospace font.
fn fonts() -> egui::FontDefinitions {
    use egui::FontFamily::{Monospace, Proportional};
    let mut fonts = egui::FontDefinitions::empty();
    let files: [(&str, &[u8]); 3] = [
        ("letters", include_bytes!("../../assets/fonts/letters.ttf")),
        ("icons", epaint_default_fonts::EGUI_ICONS),
        ("code", include_bytes!("../../assets/fonts/code.ttf")),
    ];
    for (name, bytes) in files {
        let data = std::sync::Arc::new(egui::FontData::from_static(bytes));
        fonts.font_data.insert(name.to_owned(), data);
        // Also a family of its own, so that `compile_ahead` can load each file separately.
        fonts.families.insert(egui::FontFamily::Name(name.into()), vec![name.to_owned()]);
    }
    let named = |names: [&str; 3]| names.map(str::to_owned).to_vec();
    fonts.families.insert(Proportional, named(["letters", "icons", "code"]));
    fonts.families.insert(Monospace, named(["code", "letters", "icons"]));
    fonts
}

/// Whether there is room for the panel next to the picture, unlike on a phone.
pub fn has_room_for_panel() -> bool {
    page::width().is_none_or(|width| width >= 700.0)
}

/// The browser's name and version, and its full user agent.
pub fn browser() -> Option<(String, String)> {
    page::agent().map(|agent| (page::browser_of(&agent), agent))
}

/// Only the browser closes a page.
pub fn can_close() -> bool {
    false
}

/// Always succeeds: a page has no run folders.
pub fn check_name(_: &Path) -> Result<()> {
    Ok(())
}

/// The browser's own file dialog. Picked files arrive like dropped ones.
#[derive(Default)]
pub struct Picker(());

impl Picker {
    /// Opens the browser's dialog.
    pub fn open(&mut self) {
        page::ask_for_file();
    }

    /// Always false: the browser's dialog is not part of the page.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Draws nothing.
    pub fn show(&mut self, _: &egui::Context) {}

    /// Always `None`: picked files arrive like dropped ones.
    pub fn picked(&mut self) -> Option<PathBuf> {
        None
    }
}

#[wasm_bindgen(raw_module = "./film.js")]
extern "C" {
    #[wasm_bindgen(js_name = canEncode)]
    fn can_encode() -> bool;

    type WebM;
    #[wasm_bindgen(constructor)]
    fn new(width: u32, height: u32, rate: u32) -> WebM;
    #[wasm_bindgen(method)]
    fn add(this: &WebM, rgba: &[u8]);
    #[wasm_bindgen(method, getter)]
    fn bytes(this: &WebM) -> f64;
    #[wasm_bindgen(method, getter)]
    fn queued(this: &WebM) -> u32;
    #[wasm_bindgen(method, getter)]
    fn problem(this: &WebM) -> Option<String>;
    #[wasm_bindgen(method, catch)]
    async fn finish(this: &WebM) -> std::result::Result<JsValue, JsValue>;
}

/// The default name of a film: WebM if the browser encodes it.
pub fn film_name() -> &'static str {
    if can_encode() { "film.webm" } else { "film.apng" }
}

/// Whether the queue of the browser's encoder is full, so that the next picture must wait.
pub fn is_busy(film: &Film) -> bool {
    matches!(&film.pictures, Some(Pictures::WebM(film)) if film.queued() >= MOST_QUEUED)
}

/// A film in the page's memory, downloaded when it is complete.
pub struct Film {
    /// None once downloaded.
    pictures: Option<Pictures>,
    path: PathBuf,
}

enum Pictures {
    WebM(WebM),
    Png(AnimatedPng<SharedBytes>, SharedBytes),
}

/// Bytes that can be read while they are being written.
#[derive(Clone, Default)]
struct SharedBytes(Rc<RefCell<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The largest film in bytes: a page has 4 GB, and the browser copies downloads.
const LARGEST_FILM: f64 = 500e6;
/// Most pictures in the queue of the browser's encoder.
const MOST_QUEUED: u32 = 4;

impl Film {
    /// Begins a film.
    ///
    /// # Errors
    ///
    /// The extension of `path` is not supported.
    pub fn open(path: &Path, options: FilmOptions) -> Result<Self> {
        let FilmOptions { size, frames_per_sec } = options;
        let ends_in =
            |kind: &str| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(kind));
        let pictures = if ends_in("webm") && can_encode() {
            Pictures::WebM(WebM::new(size.width(), size.height(), frames_per_sec))
        } else if ends_in("apng") {
            let bytes = SharedBytes::default();
            let pictures = AnimatedPng::begin(bytes.clone(), size, frames_per_sec as u16);
            Pictures::Png(pictures.map_err(|error| Error::io("write", path, error))?, bytes)
        } else {
            let allowed = match can_encode() {
                true => "a name ending in .webm or .apng (animated PNG)",
                false => "a name ending in .apng: this browser only makes animated PNG",
            };
            return Err(Error::value("the film's name", path.display(), allowed));
        };
        Ok(Self { pictures: Some(pictures), path: path.to_owned() })
    }

    /// Adds a picture.
    ///
    /// # Errors
    ///
    /// Those of the browser's encoder. The film is too long for a page: the film so far is then
    /// downloaded.
    pub fn write(&mut self, image: Image) -> Result<()> {
        let bytes = match &mut self.pictures {
            None => return Ok(()),
            Some(Pictures::WebM(film)) => {
                film.add(image.rgba());
                if let Some(problem) = film.problem() {
                    return Err(Error::Outside(format!("the browser encodes no film: {problem}")));
                }
                film.bytes()
            }
            Some(Pictures::Png(film, bytes)) => {
                film.add(&image).map_err(|error| Error::io("write", &self.path, error))?;
                bytes.0.borrow().len() as f64
            }
        };
        if bytes < LARGEST_FILM {
            return Ok(());
        }
        self.download()?;
        let words = "a film in a page ends at 500 MB: the film so far was saved";
        Err(Error::Outside(words.to_owned()))
    }

    /// Ends the film and downloads it.
    ///
    /// # Errors
    ///
    /// It has no pictures; the browser refuses.
    pub fn finish(mut self) -> Result<()> {
        self.download()
    }

    fn download(&mut self) -> Result<()> {
        let path = self.path.clone();
        let empty = || Err(Error::file(&path, "has no pictures: nothing was saved"));
        match self.pictures.take() {
            None => Ok(()),
            Some(Pictures::WebM(film)) if film.bytes() + f64::from(film.queued()) == 0.0 => empty(),
            Some(Pictures::WebM(film)) => {
                spawn_local(async move {
                    let problem = match film.finish().await {
                        Ok(bytes) => files::replace(&path, &Uint8Array::new(&bytes).to_vec()),
                        Err(problem) => {
                            let text = String::from(js_sys::Error::from(problem).message());
                            Err(Error::file(&path, format!("was not encoded: {text}")))
                        }
                    };
                    if let Err(error) = problem {
                        enqueue(PageEvent::Warning(error.to_string()));
                    }
                });
                Ok(())
            }
            Some(Pictures::Png(film, _)) if film.is_empty() => empty(),
            Some(Pictures::Png(film, bytes)) => {
                let count = film.end().map_err(|error| Error::io("write", &path, error))?;
                let mut bytes = bytes.0.take();
                let at = COUNT_AT as usize;
                bytes[at..at + 16].copy_from_slice(&count_chunk(count));
                files::replace(&path, &bytes)
            }
        }
    }
}
