//! What the window has taken in and done, written to the log: to find a lost key, or to test the window, one waits
//! for these lines and not for a time to pass. `RUST_LOG=gravitile::seen=trace gravitile view ...` shows them.

use log::{log_enabled, trace};
use winit::event::WindowEvent;

use super::frame::Frames;
use crate::app::panel::Action;

/// The log target of the lines.
const SEEN: &str = "gravitile::seen";

/// A line for what a person does: keys, buttons, the pointer, the window's size.
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

/// A line for what is about to be done.
pub fn action(action: &Action) {
    trace!(target: SEEN, "does {action:?}");
}

/// A line for what is said to the user.
pub fn message(text: &str) {
    trace!(target: SEEN, "says {text}");
}

/// A line when other effects are left out from now on.
pub fn spared(said: Option<&str>) {
    trace!(target: SEEN, "shows {}", said.unwrap_or("everything"));
}

/// A line when a picture at rest has `everything`, or one is drawn as in motion again.
pub fn drawn(everything: bool) {
    trace!(target: SEEN, "draws {}", if everything { "everything" } else { "as in motion" });
}

/// A line when a picture shows another view than the one before.
pub fn moved() {
    trace!(target: SEEN, "draws from elsewhere");
}

/// A line when no frame follows until something happens.
pub fn rest() {
    trace!(target: SEEN, "rests");
}

/// A line for a complete frame: everything before it has been taken in. A `hidden` one drew nothing.
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
