//! Undo of changes of settings, looks, camera and time in the run, and of replaced bodies.
//!
//! Bodies that were replaced by others stay in memory and can be restored, together with the
//! changes that were made to them.

use std::sync::Arc;

use super::frame::Frames;
use super::load::{RunRequest, Session};
use super::pace::Stillness;
use super::past::Past;
use super::simulated::Purpose;
use super::steer::Steering;
use crate::panel::{Action, History, ViewChoice, quantity};
use gravitile::error::Result;
use gravitile::live::Command;
use gravitile::render::Camera;
use gravitile::sim::{Moment, Settings};
use gravitile::units::Units;

/// Largest number of changes that can be undone.
const MOST: usize = 200;
/// Largest number of them that are states of the run.
const MOST_PLACES: usize = 4;

/// A value before a change.
enum Before {
    /// A command that restores it.
    Live(Command),
    /// Engine, method, tree or integrator.
    Settings(Box<(Settings, RunRequest)>),
    /// The looks.
    View(ViewChoice),
    /// The camera, moved by a button or a key.
    Camera(Camera, ViewChoice),
    /// The state of the run before going to another time, and whether it was paused.
    Place(Arc<Moment>, bool),
}

/// A session that is stored while another one is shown.
pub struct Suspended {
    session: Session,
    requested: RunRequest,
    view: ViewChoice,
    steering: Steering,
    history: History,
    past: Past,
    changes: Vec<Before>,
}

/// Everything that can be undone.
#[derive(Default)]
pub struct Undo {
    changes: Vec<Before>,
    /// The session before this one, and the one that an undo has replaced.
    earlier: Option<Box<Suspended>>,
    later: Option<Box<Suspended>>,
    /// The looks when no pointer button was last held down, and whether one is held now.
    view: Option<ViewChoice>,
    held: bool,
}

impl Undo {
    /// Drops all changes, as their device is lost.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

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
            self.note(Before::View(before));
        }
    }

    /// Records the state of the run, and whether it is paused, before another state is shown.
    pub fn note_place(&mut self, moment: &Arc<Moment>, paused: bool) {
        self.note(Before::Place(Arc::clone(moment), paused));
    }

    fn note(&mut self, before: Before) {
        if self.changes.len() == MOST {
            self.changes.remove(0);
        }
        self.changes.push(before);
        // States are large, so only a few of the latest are stored.
        let is_place = |change: &Before| matches!(change, Before::Place(..));
        if self.changes.iter().filter(|change| is_place(change)).count() > MOST_PLACES
            && let Some(first) = self.changes.iter().position(is_place)
        {
            self.changes.remove(first);
        }
    }

    /// Records how to undo a command; while a slider is held down, only the first one.
    fn note_command(&mut self, back: Command) {
        if let (true, Some(Before::Live(last))) = (self.held, self.changes.last())
            && std::mem::discriminant(last) == std::mem::discriminant(&back)
        {
            return;
        }
        self.note(Before::Live(back));
    }
}

impl Frames {
    /// Records what an action is about to change.
    pub(super) fn note(&mut self, action: &Action) {
        let Some(session) = &self.simulated.session else { return };
        let (live, keeper) = (&session.live, session.live.keeper());
        let undo = &mut self.undo;
        match action {
            Action::Live(command) => {
                let back = match command {
                    Command::Dt(_) => Command::Dt(live.settings().dt),
                    Command::Softening(_) => Command::Softening(live.settings().softening),
                    Command::Kernel(_) => Command::Kernel(live.kernel_request()),
                    Command::Factor(_) => Command::Factor(keeper.factor),
                    Command::Tempo(_) => Command::Tempo(keeper.tempo),
                    Command::Reverse => Command::Reverse,
                    _ => return,
                };
                undo.note_command(back);
            }
            Action::Engine(_)
            | Action::Devices(_)
            | Action::Method(_)
            | Action::Tree(_)
            | Action::Integration(_) => {
                let before = (live.settings().clone(), self.simulated.requested.clone());
                undo.note(Before::Settings(Box::new(before)));
            }
            Action::Camera(_) => {
                let (camera, view) = (self.viewer.steering.camera(), self.viewer.choice.clone());
                undo.note(Before::Camera(camera, view));
            }
            _ => {}
        }
    }

    /// Stores a session that is being replaced, with its view and history.
    pub(super) fn store_for_undo(&mut self, session: Session) {
        let suspended = self.suspend(session);
        self.undo.later = None;
        self.undo.earlier = Some(Box::new(suspended));
    }

    fn suspend(&mut self, mut session: Session) -> Suspended {
        session.live.rest();
        Suspended {
            session,
            requested: self.simulated.requested.clone(),
            view: self.viewer.choice.clone(),
            steering: self.viewer.steering.at_rest(),
            history: std::mem::take(&mut self.simulated.history),
            past: std::mem::take(&mut self.simulated.past),
            changes: std::mem::take(&mut self.undo.changes),
        }
    }

    /// Undoes the last change.
    pub(super) fn undo(&mut self) -> Result<()> {
        match self.undo.changes.pop() {
            Some(Before::Live(command)) => {
                if let Some(session) = &self.simulated.session {
                    let units = self.viewer.choice.units(&session.template.units);
                    self.output
                        .show_message(format!("undone: {}", describe(&command, units)), false);
                }
                self.apply(command)?;
            }
            Some(Before::Settings(before)) => {
                let (settings, requested) = *before;
                // Time step and softening may have changed since then, and have their own undo.
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let now = session.live.settings();
                let (dt, softening) = (now.dt, now.softening);
                let settings = Settings { dt, softening, ..settings };
                self.simulated.requested = requested;
                self.request_moment(Purpose::Change(Box::new(settings)));
                self.output.show_message("undone: how forces are computed".to_owned(), false);
            }
            Some(Before::View(view)) => {
                if view.directs != self.viewer.choice.directs {
                    self.memory.directs = view.directs;
                }
                self.restore_view(view);
            }
            Some(Before::Camera(camera, view)) => {
                self.restore_view(view);
                self.viewer.steering.go(camera);
            }
            Some(Before::Place(moment, paused)) => {
                if let Some(session) = &mut self.simulated.session {
                    session.live.apply(Command::Pause(paused))?;
                    let time = session.time(moment.time, &self.viewer.choice);
                    self.go_to_moment(&moment)?;
                    self.output.show_message(format!("undone: back at {time}"), false);
                }
            }
            None => match self.undo.earlier.take() {
                Some(suspended) => self.undo.later = self.swap(*suspended),
                None => self.output.show_message("nothing to undo".to_owned(), false),
            },
        }
        Ok(())
    }

    /// Restores the session that an undo has replaced.
    pub(super) fn redo(&mut self) {
        match self.undo.later.take() {
            Some(suspended) => self.undo.earlier = self.swap(*suspended),
            None => self
                .output
                .show_message("nothing to redo: no change of bodies was undone".to_owned(), false),
        }
    }

    /// Cancels first forces that take too long: returns to the previous session, or shows the
    /// welcome sheet.
    pub(super) fn leave_forces(&mut self) {
        match self.undo.earlier.take() {
            // The session is dropped, which cancels its computation.
            Some(suspended) => drop(self.swap(*suspended)),
            None => self.panel.welcome.open = true,
        }
    }

    fn restore_view(&mut self, view: ViewChoice) {
        self.undo.take_view(&view);
        self.viewer.choice = view;
        self.still.disturb();
    }

    /// Shows a stored session, and returns the one that was shown.
    fn swap(&mut self, suspended: Suspended) -> Option<Box<Suspended>> {
        let Suspended { mut session, requested, view, steering, history, past, changes } =
            suspended;
        self.simulated.loading = None;
        self.simulated.pending.clear();
        let now = self.simulated.session.take().map(|now| Box::new(self.suspend(now)));
        session.live.go_on();
        let time = session.time(session.live.status().time, &view);
        self.output.show_message(format!("back to {} at {time}", session.name()), false);
        self.name_window(&session);
        if let Some(film) = &mut self.output.recording {
            film.go_on();
        }
        self.viewer.look_of = None;
        // The next frame fits it if the size of the window or the panel has changed.
        self.viewer.steering = steering;
        (self.undo.changes, self.simulated.history) = (changes, history);
        self.simulated.past = past;
        self.simulated.requested = requested;
        self.viewer.begin_paths(&session);
        self.simulated.session = Some(session);
        (self.panel.tree.body, self.panel.card.body) = (None, None);
        self.restore_view(view);
        self.still = Stillness::default();
        self.output.screen.canvas.reset_exposure();
        now
    }
}

/// Describes what an undoing command restores.
fn describe(command: &Command, units: &Units) -> String {
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
