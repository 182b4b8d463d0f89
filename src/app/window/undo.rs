//! Undo: of settings, looks, places of the camera and in the run, and of bodies that were replaced.

use std::sync::Arc;

use super::frame::Frames;
use super::load::{Session, Wanted};
use super::pace::Stillness;
use super::past::Past;
use super::simulated::Waiting;
use super::steer::Steering;
use crate::app::panel::{Action, History, ViewChoice, quantity};
use crate::error::Result;
use crate::live::Command;
use crate::render::Camera;
use crate::sim::{Moment, Settings};
use crate::units::Units;

/// This many changes can be undone.
const MOST: usize = 200;
/// At most this many of them are places in the run.
const MOST_PLACES: usize = 4;

/// What something was before it was changed.
enum Before {
    /// A command that restores it.
    Live(Command),
    /// Engine, method, tree or integrator.
    Settings(Box<(Settings, Wanted)>),
    /// The looks.
    View(ViewChoice),
    /// The camera, moved by a button or a key.
    Camera(Camera, ViewChoice),
    /// Where the run was before going elsewhere in it, and whether it was paused.
    Place(Arc<Moment>, bool),
}

/// Bodies that are kept while others are shown.
pub struct Resting {
    session: Session,
    wanted: Wanted,
    view: ViewChoice,
    steering: Steering,
    history: History,
    past: Past,
    changes: Vec<Before>,
}

/// What can be undone.
#[derive(Default)]
pub struct Undo {
    changes: Vec<Before>,
    /// The bodies before these, and those that an undo left.
    earlier: Option<Box<Resting>>,
    later: Option<Box<Resting>>,
    /// The looks when nothing was held down, and whether the current change is noted.
    view: Option<ViewChoice>,
    held: bool,
}

impl Undo {
    /// Forgets all changes: the device is another one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Takes over looks that were not changed by the user.
    pub fn take_view(&mut self, view: &ViewChoice) {
        self.view = Some(view.clone());
    }

    /// Notes the looks before a change, once the control is released.
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

    /// Notes where the run is, and whether it is paused, before it is shown elsewhere.
    pub fn note_place(&mut self, moment: &Arc<Moment>, paused: bool) {
        self.note(Before::Place(Arc::clone(moment), paused));
    }

    fn note(&mut self, before: Before) {
        if self.changes.len() == MOST {
            self.changes.remove(0);
        }
        self.changes.push(before);
        // States are large: a few of the latest are enough.
        let is_place = |change: &Before| matches!(change, Before::Place(..));
        if self.changes.iter().filter(|change| is_place(change)).count() > MOST_PLACES
            && let Some(first) = self.changes.iter().position(is_place)
        {
            self.changes.remove(first);
        }
    }

    /// Notes how to undo a command; while a slider is held down, only the first one.
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
    /// Notes what an action is about to change.
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
                let before = (live.settings().clone(), self.simulated.wanted.clone());
                undo.note(Before::Settings(Box::new(before)));
            }
            Action::Camera(_) => {
                let (camera, view) = (self.viewer.steering.camera(), self.viewer.choice.clone());
                undo.note(Before::Camera(camera, view));
            }
            _ => {}
        }
    }

    /// Keeps bodies that are being replaced, with everything shown of them.
    pub(super) fn keep(&mut self, session: Session) {
        let resting = self.rested_as_it_is(session);
        self.undo.later = None;
        self.undo.earlier = Some(Box::new(resting));
    }

    fn rested_as_it_is(&mut self, mut session: Session) -> Resting {
        session.live.rest();
        Resting {
            session,
            wanted: self.simulated.wanted.clone(),
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
                    self.output.say(format!("undone: {}", told(&command, units)), false);
                }
                self.apply(command)?;
            }
            Some(Before::Settings(before)) => {
                let (settings, wanted) = *before;
                // Time step and softening may have changed since then, and have their own undo.
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let now = session.live.settings();
                let (dt, softening) = (now.dt, now.softening);
                let settings = Settings { dt, softening, ..settings };
                self.simulated.wanted = wanted;
                self.ask_moment(Waiting::Change(Box::new(settings)));
                self.output.say("undone: how forces are computed".to_owned(), false);
            }
            Some(Before::View(view)) => {
                if view.directs != self.viewer.choice.directs {
                    self.memory.directs = view.directs;
                }
                self.give_view(view);
            }
            Some(Before::Camera(camera, view)) => {
                self.give_view(view);
                self.viewer.steering.go(camera);
            }
            Some(Before::Place(moment, paused)) => {
                if let Some(session) = &mut self.simulated.session {
                    session.live.apply(Command::Pause(paused))?;
                    let time = session.time(moment.time, &self.viewer.choice);
                    self.go_to_moment(&moment)?;
                    self.output.say(format!("undone: back at {time}"), false);
                }
            }
            None => match self.undo.earlier.take() {
                Some(resting) => self.undo.later = self.swap(*resting),
                None => self.output.say("nothing to undo".to_owned(), false),
            },
        }
        Ok(())
    }

    /// Goes back to the bodies that an undo left.
    pub(super) fn redo(&mut self) {
        match self.undo.later.take() {
            Some(resting) => self.undo.earlier = self.swap(*resting),
            None => {
                self.output.say("nothing to redo: no change of bodies was undone".to_owned(), false)
            }
        }
    }

    /// Gives up bodies whose first forces take too long, for those before them, or to choose others.
    pub(super) fn leave_forces(&mut self) {
        match self.undo.earlier.take() {
            // They are not kept: their computation should end.
            Some(resting) => drop(self.swap(*resting)),
            None => self.panel.welcome.open = true,
        }
    }

    fn give_view(&mut self, view: ViewChoice) {
        self.undo.take_view(&view);
        self.viewer.choice = view;
        self.still.disturb();
    }

    /// Shows kept bodies, and returns those that were shown.
    fn swap(&mut self, resting: Resting) -> Option<Box<Resting>> {
        let Resting { mut session, wanted, view, steering, history, past, changes } = resting;
        self.simulated.loading = None;
        self.simulated.waiting.clear();
        let now = self.simulated.session.take().map(|now| Box::new(self.rested_as_it_is(now)));
        session.live.go_on();
        let time = session.time(session.live.status().time, &view);
        self.output.say(format!("back to {} at {time}", session.name()), false);
        self.name_window(&session);
        if let Some(film) = &mut self.output.recording {
            film.go_on();
        }
        self.viewer.look_of = None;
        // It is fitted again if the window or the panel has another size now.
        self.viewer.steering = steering;
        (self.undo.changes, self.simulated.history) = (changes, history);
        self.simulated.past = past;
        self.simulated.wanted = wanted;
        self.viewer.begin_paths(&session);
        self.simulated.session = Some(session);
        (self.panel.tree.body, self.panel.card.body) = (None, None);
        self.give_view(view);
        self.still = Stillness::default();
        self.output.screen.canvas.reset_exposure();
        now
    }
}

/// What an undoing command restores.
fn told(command: &Command, units: &Units) -> String {
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
