//! What the window has taken in and done, told to the log: whoever hunts a lost key, or tests the window,
//! waits for that and not for a time. `RUST_LOG=gravitile::seen=trace gravitile view ...` shows it.

use log::{log_enabled, trace};
use winit::event::WindowEvent;

use super::frame::Frames;
use crate::app::panel::Action;

/// What the lines are filtered by.
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

/// A line where other effects are left out from now on.
pub fn spared(said: Option<&str>) {
    trace!(target: SEEN, "shows {}", said.unwrap_or("everything"));
}

/// A line where a picture at rest has `everything`, or one is drawn as it is in motion again.
pub fn drawn(everything: bool) {
    trace!(target: SEEN, "draws {}", if everything { "everything" } else { "as in motion" });
}

/// A line where a picture is drawn from elsewhere than the one before.
pub fn moved() {
    trace!(target: SEEN, "draws from elsewhere");
}

/// A line where no frame follows until something happens.
pub fn rest() {
    trace!(target: SEEN, "rests");
}

/// A line for a frame that is complete: what came before it has been looked at. Of one that is `hidden` nothing was
/// drawn.
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
    trace!(target: SEEN, "frame on {tab:?}, {state}{making}{writing}{boxes}{lists}{card}{filmed}{directs}{hidden}");
}
