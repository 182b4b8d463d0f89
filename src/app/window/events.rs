//! Takes in what has happened since the last frame: loaded bodies, times, diagnostics, states of
//! the bodies, files, events of the page.

use std::sync::Arc;

use log::trace;

use super::input::ShaderWatch;
use super::loading::Loading;
#[cfg(target_arch = "wasm32")]
use super::machine::{self, PageEvent};
use super::quality::Workload;
use super::simulated::Purpose;
use super::state::WindowState;
use super::steer::PointerRequest;
use super::trace::TRACE;
use super::undo::UndoStep;
use crate::panel::{BEHIND, LEFT_OUT, Tab};
use gravitile::bodies::Role;
use gravitile::error::Result;
use gravitile::gpu::FrameTimes;
use gravitile::live::{Background, Event};
use gravitile::render::Follow;
use gravitile::sim::State;

/// Shown once per run when the energy error is so large that the results are unreliable.
const RUINED: &str = "the energy is off by more than 5 %, so the bodies cannot be trusted: shorten the time step, or choose a larger eps or hermite4 (tab Physics), then restart (r)";

/// Seconds for which an engine must be behind before a warning.
const BEHIND_SECS: f64 = 2.0;

impl WindowState {
    /// Warns once of each reason for a slow window, but not while another message is shown.
    fn warn_once(&mut self, secs: f64) {
        let Some(session) = &self.simulated.session else { return };
        let warned = &mut self.warned;
        let is_behind = session.live.status().behind;
        warned.behind_secs = if is_behind { warned.behind_secs + secs } else { 0.0 };
        if self.output.message.is_some() || self.panel.welcome.open || !session.is_moving() {
            return;
        }
        if warned.behind_secs > BEHIND_SECS && !warned.behind {
            warned.behind = true;
            self.output.notify(BEHIND);
        } else if self.viewer.reduced_look.is_some() && !warned.left_out {
            warned.left_out = true;
            self.output.notify(LEFT_OUT);
        }
    }

    /// Handles all results and events since the last frame, which took `secs`.
    pub(super) fn poll_events(&mut self, secs: f64) {
        self.warn_once(secs);
        self.poll_loading();
        self.simulated.sharing.take_found();
        self.poll_meeting();
        self.poll_measurement();
        let saved = self.save_drawn();
        self.output.report(saved);
        match self.input.shaders.as_mut().map_or(Ok(false), ShaderWatch::changed) {
            Ok(true) => self.recompile(),
            Ok(false) => {}
            Err(error) => self.output.show_error(&error),
        }
        if let Err(error) = self.poll_own_kernel() {
            self.output.show_error(&error);
        }
        while let Some(times) = self.output.screen.timeline.take() {
            if self.learn(&times) {
                self.output.times = Some(times);
            }
        }
        self.poll_session(secs);
    }

    /// Learns from the device times of a frame. Returns whether they are representative of pictures
    /// in motion: those of a picture at rest with all effects are not.
    fn learn(&mut self, times: &FrameTimes) -> bool {
        let Some(session) = &mut self.simulated.session else { return true };
        session.live.learn(times);
        session.second.iter_mut().for_each(|second| second.learn(times));
        if self.viewer.drawings.is_full(times.number) {
            return false;
        }
        let bodies = &session.initial.bodies;
        let workload = Workload {
            style: self.viewer.choice.style.clone(),
            has_gas: bodies.components.iter().any(|part| part.role == Role::Gas),
            bodies: bodies.len(),
            size: self.output.screen.size(),
        };
        let (newest, now) = (session.live.frame(), self.begun.elapsed().as_secs_f64());
        if self.viewer.choice.spares && self.viewer.quality.learn(&workload, times, newest, now) {
            let left_out = self.viewer.quality.describe();
            trace!(target: TRACE, "shows {}", left_out.as_deref().unwrap_or("everything"));
        }
        true
    }

    /// Offers an encounter once both snapshots are read.
    fn poll_meeting(&mut self) {
        let Some(made) = self.simulated.meeting.as_ref().and_then(Background::take) else { return };
        self.simulated.meeting = None;
        match made {
            Ok(meeting) => {
                self.panel.scene.offer_encounter(meeting.offer());
                (self.panel.open, self.panel.tab) = (true, Tab::Scene);
                self.output.dismiss_message();
                if !meeting.notes.is_empty() {
                    self.output.notify(meeting.notes.join("; "));
                }
                self.simulated.met = Some(meeting);
            }
            Err(error) => self.output.show_error(&error),
        }
    }

    /// Takes in the progress and the result of a measurement.
    fn poll_measurement(&mut self) {
        let Some(measuring) = &self.measuring else { return };
        let Some(ended) = measuring.poll(&mut self.panel) else { return };
        self.measuring = None;
        if let Some(session) = &mut self.simulated.session {
            session.go_on();
        }
        self.output.report(ended);
        self.still.disturb();
    }

    /// Takes in positions, diagnostics and states from the simulation.
    fn poll_session(&mut self, secs: f64) {
        let Some(session) = &mut self.simulated.session else { return };
        if !self.output.screen.timeline.is_supported() {
            session.live.learn_from_frames(secs);
            session.second.iter_mut().for_each(|second| second.live.learn_from_frames(secs));
        }
        let events = session.live.poll();
        session.stop_at_goal();
        session.rest_at_end();
        self.simulated.history.frame(secs, session.live.rates());
        if let Some(positions) = session.live.tracked() {
            let bodies = &session.initial.bodies;
            let is_all = positions.len() == bodies.len();
            if self.viewer.has_paths() && is_all {
                let places: Vec<_> = positions.iter().map(|p| p.truncate()).collect();
                self.viewer.paths.take(session.live.status().time, &places);
            }
            self.viewer.steering.follow(self.viewer.choice.follow, &positions, bodies);
            if is_all {
                self.viewer.watch(|i| positions[i].truncate(), bodies);
            }
        }
        for event in events {
            match event {
                Event::Report(report) => {
                    self.simulated.history.report(&report);
                    let session = self.simulated.session.as_mut();
                    let second = session.and_then(|session| session.second.as_mut());
                    second.into_iter().for_each(|second| second.report_first(&report));
                    if self.simulated.history.take_ruined() {
                        self.output.warn(RUINED);
                    }
                }
                Event::Checkpoint(state) => self.store_state(&state),
                Event::State(state) => {
                    self.store_state(&state);
                    for purpose in std::mem::take(&mut self.simulated.pending) {
                        let outcome = self.use_state(purpose, &state);
                        self.output.report(outcome);
                    }
                }
                Event::Failed(error) => self.failed(&error),
            }
        }
        self.poll_second();
        self.throw_what_is_due();
    }

    fn store_state(&mut self, state: &Arc<State>) {
        let dt = self.simulated.session.as_ref().map_or(1.0, |session| session.live.dt());
        let is_bookmark = self.simulated.past.take(state, dt > 0.0);
        self.viewer.aim(state);
        if is_bookmark {
            let drawn = self.draw_bookmark(state.time);
            self.output.report(drawn);
        }
    }

    /// Uses a requested state of the bodies for its purpose.
    fn use_state(&mut self, purpose: Purpose, state: &Arc<State>) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        match purpose {
            Purpose::Save(path) => self.save_snapshot(&path, state)?,
            Purpose::Pick(request) => self.pick(request, state),
            Purpose::GoTo { to, paused, moment } => {
                self.undo.note(UndoStep::State(Arc::clone(state), paused));
                self.go_to_state(&to)?;
                self.simulated.loading.iter_mut().for_each(|loading| loading.moment = moment);
            }
            Purpose::Throw(throw) => self.throw_into(*throw, state)?,
            Purpose::Change(settings) => {
                let gpu = &self.output.screen.gpu;
                let compare = self.simulated.requested.compare.clone();
                let from = (Arc::clone(&session.initial), state);
                self.simulated.loading =
                    Some(Loading::change(gpu, session, from, (*settings, compare))?);
                // Steps that the old engine takes meanwhile would be lost, so it stops.
                session.rest();
            }
        }
        Ok(())
    }

    /// Follows the body at a pixel, or shows its card.
    fn pick(&mut self, request: PointerRequest, state: &State) {
        let PointerRequest::Pick { camera, pixel, within_px, follow } = request else { return };
        let (style, bodies) = (&self.viewer.choice.style, &state.bodies);
        let is_visible = |i: usize| {
            let component = &bodies.components[usize::from(bodies.component[i])];
            style.show_halo || component.role != Role::Halo
        };
        let size = self.output.screen.picture_size();
        let found = camera.pick(&bodies.position, is_visible, pixel, within_px, size);
        self.panel.card.body = found;
        if !follow {
            let form = &mut self.panel.tree;
            form.body = found.or(form.body);
            if let (Some(body), true) = (found, form.lists) {
                let id = bodies.id[body];
                self.output.notify(format!("showing what acts on body {id}"));
            }
            return;
        }
        self.viewer.follow(found.map_or(Follow::Nothing, Follow::Body));
        if let Some(index) = found {
            self.viewer.take_over();
            let name = &bodies.components[usize::from(bodies.component[index])].name;
            self.output.notify(format!("following body {} ({name})", bodies.id[index]));
        }
    }

    /// Handles what the page has queued since the last frame.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn take_page_events(&mut self) {
        for event in machine::page_events() {
            match event {
                PageEvent::Warning(text) => self.output.warn(text),
                PageEvent::Input(event) => {
                    self.input.egui_state.egui_input_mut().events.push(event);
                    self.refresh.disturb();
                }
                PageEvent::Files(paths) => self.input.dropped.extend(paths),
                PageEvent::CancelLoading => self.cancel_loading(),
                PageEvent::Repaint => self.refresh.disturb(),
                PageEvent::Leave => {
                    self.remember_size();
                    self.remember();
                }
            }
        }
    }
}
