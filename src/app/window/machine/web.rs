//! A page in a browser.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use wasm_bindgen::JsCast;
use winit::event_loop::{ActiveEventLoop, EventLoop, EventLoopProxy};
use winit::platform::web::{EventLoopExtWebSys, WindowAttributesExtWebSys};
use winit::window::WindowAttributes;

use super::super::no_display;
use super::super::shell::{Shell, Word};
use super::Arrival;
use crate::app::page;
use crate::app::window::Listen;
use crate::error::{Error, Result};
use crate::render::{Image, PictureSize};
use crate::settings::ViewRequest;

thread_local! {
    static PROXY: RefCell<Option<EventLoopProxy<Word>>> = const { RefCell::new(None) };
    static ARRIVALS: RefCell<Vec<Arrival>> = const { RefCell::new(Vec::new()) };
}

/// Starts the window's event loop and returns at once: the browser goes on with it.
///
/// Errors: the browser refuses.
pub fn run(request: ViewRequest, _: Listen) -> Result<()> {
    let made = EventLoop::with_user_event().build();
    let event_loop = made.map_err(|error| no_display(&error.to_string()))?;
    PROXY.set(Some(event_loop.create_proxy()));
    event_loop.spawn_app(Shell::new(request));
    Ok(())
}

/// Hands something to the next frame, and asks for one.
pub fn tell(arrival: Arrival) {
    ARRIVALS.with_borrow_mut(|all| all.push(arrival));
    PROXY.with_borrow(|proxy| {
        // Before the event loop is there, its first frame takes it.
        proxy.as_ref().map(|proxy| proxy.send_event(Word::Look));
    });
}

/// What has come since the last frame.
pub fn arrivals() -> Vec<Arrival> {
    ARRIVALS.take()
}

/// The canvas of the page, whose size the page gives.
///
/// Errors: a page without it.
pub fn dressed(
    attributes: WindowAttributes,
    _: &ActiveEventLoop,
    _: [f64; 2],
) -> Result<WindowAttributes> {
    let canvas = page::element(page::CANVAS).and_then(|element| element.dyn_into().ok());
    let canvas = canvas.ok_or_else(|| no_display("the page has no canvas"))?;
    Ok(attributes.with_canvas(Some(canvas)))
}

/// The page goes on without the window, and says why.
pub fn ended(shell: &mut Shell) {
    page::go_on_without(shell.end());
}

/// What egui has for others: texts for the clipboard, and what is shown, in words.
pub fn take_output(output: &egui::PlatformOutput) {
    for command in &output.commands {
        if let egui::OutputCommand::CopyText(text) = command {
            page::copy(text);
        }
    }
    if let Some(update) = &output.accesskit_update {
        page::mirror(update);
    }
}

/// The page has every control once more, for who cannot see the picture of it.
pub fn prepare(context: &egui::Context) {
    context.enable_accesskit();
}

/// The page is called so.
pub fn named(title: &str) {
    page::named(title);
}

/// The whole link, which is the page's address from now on.
pub fn link(fragment: &str) -> String {
    page::link(fragment)
}

/// Whether a panel leaves some of the picture free: on a phone it does not.
pub fn has_room_for_panel() -> bool {
    page::width().is_none_or(|width| width >= 700.0)
}

/// In a page there are no runs.
pub fn check_name(_: &Path) -> Result<()> {
    Ok(())
}

/// What a page asks its browser for: a file. The browser shows a dialog of its own, and what is picked comes as dropped
/// files do.
#[derive(Default)]
pub struct Picker(());

impl Picker {
    /// Opens the browser's dialog.
    pub fn open(&mut self) {
        page::ask_for_file();
    }

    /// The browser's dialog lies over the page by itself.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Nothing is to be drawn.
    pub fn show(&mut self, _: &egui::Context) {}

    /// Files come as if they were dropped.
    pub fn picked(&mut self) -> Option<PathBuf> {
        None
    }
}

/// The size and the rate of a film.
#[expect(dead_code, reason = "there are no films in a page")]
pub struct FilmOptions {
    pub size: PictureSize,
    pub frames_per_sec: u32,
}

/// There are no films in a page.
pub struct Film;

impl Film {
    pub fn open(_: &Path, _: FilmOptions) -> Result<Self> {
        let problem = "a page records no films; 'gravitile render' does, from the command line that is copied here";
        Err(Error::Outside(problem.to_owned()))
    }

    pub fn write(&mut self, _: Image) -> Result<()> {
        Ok(())
    }

    pub fn finish(self) -> Result<()> {
        Ok(())
    }
}
