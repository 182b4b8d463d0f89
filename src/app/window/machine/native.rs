//! A native window.

use winit::dpi::LogicalSize;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::WindowAttributes;

use super::super::no_display;
use super::super::shell::{Shell, Word};
use super::Arrival;
pub use super::caption::Caption;
pub use super::picker::Picker;
use crate::app::window::Listen;
use crate::error::Result;
use crate::input::Input;
pub use crate::record::refuse_names_of_runs as check_name;
pub use crate::render::{Film, FilmOptions};
use crate::settings::{InputRequest, ViewRequest};

/// Opens the window and returns when it is closed.
///
/// Errors: those of [`super::super::open`].
pub fn run(request: ViewRequest, listen: Listen) -> Result<()> {
    let event_loop = event_loop()?;
    crate::live::let_engines_give_way();
    let outside = event_loop.create_proxy();
    listen(Box::new(move || {
        // If nobody receives it, the window is closed already.
        let _ = outside.send_event(Word::Leave);
    }));
    let mut shell = Shell::new(request);
    let ran = event_loop.run_app(&mut shell);
    shell.end()?;
    ran.map_err(|error| no_display(&error.to_string()))
}

/// winit panics if a display library is missing; that is no reason to show a backtrace.
fn event_loop() -> Result<EventLoop<Word>> {
    #[cfg(all(unix, not(target_os = "macos")))]
    if std::env::var_os("DISPLAY").is_none_or(|value| value.is_empty())
        && std::env::var_os("WAYLAND_DISPLAY").is_none_or(|value| value.is_empty())
    {
        return Err(no_display("neither DISPLAY nor WAYLAND_DISPLAY is set"));
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let made = std::panic::catch_unwind(|| EventLoop::with_user_event().build());
    std::panic::set_hook(usual);
    match made {
        Ok(Ok(event_loop)) => Ok(event_loop),
        Ok(Err(error)) => Err(no_display(&error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(no_display(text.unwrap_or("a display library is missing")))
        }
    }
}

/// The window's `remembered` size, adapted to this screen.
///
/// Errors: none.
pub fn dressed(
    attributes: WindowAttributes,
    event_loop: &ActiveEventLoop,
    remembered: [f64; 2],
) -> Result<WindowAttributes> {
    let mut size = remembered;
    let monitor = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    if let Some(monitor) = monitor.filter(|monitor| monitor.size().width > 0) {
        // Frame and task bar take part of the screen.
        let screen = monitor.size().to_logical::<f64>(monitor.scale_factor());
        size = [size[0].min(screen.width), size[1].min(0.92 * screen.height)];
    }
    let [width, height] = size.map(f64::round);
    Ok(attributes
        .with_min_inner_size(LogicalSize::new(320.0, 240.0))
        .with_inner_size(LogicalSize::new(width, height)))
}

/// None: everything comes to a native window as events.
pub fn arrivals() -> Vec<Arrival> {
    Vec::new()
}

/// Nothing to do: egui handles the clipboard itself.
pub fn take_output(_: &egui::PlatformOutput) {}

/// Nothing to do.
pub fn prepare(_: &egui::Context) {}

/// Nothing to do: a window shows its title itself.
pub fn named(_: &str) {}

/// The fragment alone: whoever copies the link knows the page's address.
pub fn link(fragment: &str) -> String {
    fragment.to_owned()
}

/// Whether there is room for the panel beside the picture.
pub fn has_room_for_panel() -> bool {
    true
}

/// None: there is no browser.
pub fn browser() -> Option<(String, String)> {
    None
}

/// The caller is on a background thread already.
///
/// Errors: those of [`InputRequest::load`].
pub async fn load(input: &InputRequest, softening: Option<f64>) -> Result<Input> {
    input.load(softening)
}

/// Nothing to do: the window shows it itself.
pub fn progress(_: &str) {}

/// Nothing to do: the thread that makes them gives up by itself.
pub fn cancel_loading() {}

/// Never: a film takes its pictures as fast as they come.
pub fn is_busy(_: &Film) -> bool {
    false
}

/// The name that a film has if nobody types another.
pub fn film_name() -> &'static str {
    "film.webp"
}

/// Whether the program can close the window.
pub fn can_close() -> bool {
    true
}

/// Nothing to do: the caller of the event loop goes on after it.
pub fn ended(_: &mut Shell) {}
