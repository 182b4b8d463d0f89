//! A native window.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use winit::dpi::LogicalSize;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::WindowAttributes;

use super::UserEvent;
pub use super::picker::Picker;
use crate::window::no_display;
use gravitile::error::Result;
use gravitile::input::Input;
pub use gravitile::record::refuse_names_of_runs as check_name;
pub use gravitile::render::{Film, FilmOptions};
use gravitile::settings::InputRequest;

/// Substrings of the names of winit's crates.
const WINDOW_SYSTEMS: [&str; 5] = ["winit", "x11", "xkbcommon", "wayland", "smithay"];

/// Turns panics of winit into errors, with the first line of their message: it panics if a display
/// library is missing or the window was destroyed. Other panics continue.
pub fn without_winits_panics<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static IS_WINITS: AtomicBool = AtomicBool::new(false);
    let default_hook = Arc::new(std::panic::take_hook());
    let others = Arc::clone(&default_hook);
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        match WINDOW_SYSTEMS.iter().any(|name| file.contains(name)) {
            true => IS_WINITS.store(true, Ordering::SeqCst),
            false => others(panic),
        }
    }));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(Box::new(move |panic| default_hook(panic)));
    outcome.map_err(|panic| {
        if !IS_WINITS.load(Ordering::SeqCst) {
            std::panic::resume_unwind(panic);
        }
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.and_then(|text| text.lines().next()).unwrap_or("a display library failed").to_owned()
    })
}

/// The window's event loop.
///
/// # Errors
///
/// There is no display.
pub fn event_loop() -> Result<EventLoop<UserEvent>> {
    #[cfg(all(unix, not(target_os = "macos")))]
    if std::env::var_os("DISPLAY").is_none_or(|value| value.is_empty())
        && std::env::var_os("WAYLAND_DISPLAY").is_none_or(|value| value.is_empty())
    {
        return Err(no_display("neither DISPLAY nor WAYLAND_DISPLAY is set"));
    }
    without_winits_panics(|| EventLoop::with_user_event().build())
        .and_then(|made| made.map_err(|error| error.to_string()))
        .map_err(|text| no_display(&text))
}

/// Sets the window's `remembered` size, limited by this screen. Never fails.
pub fn window_attributes(
    attributes: WindowAttributes,
    event_loop: &ActiveEventLoop,
    remembered: [f64; 2],
) -> Result<WindowAttributes> {
    let mut size = remembered;
    let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    if let Some(monitor) = monitor.filter(|monitor| monitor.size().width > 0) {
        // The window's frame and a task bar also need space.
        let screen = monitor.size().to_logical::<f64>(monitor.scale_factor());
        size = [size[0].min(screen.width), size[1].min(0.92 * screen.height)];
    }
    let [width, height] = size.map(f64::round);
    Ok(attributes
        .with_min_inner_size(LogicalSize::new(320.0, 240.0))
        .with_inner_size(LogicalSize::new(width, height)))
}

/// Nothing to do: egui handles the clipboard itself.
pub fn take_output(_: &egui::PlatformOutput) {}

/// Nothing to do.
pub fn prepare(_: &egui::Context) {}

/// Nothing to do: winit has set the window's title.
pub fn set_title(_: &str) {}

/// The fragment alone, as the page's address is unknown here.
pub fn link(fragment: &str) -> String {
    fragment.to_owned()
}

/// Whether the primary pointer is a finger: no system reports it here.
pub fn is_touched() -> bool {
    false
}

/// Whether there is room for the panel next to the picture.
pub fn has_room_for_panel() -> bool {
    true
}

/// Always `None`: there is no browser.
pub fn browser() -> Option<(String, String)> {
    None
}

/// Loads bodies on the calling thread, which is a background thread.
///
/// # Errors
///
/// Those of [`InputRequest::load`].
pub async fn load(input: &InputRequest, softening: Option<f64>) -> Result<Input> {
    input.load(softening)
}

/// Nothing to do: the window shows the progress.
pub fn progress(_: &str) {}

/// Nothing to do: the background thread ends by itself.
pub fn cancel_loading() {}

/// Always false: writing to a native film blocks until it is encoded.
pub fn is_busy(_: &Film) -> bool {
    false
}

/// The default name of a film.
pub fn film_name() -> &'static str {
    "film.webp"
}

/// Whether the program can close the window.
pub fn can_close() -> bool {
    true
}
