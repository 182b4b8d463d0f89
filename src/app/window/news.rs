//! Polls results since the last frame: new bodies, times, diagnostics, states.

use std::sync::Arc;

use super::directing::may_direct;
use super::frame::Frames;
use super::load::Session;
use super::machine;
use super::past::Past;
use super::reload::ShaderWatch;
use super::seen;
use super::simulated::{Purpose, Simulated};
use super::sparing::Workload;
use crate::panel::{BEHIND, Integration, LEFT_OUT};
use gravitile::bodies::Role;
use gravitile::error::Error;
use gravitile::forces::direct::gpu::own;
use gravitile::live::Event;
use gravitile::messages;
use gravitile::render::{ColourBy, Follow};
use gravitile::scene::Colouring;
use gravitile::settings::ViewRequest;
use gravitile::sim::Moment;

/// Shown once per run when the energy error is so large that the results are unreliable.
const RUINED: &str = "the energy is off by more than 5 %, so the bodies cannot be trusted: shorten the time step, or choose a larger eps or hermite4 (tab Physics), then restart (r)";

/// Shown if the camera follows the bodies by default.
const DRIFTING: &str =
    "these bodies move together: the camera follows their centre of mass (tab View, follow)";

/// Seconds for which an engine must be behind before a warning.
const BEHIND_SECS: f64 = 2.0;

/// Which warnings about a slow machine were shown. Each is shown once; later the status line shows
/// signs.
#[derive(Default)]
pub struct Warned {
    behind_secs: f64,
    behind: bool,
    left_out: bool,
}

impl Frames {
    /// Warns once of each reason for a slow window, but not while another message is shown.
    fn warn_once(&mut self, secs: f64) {
        let Some(session) = &self.simulated.session else { return };
        let warned = &mut self.warned;
        let is_behind = session.live.status().behind;
        warned.behind_secs = if is_behind { warned.behind_secs + secs } else { 0.0 };
        if self.output.message.is_some() || self.panel.welcome.open || !session.live.is_moving() {
            return;
        }
        let text = if warned.behind_secs > BEHIND_SECS && !warned.behind {
            warned.behind = true;
            BEHIND
        } else if self.viewer.spared_look.is_some() && !warned.left_out {
            warned.left_out = true;
            LEFT_OUT
        } else {
            return;
        };
        self.output.show_message(text.to_owned(), false);
    }

    /// Handles all results and events since the last frame.
    pub(super) fn poll_events(&mut self, secs: f64) {
        self.warn_once(secs);
        if let Some(loading) = &self.simulated.loading
            && let Some(made) = loading.poll()
        {
            let (keeps_view, plays) = (loading.keeps_view, loading.plays);
            self.simulated.loading = None;
            match made {
                Ok(mut session) => {
                    let notes = std::mem::take(&mut session.template.notes);
                    self.begin(session, keeps_view, plays);
                    if !notes.is_empty() {
                        self.output.show_message(notes.join("; "), false);
                    }
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
                        session.live.go_on();
                        let settings = session.live.settings().clone();
                        self.want_devices_of(&settings);
                    }
                    self.output.show_error(&error);
                }
            }
        }
        self.simulated.sharing.take_found();
        self.take_meeting();
        self.take_measured();
        if let Err(error) = self.save_drawn() {
            self.output.show_error(&error);
        }
        match self.input.shaders.as_mut().map_or(Ok(false), ShaderWatch::changed) {
            Ok(true) => self.take_shaders(),
            Ok(false) => {}
            Err(error) => self.output.show_error(&error),
        }
        match own::changed() {
            Ok(true) => self.take_shaders(),
            Ok(false) => {}
            Err(error) => self.output.show_error(&error),
        }
        while let Some(times) = self.output.screen.timeline.take() {
            if let Some(session) = &mut self.simulated.session {
                session.live.learn(&times);
                // A picture at rest with all effects is not representative of those in motion.
                if self.viewer.rest.is_full(times.number) {
                    continue;
                }
                let workload = Workload {
                    style: self.viewer.choice.style.clone(),
                    has_gas: session.bodies.components.iter().any(|part| part.role == Role::Gas),
                    bodies: session.bodies.len(),
                    size: self.output.screen.size(),
                };
                let (newest, now) = (session.live.frame(), self.begun.elapsed().as_secs_f64());
                if self.viewer.choice.spares
                    && self.viewer.sparing.learn(&workload, &times, newest, now)
                {
                    seen::spared(self.viewer.sparing.describe().as_deref());
                }
            }
            self.output.times = Some(times);
        }
        let Some(session) = &mut self.simulated.session else { return };
        if !self.output.screen.timeline.is_supported() {
            session.live.learn_from_frames(secs);
        }
        let events = session.live.poll();
        session.stop_at_goal();
        session.rest_at_end();
        self.simulated.history.frame(secs, session.live.rates());
        if let Some(positions) = session.live.tracked() {
            if self.viewer.has_paths() && positions.len() == session.bodies.len() {
                let places: Vec<_> = positions.iter().map(|p| p.truncate()).collect();
                self.viewer.paths.take(session.live.status().time, &places);
            }
            self.viewer.steering.follow(self.viewer.choice.follow, &positions, &session.bodies);
            if positions.len() == session.bodies.len() {
                self.viewer.watch(|i| positions[i].truncate(), &session.bodies);
            }
        }
        for event in events {
            match event {
                Event::Report(report) => {
                    self.simulated.history.report(&report);
                    if self.simulated.history.take_ruined() {
                        self.output.show_message(RUINED.to_owned(), true);
                    }
                }
                Event::Checkpoint(moment) => {
                    self.store_moment(&moment);
                    self.viewer.aim(&moment);
                    if let Some(session) = &mut self.simulated.session {
                        session.last = Some(moment);
                    }
                }
                Event::Moment(moment) => self.receive_moment(&moment),
                Event::Failed(error) => self.failed(&error),
            }
        }
    }

    /// Whether the first bodies are being loaded. Shows the progress, and runs queued callbacks of
    /// a page.
    pub(super) fn awaits_bodies(&mut self) -> bool {
        let Some(loading) = &self.simulated.loading else { return false };
        if self.simulated.request.is_none() {
            return false;
        }
        machine::progress(&loading.describe());
        machine::arrivals().into_iter().for_each(|arrival| arrival(self));
        true
    }

    /// Whether the first bodies are not loaded yet.
    pub(super) fn awaits_first(&self) -> bool {
        self.simulated.session.is_none() && self.simulated.request.is_some()
    }

    /// Cancels loading, or else the run's goal. A page whose link is cancelled shows the first
    /// scene.
    pub fn cancel_loading(&mut self) {
        if self.simulated.loading.take().is_none() {
            if let Some(session) = &mut self.simulated.session {
                session.clear_goal();
            }
            return;
        }
        if let Some(session) = &mut self.simulated.session {
            session.live.go_on();
        }
        match self.awaits_first() && cfg!(target_arch = "wasm32") {
            true => self.load_first_scene("loading was cancelled"),
            false => self.output.show_message("loading was cancelled".to_owned(), false),
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
            None => self.output.show_message(why.to_owned(), true),
            Some(Err(error)) => self.output.show_error(&error),
            Some(Ok(simulated)) => {
                self.simulated = simulated;
                self.output.show_message(format!("{why}: {name} is shown instead"), true);
            }
        }
    }

    /// Replaces the simulation by a loaded one. If `plays`, it runs even if the last one was
    /// paused.
    pub(super) fn begin(&mut self, mut session: Session, keeps_view: bool, plays: bool) {
        let saves = self.pending_saves(keeps_view);
        self.viewer.look_of = None;
        let last = self.simulated.session.take();
        if let Some(last) = last.as_ref().filter(|_| keeps_view) {
            // The tempo may have changed while the new session was loaded.
            session.live.take_tempo_of(last.live.keeper());
            (session.goal, session.pauses_at_goal) = (last.goal, last.pauses_at_goal);
            if Integration::of(last.live.settings()) != Integration::of(session.live.settings()) {
                self.simulated.history.change_step(session.live.status().steps);
            }
        }
        let before = last.filter(|_| !keeps_view);
        let is_restart = before.as_ref().is_some_and(|before| before.input == session.input);
        if let Some(mut before) = before {
            // A scene that has paused at its end does not pause the next one.
            let pauses = before.live.keeper().paused && !(before.is_at_end() || plays);
            before.clear_goal();
            let mut keeper = before.live.keeper().clone();
            keeper.paused = pauses;
            session.live.take_tempo_of(&keeper);
            // A session that still computes its first forces is dropped, which cancels them.
            if before.live.status().ready {
                let time = before.time(before.live.status().time, &self.viewer.choice);
                let name = before.name();
                self.output.show_message(
                    format!("{name} is kept at {time}: ctrl+z brings it back"),
                    false,
                );
                self.store_for_undo(before);
            }
        }
        let request = self.simulated.request.take();
        if !keeps_view {
            self.simulated.history.restart();
            self.simulated.past = Past::default();
            // Each scene has its own colouring; the user's choice is for the same bodies only.
            let chosen = request.as_ref().is_some_and(|r| r.look.colour.is_some());
            let glows = request.as_ref().is_some_and(|r| r.look.bloom.is_some());
            if !is_restart {
                let style = &mut self.viewer.choice.style;
                let hints = session.view.as_ref();
                let speed = hints.is_some_and(|hints| hints.colouring == Colouring::Speed);
                if !chosen {
                    style.colour_by = if speed { ColourBy::Speed } else { ColourBy::Component };
                }
                // A scene without its own glow uses the user's.
                match hints.and_then(|hints| hints.glow) {
                    Some(glow) if !glows => self.memory.set_scene_glow(style, glow),
                    _ => self.memory.restore_glow(style),
                }
            }
            self.viewer.begin_paths(&session);
            self.viewer.choice.orbit_degrees_per_sec = 0.0;
            self.viewer.choice.follow = Follow::Nothing;
            let directs = self.viewer.choice.directs && is_restart;
            let view = session.view.as_ref();
            self.viewer.choice.path = view.map_or(Vec::new(), |view| view.keyframes.clone());
            self.viewer.choice.plays = !self.viewer.choice.path.is_empty();
            (self.panel.tree.body, self.panel.card.body) = (None, None);
            self.viewer.steering.release();
            self.simulated.first_view = request.clone();
            match self.first_camera(&session) {
                Ok(motion) => {
                    self.viewer.steering.begin(motion.start, self.free_size());
                    let choice = &mut self.viewer.choice;
                    let should_direct = self.memory.directs && !is_restart;
                    choice.directs =
                        directs || should_direct && may_direct(request.as_ref(), &motion);
                    if !choice.directs {
                        choice.follow = motion.follow;
                    }
                    let is_specified = request.as_ref().is_some_and(|r| r.look.follow.is_some());
                    if self.viewer.choice.follow == Follow::CentreOfMass && !is_specified {
                        self.output.show_message(DRIFTING.to_owned(), false);
                    }
                }
                Err(error) => self.output.show_error(&error),
            }
            self.output.screen.canvas.reset_exposure();
        } else {
            let time = session.live.status().time;
            self.simulated.past.go_to(time);
            self.simulated.history.go_to(time);
        }
        if let Some(request) = request {
            if let Some(time) = request.t {
                session.pauses_at_goal = request.paused;
                session.set_goal(time);
                if session.goal != Some(time) && session.live.status().time != time {
                    let time = session.time(time, &self.viewer.choice);
                    let text = format!("this run begins after or ends before {time} of the link");
                    self.output.show_message(text, true);
                }
            }
            if request.paused && session.goal.is_none() {
                let _ = session.live.apply(gravitile::live::Command::Pause(true));
            }
            if let Some(orbit) = request.look.orbit {
                self.viewer.choice.orbit_degrees_per_sec = orbit;
            }
        }
        if let Some(film) = &mut self.output.recording {
            film.go_on();
        }
        if let Some(chosen) = session.chosen.take() {
            self.output.show_message(chosen, false);
        }
        self.name_window(&session);
        self.undo.take_view(&self.viewer.choice);
        self.simulated.sharing.note(&session.live);
        self.simulated.session = Some(session);
        saves.into_iter().for_each(|save| self.request_moment(save));
    }

    pub(super) fn name_window(&self, session: &Session) {
        let title = messages::piece(&format!("gravitile: {}", session.name()));
        self.output.window.set_title(&title);
        machine::set_title(&title);
    }

    /// Removes pending requests, and returns those to save a snapshot, to be repeated with the same
    /// bodies. If other bodies follow, shows an error for each instead.
    fn pending_saves(&mut self, same_bodies: bool) -> Vec<Purpose> {
        let pending = std::mem::take(&mut self.simulated.pending);
        let (saves, _): (Vec<_>, Vec<_>) =
            pending.into_iter().partition(|purpose| matches!(purpose, Purpose::Save(_)));
        if same_bodies {
            return saves;
        }
        for save in saves {
            if let Purpose::Save(path) = save {
                let path = path.display();
                self.output.show_message(
                    format!("{path} was not saved: other bodies were loaded first"),
                    true,
                );
            }
        }
        Vec::new()
    }

    /// Requests the bodies for `purpose`.
    pub(super) fn request_moment(&mut self, purpose: Purpose) {
        if let Err(error) = self.simulated.request_moment(purpose) {
            self.output.show_error(&error);
        }
    }

    fn store_moment(&mut self, moment: &Arc<Moment>) {
        let dt = self.simulated.session.as_ref().map_or(1.0, |session| session.live.dt());
        self.simulated.past.take(moment, dt > 0.0);
    }

    /// Takes in requested bodies, and uses them for all pending purposes.
    pub(super) fn receive_moment(&mut self, moment: &Arc<Moment>) {
        self.store_moment(moment);
        self.viewer.aim(moment);
        if let Some(session) = &mut self.simulated.session {
            session.last = Some(Arc::clone(moment));
        }
        for purpose in std::mem::take(&mut self.simulated.pending) {
            self.serve(purpose, moment);
        }
    }
}
