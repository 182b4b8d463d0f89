//! Trace log of the window's input and actions: tests, and the search for a lost key, wait for
//! these lines instead of a fixed time. `RUST_LOG=gravitile::seen=trace gravitile view ...` shows
//! them.

use log::{log_enabled, trace};
use winit::event::WindowEvent;

use super::frame::Frames;
use crate::panel::Action;

/// The log target of the lines.
const SEEN: &str = "gravitile::seen";

/// Logs user input: keys, buttons, the pointer, the window's size.
pub fn event(event: &WindowEvent) {
    if !log_enabled!(target: SEEN, log::Level::Trace) {
        return;
    }
    match event {
        WindowEvent::KeyboardInput { event, .. } => {
            trace!(target: SEEN, "key {:?} {:?}", event.logical_key, event.state);
        }
        WindowEvent::MouseInput { button, state, .. } => {
            trace!(target: SEEN, "button {button:?} {state:?}");
        }
        WindowEvent::MouseWheel { delta, .. } => trace!(target: SEEN, "wheel {delta:?}"),
        WindowEvent::CursorMoved { position, .. } => {
            trace!(target: SEEN, "pointer {:.0} {:.0}", position.x, position.y);
        }
        WindowEvent::Resized(size) => trace!(target: SEEN, "size {} {}", size.width, size.height),
        _ => {}
    }
}

/// Logs an action before it is carried out.
pub fn action(action: &Action) {
    trace!(target: SEEN, "does {action:?}");
}

/// Logs a message to the user.
pub fn message(text: &str) {
    trace!(target: SEEN, "says {text}");
}

/// Logs a change of the effects that are left out.
pub fn spared(said: Option<&str>) {
    trace!(target: SEEN, "shows {}", said.unwrap_or("everything"));
}

/// Logs a change between a picture at rest with all effects (`everything`) and pictures as in
/// motion.
pub fn drawn(everything: bool) {
    trace!(target: SEEN, "draws {}", if everything { "everything" } else { "as in motion" });
}

/// Logs that a picture shows another view than the one before.
pub fn moved() {
    trace!(target: SEEN, "draws from elsewhere");
}

/// Logs that no frame follows until the next event.
pub fn rest() {
    trace!(target: SEEN, "rests");
}

/// Logs a complete frame, which has handled all input before it. A `hidden` frame drew nothing.
pub fn frame(frames: &Frames, hidden: bool) {
    if !log_enabled!(target: SEEN, log::Level::Trace) {
        return;
    }
    let state = match &frames.simulated.session {
        None => "without bodies".to_owned(),
        Some(session) => {
            let (status, paused) = (session.live.status(), session.live.keeper().paused);
            format!("step {} {}", status.steps, if paused { "paused" } else { "going" })
        }
    };
    let making = if frames.simulated.loading.is_some() { " making" } else { "" };
    let writing = if frames.input.context.text_edit_focused() { " writing" } else { "" };
    let tree = &frames.panel.tree;
    let boxes = if tree.boxes { " boxes" } else { "" };
    let lists = if tree.lists { " lists" } else { "" };
    let card = if frames.panel.card.body.is_some() { " card" } else { "" };
    let tab = frames.panel.tab;
    let filmed = match &frames.output.recording {
        Some(film) => format!(" filmed {}", film.pictures),
        None => String::new(),
    };
    let hidden = if hidden { " hidden" } else { "" };
    let directs = if frames.viewer.choice.directs { " directs" } else { "" };
    let has_state = frames.simulated.session.as_ref().is_some_and(|session| session.last.is_some());
    let restorable = if has_state { " restorable" } else { "" };
    trace!(
        target: SEEN,
        "frame on {tab:?}, {state}{making}{writing}{boxes}{lists}{card}{filmed}{directs}{restorable}{hidden}"
    );
}
