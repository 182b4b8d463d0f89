//! Which bodies are shown: loading others, and replacing the session.

use std::path::PathBuf;
use std::sync::Arc;

use super::encounter::Meeting;
use super::loading::{Loading, RunChanges};
use super::machine;
use super::past::Past;
use super::session::{Initial, Session};
use super::simulated::{Purpose, Simulated, suited};
use super::state::WindowState;
use super::stillness::Stillness;
use super::undo::Suspended;
use super::viewer::may_direct;
use crate::panel::{Integration, ViewChoice};
use gravitile::error::{Error, Result};
use gravitile::live::{Background, Command};
use gravitile::messages;
use gravitile::render::{ColourBy, Follow};
use gravitile::scene::{Colouring, Orbit};
use gravitile::settings::{Comparison, InputRequest, StepRequest, ViewRequest};

/// Shown if the camera follows the bodies by default.
const DRIFTING: &str =
    "these bodies move together: the camera follows their centre of mass (tab View, follow)";

impl WindowState {
    /// Loads other bodies.
    pub(super) fn load(&mut self, input: InputRequest) -> Result<()> {
        // An unknown name is reported at once.
        input.scene()?;
        // A scene chosen from the welcome sheet runs even if the last one was paused.
        let plays = std::mem::take(&mut self.panel.welcome.open);
        let input = suited(input, self.output.screen.gpu.adapter.class);
        // The requested lengths and times suited the previous bodies.
        let mut request = self.simulated.requested.clone();
        (request.steps.eps, request.steps.dt, request.steps.blocks.dt_max) = (None, None, None);
        self.simulated.requested.throws.clear();
        request.throws.clear();
        // So did another softening; none suits all.
        request.compare.take_if(|b| matches!(b, Comparison::Softening(length) if *length > 0.0));
        self.simulated.requested.compare.clone_from(&request.compare);
        let mut loading = Loading::input(&self.output.screen.gpu, input, request, false)?;
        loading.plays = plays;
        self.simulated.loading = Some(loading);
        Ok(())
    }

    /// Restarts from the initial bodies. With `reset_numbers`, step and softening are those first
    /// requested and the field is that of the bodies, since a changed one may have ruined the run.
    /// The integrator stays.
    pub(super) fn restart(&mut self, reset_numbers: bool) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let mut steps = StepRequest::from(session.live.settings());
        if reset_numbers {
            let requested = &self.simulated.requested.steps;
            (steps.dt, steps.eps) = (requested.dt, requested.eps);
        }
        let input = session.initial.input.clone();
        let field = (!reset_numbers).then(|| session.live.settings().field.clone());
        let request = RunChanges { steps, field, ..self.simulated.requested.clone() };
        self.simulated.loading =
            Some(Loading::input(&self.output.screen.gpu, input, request, false)?);
        Ok(())
    }

    /// Reads two snapshots in the background, to offer an encounter.
    pub(super) fn read_meeting(&mut self, files: [PathBuf; 2]) -> Result<()> {
        let work = move || async move { Meeting::read(files) };
        self.simulated.meeting = Some(Background::start("reading two snapshots", work)?);
        self.output.notify("reading two snapshots for an encounter");
        Ok(())
    }

    /// Starts an encounter of the two snapshots that were read.
    pub(super) fn begin_encounter(&mut self, orbit: &Orbit, tilt_degrees: f64) -> Result<()> {
        let Some(meeting) = &self.simulated.met else { return Ok(()) };
        let path = meeting.write(orbit, tilt_degrees)?;
        self.load(InputRequest::named(path.display().to_string()))?;
        self.output.notify(format!("saved the encounter: {}", path.display()));
        Ok(())
    }

    /// Whether the first bodies are not loaded yet.
    fn awaits_first(&self) -> bool {
        self.simulated.session.is_none() && self.simulated.request.is_some()
    }

    /// Replaces the session once the next one is loaded.
    pub(super) fn poll_loading(&mut self) {
        let Some(loading) = &self.simulated.loading else { return };
        let Some(made) = loading.poll() else { return };
        let (keeps_view, plays, moment) = (loading.keeps_view, loading.plays, loading.moment);
        self.simulated.loading = None;
        match made {
            Ok(session) => {
                self.begin(session, keeps_view, plays);
                let gone = moment.map_or(Ok(()), |moment| self.go_to_moment(moment));
                self.output.report(gone);
            }
            // An invalid command line is reported in the terminal.
            Err(error @ Error::Value { .. })
                if self.simulated.request.is_some() && !cfg!(target_arch = "wasm32") =>
            {
                self.simulated.refused = Some(error);
            }
            Err(error) if self.awaits_first() && cfg!(target_arch = "wasm32") => {
                self.load_first_scene(&error.to_string());
            }
            Err(error) => {
                // The current simulation continues.
                if let Some(session) = &mut self.simulated.session {
                    session.go_on();
                    let differs = session.second.as_ref().map(|second| second.differs.clone());
                    self.simulated.requested.compare = differs;
                    // A planned throw that failed would fail again.
                    session.refused_throw = true;
                    let settings = session.live.settings().clone();
                    self.simulated.request_devices_of(&settings);
                }
                self.output.show_error(&error);
            }
        }
    }

    /// Cancels loading, or else the run's goal. A page whose link is cancelled shows the first
    /// scene.
    pub(super) fn cancel_loading(&mut self) {
        let was_loading = self.simulated.loading.take().is_some();
        match &mut self.simulated.session {
            Some(session) if was_loading => session.go_on(),
            Some(session) => session.clear_goal(),
            None => {}
        }
        if !was_loading {
            return;
        }
        match self.awaits_first() && cfg!(target_arch = "wasm32") {
            true => self.load_first_scene("loading was cancelled"),
            false => self.output.notify("loading was cancelled"),
        }
    }

    /// Loads the first scene instead of the one in the link, and shows the reason.
    fn load_first_scene(&mut self, why: &str) {
        let first = super::first_scene();
        let name = &first.input.input;
        // Only if another scene failed.
        let is_other =
            self.simulated.request.as_ref().is_some_and(|request| {
                ViewRequest { is_default: true, ..request.clone() } != first
            });
        match is_other.then(|| Simulated::new(&self.output.screen.gpu, first.clone())) {
            None => self.output.warn(why),
            Some(Err(error)) => self.output.show_error(&error),
            Some(Ok(simulated)) => {
                self.simulated = simulated;
                self.output.warn(format!("{why}: {name} is shown instead"));
            }
        }
    }

    /// Replaces the session by a loaded one. If `plays`, it runs even if the last one was paused.
    fn begin(&mut self, mut session: Session, keeps_view: bool, plays: bool) {
        let saves = self.pending_saves(keeps_view);
        self.viewer.look_of = None;
        let last = self.simulated.session.take();
        let request = self.simulated.request.take();
        if keeps_view {
            self.continue_run(last, &mut session);
        } else {
            self.begin_run(last, &mut session, plays, request.as_ref());
        }
        let history = &mut self.simulated.history;
        history.set_forces(&session.live.settings().field, session.live.len());
        self.simulated.past.note_initial(&session.initial);
        if let Some(request) = request {
            self.apply_request(&request, &mut session);
        }
        if let Some(film) = &mut self.output.recording {
            film.go_on();
        }
        session.notes.drain(..).for_each(|note| self.output.notify(note));
        self.name_window(&session);
        self.undo.take_view(&self.viewer.choice);
        self.simulated.sharing.note(&session.live);
        self.simulated.session = Some(session);
        saves.into_iter().for_each(|save| self.request_state(save));
    }

    /// Prepares a session that continues the last one from one of its states.
    fn continue_run(&mut self, last: Option<Session>, session: &mut Session) {
        if last.as_ref().is_some_and(|last| !Arc::ptr_eq(&last.initial, &session.initial)) {
            self.adapt_to(&session.initial);
            self.viewer.begin_paths(session);
        }
        let history = &mut self.simulated.history;
        if let Some(last) = last {
            session.refused_throw = last.refused_throw;
            // The tempo may have changed while the new session was loaded.
            session.live.take_tempo_of(last.live.keeper());
            (session.goal, session.pauses_at_goal) = (last.goal, last.pauses_at_goal);
            if Integration::of(last.live.settings()) != Integration::of(session.live.settings()) {
                history.change_step(session.live.status().steps);
            }
        }
        let time = session.live.status().time;
        self.simulated.past.go_to(time);
        history.go_to(time);
    }

    /// Forgets bodies and components that are not there after going back before a throw.
    fn adapt_to(&mut self, initial: &Initial) {
        let (count, parts) = (initial.bodies.len(), initial.bodies.components.len());
        for body in [&mut self.panel.tree.body, &mut self.panel.card.body] {
            *body = body.filter(|body| *body < count);
        }
        let is_gone = match self.viewer.choice.follow {
            Follow::Body(body) => body >= count,
            Follow::Component(part) => usize::from(part) >= parts,
            Follow::Nothing | Follow::CentreOfMass => false,
        };
        if is_gone {
            self.viewer.follow(Follow::Nothing);
        }
        self.viewer.directing.points.clear();
    }

    /// Prepares a session of other bodies, or of the same ones from their beginning.
    fn begin_run(
        &mut self,
        last: Option<Session>,
        session: &mut Session,
        plays: bool,
        request: Option<&ViewRequest>,
    ) {
        let initial = Arc::clone(&session.initial);
        let is_restart = last.as_ref().is_some_and(|last| last.initial.input == initial.input);
        if let Some(mut last) = last {
            // A scene that has paused at its end does not pause the next one.
            let paused = last.live.keeper().paused && !(last.is_at_end() || plays);
            last.clear_goal();
            let mut keeper = last.live.keeper().clone();
            keeper.paused = paused;
            session.live.take_tempo_of(&keeper);
            // A session that still computes its first forces is dropped, which cancels them.
            if last.live.status().ready {
                let time = last.time(last.live.status().time, &self.viewer.choice);
                let name = last.name();
                self.output.notify(format!("{name} is kept at {time}: ctrl+z brings it back"));
                let suspended = self.suspend(last);
                (self.undo.earlier, self.undo.later) = (Some(Box::new(suspended)), None);
            }
        }
        self.simulated.history.restart();
        self.simulated.past = Past::default();
        let hints = initial.view.as_ref();
        if !is_restart {
            // Each scene has its own colouring; the user's choice is for the same bodies only.
            let style = &mut self.viewer.choice.style;
            let by_speed = hints.is_some_and(|hints| hints.colouring == Colouring::Speed);
            if request.is_none_or(|request| request.look.colour.is_none()) {
                style.colour_by = if by_speed { ColourBy::Speed } else { ColourBy::Component };
            }
            // A scene without its own glow uses the user's.
            let is_requested = request.is_some_and(|request| request.look.bloom.is_some());
            match hints.and_then(|hints| hints.glow) {
                Some(glow) if !is_requested => self.preferences.set_scene_glow(style, glow),
                _ => self.preferences.restore_glow(style),
            }
        }
        self.viewer.begin_paths(session);
        self.viewer.follow(Follow::Nothing);
        let choice = &mut self.viewer.choice;
        choice.orbit_degrees_per_sec = 0.0;
        choice.path = hints.map_or(Vec::new(), |hints| hints.keyframes.clone());
        choice.plays = !choice.path.is_empty();
        (self.panel.tree.body, self.panel.card.body) = (None, None);
        self.simulated.first_view = request.cloned();
        match self.first_camera(session) {
            Ok(motion) => {
                self.viewer.steering.begin(motion.start, self.free_size());
                let choice = &mut self.viewer.choice;
                choice.directs = match is_restart {
                    true => choice.directs,
                    false => self.preferences.directs && may_direct(request, &motion),
                };
                if !choice.directs {
                    choice.follow = motion.follow;
                }
                let is_specified = request.is_some_and(|request| request.look.follow.is_some());
                if choice.follow == Follow::CentreOfMass && !is_specified {
                    self.output.notify(DRIFTING);
                }
            }
            Err(error) => self.output.show_error(&error),
        }
        self.output.screen.canvas.reset_exposure();
    }

    /// Applies what the window was opened with to the first session.
    fn apply_request(&mut self, request: &ViewRequest, session: &mut Session) {
        if let Some(time) = request.t {
            session.pauses_at_goal = request.paused;
            session.set_goal(time);
            if session.goal != Some(time) && session.live.status().time != time {
                let time = session.time(time, &self.viewer.choice);
                let text = format!("this run begins after or ends before {time} of the link");
                self.output.warn(text);
            }
        }
        if request.paused && session.goal.is_none() {
            let _ = session.live.apply(Command::Pause(true));
        }
        if let Some(orbit) = request.look.orbit {
            self.viewer.choice.orbit_degrees_per_sec = orbit;
        }
    }

    /// Takes the session out of use, with its view and history.
    fn suspend(&mut self, mut session: Session) -> Suspended {
        session.rest();
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

    /// Shows a suspended session, and returns the one that was shown.
    pub(super) fn swap(&mut self, suspended: Suspended) -> Option<Box<Suspended>> {
        let Suspended { mut session, requested, view, steering, history, past, changes } =
            suspended;
        self.simulated.loading = None;
        self.simulated.pending.clear();
        let now = self.simulated.session.take().map(|now| Box::new(self.suspend(now)));
        session.go_on();
        let time = session.time(session.live.status().time, &view);
        self.output.notify(format!("back to {} at {time}", session.name()));
        self.name_window(&session);
        if let Some(film) = &mut self.output.recording {
            film.go_on();
        }
        self.viewer.look_of = None;
        // The next frame fits it if the size of the window or the panel has changed.
        self.viewer.steering = steering;
        (self.undo.changes, self.simulated.history) = (changes, history);
        (self.simulated.past, self.simulated.requested) = (past, requested);
        self.viewer.begin_paths(&session);
        self.simulated.session = Some(session);
        (self.panel.tree.body, self.panel.card.body) = (None, None);
        self.restore_view(view);
        self.still = Stillness::default();
        self.output.screen.canvas.reset_exposure();
        now
    }

    /// Restores a view, which is not a change by the user.
    pub(super) fn restore_view(&mut self, view: ViewChoice) {
        self.undo.take_view(&view);
        self.viewer.choice = view;
        self.still.disturb();
    }

    fn name_window(&self, session: &Session) {
        let title = messages::piece(&format!("gravitile: {}", session.name()));
        self.output.window.set_title(&title);
        machine::set_title(&title);
    }

    /// Removes pending requests, and returns those to save a snapshot, to be repeated with the same
    /// bodies. If other bodies follow, shows an error for each instead.
    fn pending_saves(&mut self, same_bodies: bool) -> Vec<Purpose> {
        let mut saves = std::mem::take(&mut self.simulated.pending);
        saves.retain(|purpose| matches!(purpose, Purpose::Save(_)));
        if same_bodies {
            return saves;
        }
        for save in saves {
            if let Purpose::Save(path) = save {
                let path = path.display();
                self.output.warn(format!("{path} was not saved: other bodies were loaded first"));
            }
        }
        Vec::new()
    }
}
