//! Undo and redo, and going to stored states of the run.

use std::sync::Arc;

use super::loading::Loading;
use super::session::ROUNDING;
use super::simulated::Purpose;
use super::state::WindowState;
use super::undo::{UndoStep, describe};
use crate::panel::{Action, Viewpoint};
use gravitile::error::Result;
use gravitile::live::Command;
use gravitile::sim::{Settings, State};

impl WindowState {
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
            | Action::Integration(_)
            | Action::Field(_)
            | Action::Compare(_) => {
                let before = (live.settings().clone(), self.simulated.requested.clone());
                undo.note(UndoStep::Settings(Box::new(before)));
            }
            Action::Camera(_) | Action::GoToMoment(_) => {
                let (camera, view) = (self.viewer.steering.camera(), self.viewer.choice.clone());
                undo.note(UndoStep::Camera(camera, view));
            }
            _ => {}
        }
    }

    /// Undoes the last change.
    pub(super) fn undo(&mut self) -> Result<()> {
        let Some(step) = self.undo.changes.pop() else {
            match self.undo.earlier.take() {
                Some(suspended) => self.undo.later = self.swap(*suspended),
                None => self.output.notify("nothing to undo"),
            }
            return Ok(());
        };
        match step {
            UndoStep::Live(command) => {
                if let Some(session) = &self.simulated.session {
                    let units = self.viewer.choice.units(&session.initial.template.units);
                    self.output.notify(format!("undone: {}", describe(&command, units)));
                }
                self.apply(command)?;
            }
            UndoStep::Settings(before) => {
                let (settings, requested) = *before;
                // Time step and softening may have changed since then, and have their own undo.
                let Some(Settings { dt, softening, .. }) = self.simulated.settings() else {
                    return Ok(());
                };
                self.simulated.requested = requested;
                self.request_change(Settings { dt, softening, ..settings });
                self.output.notify("undone: how forces are computed");
            }
            UndoStep::View(view) => {
                if view.directs != self.viewer.choice.directs {
                    self.preferences.directs = view.directs;
                }
                self.restore_view(view);
            }
            UndoStep::Camera(camera, view) => {
                self.restore_view(view);
                self.viewer.steering.go(camera);
            }
            UndoStep::State(state, paused) => {
                if let Some(session) = &mut self.simulated.session {
                    session.live.apply(Command::Pause(paused))?;
                    let time = session.time(state.time, &self.viewer.choice);
                    self.go_to_state(&state)?;
                    self.output.notify(format!("undone: back at {time}"));
                }
            }
        }
        Ok(())
    }

    /// Restores the session that an undo has replaced.
    pub(super) fn redo(&mut self) {
        match self.undo.later.take() {
            Some(suspended) => self.undo.earlier = self.swap(*suspended),
            None => self.output.notify("nothing to redo: no change of bodies was undone"),
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

    /// Bookmarks the current state once it has been read back.
    pub(super) fn bookmark(&mut self) -> Result<()> {
        if !self.simulated.past.mark_next() {
            let text = "bookmarks fill the memory for kept states: save this state (tab File)";
            self.output.warn(text);
        } else if let Some(session) = &mut self.simulated.session {
            session.live.apply(Command::State)?;
            let time = session.time(session.live.status().time, &self.viewer.choice);
            self.output.notify(format!("a bookmark at {time}"));
        }
        Ok(())
    }

    /// Goes to a stored state, by its index in the time bar, once the current state has been read
    /// back and stored, to return to, and before a `moment` is shown if one is given. The run is
    /// paused there, so that a slip of the pointer can be undone.
    pub(super) fn request_past_state(&mut self, at: usize, moment: Option<usize>) -> Result<()> {
        let Some(to) = self.simulated.past.stored().get(at).map(|stored| Arc::clone(&stored.state))
        else {
            return Ok(());
        };
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let paused = session.live.keeper().paused;
        session.live.apply(Command::Pause(true))?;
        self.request_state(Purpose::GoTo { to, paused, moment });
        Ok(())
    }

    /// Goes to a moment that the scene marks: takes its camera, restores the last stored state
    /// before it if that is nearer than the present one, or else begins again, and runs as fast as
    /// possible until its time, forwards, where the run pauses.
    pub(super) fn go_to_moment(&mut self, at: usize) -> Result<()> {
        self.go(Viewpoint::Moment(at));
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let Some(moment) = session.initial.moments().get(at) else { return Ok(()) };
        let time = moment.camera.time.max(session.initial.template.time);
        session.clear_goal();
        if session.live.dt() < 0.0 {
            session.apply(Command::Reverse)?;
        }
        let (now, dt) = (session.live.status().time, session.live.dt());
        // The step that reaches the moment may end after it.
        let reached = time + dt;
        let stored = self.simulated.past.last_before(reached);
        match stored {
            _ if now >= time - ROUNDING * dt && now < reached => {
                session.live.apply(Command::Pause(true))
            }
            Some((state, stored)) if now >= reached || stored > now + dt => {
                self.request_past_state(state, Some(at))
            }
            _ if now < reached => {
                session.pauses_at_goal = true;
                session.set_goal(time);
                session.live.apply(Command::Pause(session.goal.is_none()))
            }
            _ => {
                self.restart(false)?;
                self.simulated.loading.iter_mut().for_each(|loading| loading.moment = Some(at));
                Ok(())
            }
        }
    }

    /// Shows a state of this run, from which it continues when resumed.
    pub(super) fn go_to_state(&mut self, state: &Arc<State>) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let settings = session.live.settings().clone();
        let initial = self.simulated.past.initial_of(state).unwrap_or(&session.initial);
        let from = (Arc::clone(initial), state);
        let compare = self.simulated.requested.compare.clone();
        let mut change =
            Loading::change(&self.output.screen.gpu, session, from, (settings, compare))?;
        let direction = if state.time < session.live.status().time { "back" } else { "on" };
        change.what =
            format!("going {direction} to {}", session.time(state.time, &self.viewer.choice));
        session.rest();
        self.simulated.loading = Some(change);
        self.viewer.paths.clear();
        self.viewer.watch(|i| state.bodies.position[i], &state.bodies);
        Ok(())
    }
}
