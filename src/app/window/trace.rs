//! Trace log of the window's input, actions and frames: tests, and the search for a lost key, wait
//! for these lines instead of a fixed time. `RUST_LOG=gravitile::seen=trace gravitile view ...`
//! shows them.

use log::{log_enabled, trace};
use winit::event::WindowEvent;

/// The log target of the lines.
pub const TRACE: &str = "gravitile::seen";

/// Whether the lines are logged.
pub fn is_on() -> bool {
    log_enabled!(target: TRACE, log::Level::Trace)
}

/// Logs user input: keys, buttons, the pointer, the window's size.
pub fn event(event: &WindowEvent) {
    if !is_on() {
        return;
    }
    match event {
        WindowEvent::KeyboardInput { event, .. } => {
            trace!(target: TRACE, "key {:?} {:?}", event.logical_key, event.state);
        }
        WindowEvent::MouseInput { button, state, .. } => {
            trace!(target: TRACE, "button {button:?} {state:?}");
        }
        WindowEvent::MouseWheel { delta, .. } => trace!(target: TRACE, "wheel {delta:?}"),
        WindowEvent::CursorMoved { position, .. } => {
            trace!(target: TRACE, "pointer {:.0} {:.0}", position.x, position.y);
        }
        WindowEvent::Resized(size) => trace!(target: TRACE, "size {} {}", size.width, size.height),
        _ => {}
    }
}
