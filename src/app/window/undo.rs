//! What can be undone: changes of settings, looks, camera and time in the run, and replaced
//! bodies.
//!
//! Bodies that were replaced by others stay in memory and can be restored, together with the
//! changes that were made to them.

use std::sync::Arc;

use super::loading::RunChanges;
use super::past::Past;
use super::session::Session;
use super::steer::Steering;
use crate::panel::{History, ViewChoice, quantity};
use gravitile::live::Command;
use gravitile::render::Camera;
use gravitile::sim::{Settings, State};
use gravitile::units::Units;

/// Largest number of changes that can be undone.
const MOST: usize = 200;
/// Largest number of them that are states of the run.
const MOST_STATES: usize = 4;

/// A change that can be undone, by the value before it.
pub enum UndoStep {
    /// A command that restores it.
    Live(Command),
    /// Engine, method, tree, integrator or external field.
    Settings(Box<(Settings, RunChanges)>),
    /// The looks.
    View(ViewChoice),
    /// The camera, moved by a button or a key.
    Camera(Camera, ViewChoice),
    /// The state of the run before going to another time, and whether it was paused.
    State(Arc<State>, bool),
}

/// A session that is stored while another one is shown.
pub struct Suspended {
    pub session: Session,
    pub requested: RunChanges,
    pub view: ViewChoice,
    pub steering: Steering,
    pub history: History,
    pub past: Past,
    pub changes: Vec<UndoStep>,
}

/// Everything that can be undone.
#[derive(Default)]
pub struct Undo {
    pub changes: Vec<UndoStep>,
    /// The session before this one, and the one that an undo has replaced.
    pub earlier: Option<Box<Suspended>>,
    pub later: Option<Box<Suspended>>,
    /// The looks when no pointer button was last held down, and whether one is held now.
    view: Option<ViewChoice>,
    held: bool,
}

impl Undo {
    /// Takes in looks that were not changed by the user.
    pub fn take_view(&mut self, view: &ViewChoice) {
        self.view = Some(view.clone());
    }

    /// Records the looks before a change, once the control is released.
    pub fn watch_view(&mut self, view: &ViewChoice, held: bool) {
        self.held = held;
        if held {
            return;
        }
        if let Some(before) = self.view.replace(view.clone())
            && before != *view
        {
            self.note(UndoStep::View(before));
        }
    }

    /// Records a change.
    pub fn note(&mut self, before: UndoStep) {
        if self.changes.len() == MOST {
            self.changes.remove(0);
        }
        self.changes.push(before);
        // States are large, so only a few of the latest are stored.
        let is_state = |change: &UndoStep| matches!(change, UndoStep::State(..));
        if self.changes.iter().filter(|change| is_state(change)).count() > MOST_STATES
            && let Some(first) = self.changes.iter().position(is_state)
        {
            self.changes.remove(first);
        }
    }

    /// Records how to undo a command; while a slider is held down, only the first one.
    pub fn note_command(&mut self, back: Command) {
        if let (true, Some(UndoStep::Live(last))) = (self.held, self.changes.last())
            && std::mem::discriminant(last) == std::mem::discriminant(&back)
        {
            return;
        }
        self.note(UndoStep::Live(back));
    }
}

/// Describes what an undoing command restores.
pub fn describe(command: &Command, units: &Units) -> String {
    match command {
        Command::Dt(dt) => format!("the time step is {} again", quantity(*dt, &units.time)),
        Command::Softening(length) => {
            format!("the softening is {} again", quantity(*length, &units.length))
        }
        Command::Factor(factor) => format!("the speed is {factor} times normal again"),
        Command::Reverse => "the direction of time".to_owned(),
        Command::Kernel(_) => "the kernel's shape".to_owned(),
        _ => "how time passes".to_owned(),
    }
}
