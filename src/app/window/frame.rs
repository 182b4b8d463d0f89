//! One frame: finished results, user input, a slice of the simulation, the picture, the panel.
//!
//! 1. Takes what has come back: timestamps, diagnostics, positions of whatever the camera follows.
//! 2. If that is due (`refresh`), lays out the panel and carries out its actions. The panel reads
//!    facts and emits actions; it changes nothing itself.
//! 3. Records one command buffer: a slice of the simulation within 12 ms of device time (30 ms at
//!    the fastest tempo), the sprites from the same buffers that the force kernel reads, glow,
//!    exposure, the tone map into the window's surface, and the panel's layers on top (`layers`).
//! 4. Makes one submission and waits for nothing. So the window responds while a step of a million
//!    bodies is spread over many frames.
//!
//! Timestamps arrive a few frames later and set the size of the next slices; without timestamps it
//! follows from whether frames arrive in time (`live/frame_pace.rs`). Of a frame of a hidden window
//! only the simulation's part is done.

use std::sync::Arc;

use web_time::{Duration, Instant};
use winit::event::WindowEvent;
use winit::window::Window;

use super::command_line::Start;
use super::compile_ahead::prepare_egui;
use super::input::WindowInput;
use super::machine;
use super::output::WindowOutput;
use super::pace::Pace;
use super::pictures::{FILM_RATE, OnTop};
use super::preferences::Preferences;
use super::refresh::Refresh;
use super::screen::{Screen, open_device};
use super::second_run::{SECOND_PICTURE, SECOND_STEPS};
use super::session::Session;
use super::simulated::Simulated;
use super::state::{Warned, WindowState};
use super::stillness::{Drawing, PictureInputs, Stillness};
use super::trace::{self, TRACE};
use super::undo::Undo;
use super::viewer::Viewer;
use crate::panel::{Action, Panel};
use gravitile::error::{Error, Result};
use gravitile::forces::Budget;
use gravitile::gpu::{FrameTimes, begin_drawing, let_browser_turn};
use gravitile::live::Tempo;
use gravitile::render;
use gravitile::settings::ViewRequest;

/// Device time that steps may take per frame at tempo fastest: the window still responds within 50
/// ms.
const FASTEST: Budget = Budget { dispatch_secs: 0.008, submission_secs: 0.030 };
/// Device time for the steps of a frame with a slow picture, as a fraction of the picture's time.
const STEPS_FRACTION: f64 = 0.5;
/// The same for the first forces, before anything moves.
const FIRST_FRACTION: f64 = 2.0;
/// Longest time that a frame counts for: longer ones occur if the computer slept or the window was
/// hidden.
const LONGEST_FRAME_SECS: f64 = 0.25;
/// Interval at which a device that is being opened is polled.
const REPLACING: Duration = Duration::from_millis(20);
/// The picture before there are bodies.
const NO_BODIES: wgpu::LoadOp<wgpu::Color> =
    wgpu::LoadOp::Clear(wgpu::Color { r: 0.02, g: 0.022, b: 0.03, a: 1.0 });
/// Time that the first frame after a pause without frames counts for.
const DEFAULT_FRAME_SECS: f64 = 1.0 / 60.0;

impl WindowState {
    /// Opens the device of a window.
    ///
    /// # Errors
    ///
    /// The window cannot be drawn on. From the future: no device can draw on it, or the request is
    /// impossible.
    pub fn open(
        window: Arc<Window>,
        display: winit::event_loop::OwnedDisplayHandle,
        request: ViewRequest,
        preferences: Preferences,
    ) -> Result<impl Future<Output = Result<Self>> + use<>> {
        let device = open_device(&window, Box::new(display.clone()), &request.engine.adapter)?;
        let open = preferences.panel_open && machine::has_room_for_panel() && !request.embed;
        let mut panel = Panel::new(open, preferences.tab);
        (panel.is_hidden, panel.light) = (request.embed, preferences.light);
        panel.welcome.open = !preferences.welcomed && request.is_default;
        panel.welcome.by_touch = machine::is_touched();
        Ok(async move {
            let device = device.await?;
            // The bodies are made while the rest is prepared.
            let simulated = Simulated::new(&device.gpu, request.clone())?;
            let_browser_turn().await;
            let mut output = WindowOutput::new(window, display, Screen::open(device).await?);
            let_browser_turn().await;
            let mut input = WindowInput::new(&output.screen, request.shaders.clone());
            input.context.set_zoom_factor(preferences.text_size);
            prepare_egui(&mut input, &mut output).await;
            let mut state = Self {
                viewer: Viewer::new(&request, &preferences, output.screen.gpu.adapter.class)?,
                input,
                panel,
                start: Start::from(&request),
                simulated,
                output,
                preferences,
                quit: false,
                still: Stillness::default(),
                refresh: Refresh::default(),
                warned: Warned::default(),
                undo: Undo::default(),
                measuring: None,
                edited_kernel: None,
                filmed: false,
                rested: false,
                last: Instant::now(),
                begun: Instant::now(),
            };
            state.compile_ahead().await;
            Ok(state)
        })
    }

    /// In a page: runs a first frame that is not shown, in slices.
    async fn compile_ahead(&mut self) {
        if !cfg!(target_arch = "wasm32") {
            return;
        }
        let_browser_turn().await;
        self.poll_events(0.0);
        let_browser_turn().await;
        // The next frame gets the same error, and shows it.
        let _ = self.draw(None, false, 0.0);
        let_browser_turn().await;
    }

    pub fn window(&self) -> &Window {
        &self.output.window
    }

    /// Handles a window event; dropped files are queued for the next frame. Returns whether a frame
    /// should follow.
    pub fn on_event(&mut self, event: &WindowEvent) -> bool {
        trace::event(event);
        let taken = self.input.on_event(&self.output.window, event);
        if taken.folds_panel && !self.panel.asks_to_quit {
            self.act(Action::FoldPanel);
        }
        if taken.repaint {
            self.refresh.disturb();
        }
        taken.repaint
    }

    pub fn resized(&mut self, width: u32, height: u32) {
        self.refresh.disturb();
        self.output.resized(width, height);
    }

    /// Runs one frame, and returns when the next is due. A `hidden` frame draws nothing.
    ///
    /// # Errors
    ///
    /// Errors that the window cannot recover from.
    pub fn frame(&mut self, hidden: bool) -> Result<Pace> {
        if self.output.is_replacing() {
            self.continue_on_new_device()?;
            return Ok(Pace::Waiting(REPLACING));
        }
        #[cfg(target_arch = "wasm32")]
        self.take_page_events();
        let now = Instant::now();
        let longest = if self.rested { DEFAULT_FRAME_SECS } else { LONGEST_FRAME_SECS };
        let secs = (now - self.last).as_secs_f64().min(longest);
        self.last = now;
        // A page shows its own text until the first bodies are ready: drawing would only delay
        // them.
        let first = self.simulated.loading.as_ref().filter(|_| self.simulated.request.is_some());
        let awaits = first.inspect(|first| machine::progress(&first.describe())).is_some();
        let hidden = hidden || (cfg!(target_arch = "wasm32") && awaits);
        let mut repaint = Duration::MAX;
        // The device may have been lost since the last frame.
        let healthy = self.output.screen.gpu.poll();
        let drawn = healthy.and_then(|()| {
            self.poll_events(secs);
            self.open_files();
            let output = if hidden { None } else { self.show_panel_if_due(now) };
            repaint = self.refresh.delay(now, hidden);
            self.move_camera(self.camera_secs(secs));
            self.draw(output, !hidden, secs)
        });
        match drawn {
            Err(error @ Error::Device(_)) => self.recover(&error)?,
            // Other errors concern the request, not the device.
            Err(error) => {
                self.output.show_error(&error);
                self.output.screen.layers.invalidate();
            }
            Ok(()) => {}
        }
        if let Some(error) = self.simulated.refused.take() {
            return Err(error);
        }
        let moves = self.simulated.session.as_ref().is_some_and(Session::is_moving);
        self.still.pass(secs, self.viewer.steering.camera(), moves);
        self.trace_frame(hidden);
        let pace = self.pace(repaint);
        self.rested = pace == Pace::Resting;
        if self.rested {
            log::trace!(target: TRACE, "rests");
        }
        Ok(pace)
    }

    /// The seconds that a frame of `secs` counts for the camera. While a film is recorded it moves
    /// once per picture of the film, so that the film is smooth.
    fn camera_secs(&self, secs: f64) -> f64 {
        let is_going = self.simulated.session.as_ref().is_some_and(|s| !s.live.keeper().is_still());
        match self.output.recording {
            Some(_) if is_going && self.filmed => 1.0 / f64::from(FILM_RATE),
            Some(_) if is_going => 0.0,
            _ => secs,
        }
    }

    /// Logs a complete frame, which has handled all input before it. A `hidden` frame drew nothing.
    fn trace_frame(&self, hidden: bool) {
        if !trace::is_on() {
            return;
        }
        let state = match &self.simulated.session {
            None => "without bodies".to_owned(),
            Some(session) => {
                let (status, paused) = (session.live.status(), session.live.keeper().paused);
                format!("step {} {}", status.steps, if paused { "paused" } else { "going" })
            }
        };
        let panel = &self.panel;
        let filmed = self.output.recording.as_ref().map(|film| format!("filmed {}", film.pictures));
        let has_state = self.simulated.past.latest().is_some();
        let words = [
            ("making", self.simulated.loading.is_some()),
            ("writing", self.input.context.text_edit_focused()),
            ("boxes", panel.tree.boxes),
            ("lists", panel.tree.lists),
            ("card", panel.card.body.is_some()),
            (filmed.as_deref().unwrap_or_default(), filmed.is_some()),
            ("directs", self.viewer.choice.directs),
            ("restorable", self.simulated.session.is_some() && has_state),
            ("compares", self.halves_px().is_some()),
            ("hidden", hidden),
        ];
        let words = words.into_iter().filter(|(_, applies)| *applies).map(|(word, _)| word);
        let line: Vec<&str> = std::iter::once(state.as_str()).chain(words).collect();
        log::trace!(target: TRACE, "frame on {:?}, {}", panel.tab, line.join(" "));
    }

    /// Whether the window should be closed.
    pub fn is_over(&self) -> bool {
        self.quit
    }

    /// Draws one picture; `panel` is egui's output if the panel was laid out in this frame.
    pub(super) fn draw(
        &mut self,
        panel: Option<egui::FullOutput>,
        is_shown: bool,
        secs: f64,
    ) -> Result<()> {
        // Before anything can fail, or egui's texture updates would be lost.
        let (panel, freed) = panel.map(|output| self.take_panel(output)).unzip();
        let (session, latest) = (self.simulated.session.as_ref(), self.simulated.past.latest());
        if self.viewer.refresh(session, latest)?
            | self.viewer.approach(secs)
            | self.viewer.lacks_and_moved()
        {
            self.still.disturb();
        }
        let ([covered, _], [panel_px, _]) = (self.covered_px(), self.panel_px());
        let halves = self.halves_px();
        let rests = self.rests();
        let Self { viewer, simulated, output, input, begun, .. } = self;
        let filmed = output.recording.as_ref().zip(simulated.session.as_ref());
        let on_top = filmed.map(|(film, session)| viewer.on_top(session, film.pause()));
        let Viewer { choice, look, reduced_look, quality, drawings, steering, diagram, .. } =
            viewer;
        let WindowOutput { screen, recording, times, .. } = output;
        let session = &mut simulated.session;
        if let Some(session) = session {
            let now = (session.live.status().time, session.live.dt());
            let film = recording.as_ref().map(|film| film.until(now));
            // The limit exists only while time runs forwards, so the smaller time is the earlier
            // one.
            session.go_until(film);
        }
        let target = if is_shown { screen.acquire()? } else { None };
        let screen_size = screen.size();
        let Screen { gpu, canvas, egui, layers, timeline, .. } = screen;
        let (device, queue) = (&gpu.device, &gpu.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        let frame = session.as_ref().map_or(0, |session| session.live.frame() + 1);
        timeline.begin(&mut encoder, frame);
        if let Some((shapes, screen)) = panel {
            layers.draw((device, queue), &mut encoder, egui, &input.context, shapes, &screen)?;
        }
        timeline.end_part(&mut encoder, "panel");
        canvas.cover(covered as u32);
        canvas.draw_over(diagram.diagram());
        if let Some(session) = session {
            let fastest = session.live.keeper().tempo == Tempo::Fastest;
            let budget = if fastest { FASTEST } else { Budget::INTERACTIVE };
            let fraction =
                if session.live.status().ready { STEPS_FRACTION } else { FIRST_FRACTION };
            let budget = session.budget(steps_budget(budget, times.as_ref(), fraction));
            session.live.record(&mut encoder, secs, budget)?;
            timeline.end_part(&mut encoder, "steps");
            if let Some(second) = &mut session.second {
                second.record(&session.live, &mut encoder, (secs, budget))?;
                timeline.end_part(&mut encoder, SECOND_STEPS);
            }
            steering.ride(session.centre_now(), choice.follow);
        }
        let camera = steering.shown(covered, canvas.size());
        let mut painted = Ok(());
        drawings.begin();
        if let Some(target) = &target {
            if let (Some(session), Some(whole)) = (&session, look.as_ref()) {
                let handles = render::Handles { device, queue };
                let points = session.live.points();
                let status = session.live.status();
                let second = session.second.as_ref().map(|second| &second.live);
                let steps = status.steps + second.map_or(0, |second| second.status().steps);
                let state = (steps, status.time);
                let now = PictureInputs { camera, size: canvas.size(), state };
                // The light of the picture drawn last is that of the second run.
                let may = (rests, second.is_none() && canvas.holds(&camera));
                let drawing = drawings.next(now, may, frame);
                let look = reduced_look.as_ref().filter(|_| drawing == Drawing::Reduced);
                let scene = (&camera, look.unwrap_or(whole));
                let side = if drawing == Drawing::Reduced { quality.pixel_side() } else { 1.0 };
                // Glow brightens a picture up to fourfold, so one drawn with it has its own
                // exposure.
                if drawing == Drawing::Full && whole.style.exposure.adapt_secs().is_some() {
                    canvas.reset_exposure();
                }
                let now = begun.elapsed().as_secs_f64();
                let (view, part) =
                    (&target.view, &mut |encoder: &mut _, part| timeline.end_part(encoder, part));
                // This encoder contains the steps, so it is submitted even if the picture fails.
                painted = canvas.enlarge_pixels(handles, side).and_then(|()| match drawing {
                    Drawing::Cached => {
                        canvas.develop(handles, &mut encoder, view, points, scene, part)
                    }
                    _ => {
                        canvas.paint_in_parts(handles, &mut encoder, view, points, scene, now, part)
                    }
                });
                if let (Ok(()), Some(second)) = (&painted, second) {
                    // The numbers of a picture are written before the submission that draws it.
                    let fresh = device.create_command_encoder(&Default::default());
                    queue.submit([std::mem::replace(&mut encoder, fresh).finish()]);
                    let view = layers.second_picture(device, screen_size);
                    let points = second.points();
                    canvas.draw_over(None);
                    // No time has passed since the first picture, so the exposure is the same.
                    painted = canvas.paint(handles, &mut encoder, &view, points, scene, now);
                    timeline.end_part(&mut encoder, SECOND_PICTURE);
                }
            } else {
                drop(begin_drawing(&mut encoder, "no bodies", &target.view, NO_BODIES));
            }
            let shown = (panel_px as u32, halves.map(|half| half.map(|px| px as u32)));
            let composited =
                layers.lay_over((device, queue), &mut encoder, target.texture(), shown);
            painted = painted.and(composited);
            timeline.end_part(&mut encoder, "panel on top");
        }
        timeline.end(device, &mut encoder);
        queue.submit([encoder.finish()]);
        timeline.submitted();
        if let Some(session) = session {
            session.live.submitted();
            session.second.iter_mut().for_each(|second| second.live.submitted());
        }
        for id in freed.iter().flatten() {
            egui.free_texture(id);
        }
        self.output.missed = is_shown && target.is_none();
        self.film(on_top);
        if let Some(target) = target {
            self.output.screen.present(target);
        }
        painted
    }

    /// Adds a picture to the film that is being recorded, if one is due.
    fn film(&mut self, on_top: Option<OnTop>) {
        self.filmed = false;
        let Self { viewer, simulated, output, .. } = self;
        let (Some(film), Some(session), Some(look), Some(on_top)) =
            (&mut output.recording, &simulated.session, &viewer.look, on_top)
        else {
            return;
        };
        if !session.live.is_drawn_whole() {
            return;
        }
        film.draw_over(viewer.diagram.diagram());
        let now = (session.live.status().time, session.live.dt());
        let camera = viewer.steering.camera();
        match film.pass(now, session.live.points(), &camera, look, on_top) {
            Ok(taken) => self.filmed = taken,
            Err(error) => {
                output.recording = None;
                output.show_error(&error);
            }
        }
    }

    /// Saves the settings and completes a film that is being recorded. A `lost` window has no size.
    pub fn close(&mut self, lost: bool) {
        self.act(Action::StopRecording);
        if !lost {
            self.remember_size();
        }
        self.remember();
    }
}

/// The budget of a frame's steps: at least `fraction` of the device time of its other work, since
/// with slow pictures a slice of the default size would hardly advance the simulation.
fn steps_budget(default: Budget, last: Option<&FrameTimes>, fraction: f64) -> Budget {
    let steps = |times: &FrameTimes| {
        ["steps", SECOND_STEPS].iter().filter_map(|part| times.secs(part)).sum::<f64>()
    };
    let others = last.map_or(0.0, |times| times.total_secs() - steps(times));
    Budget { submission_secs: default.submission_secs.max(fraction * others), ..default }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_get_a_fraction_of_the_time_of_slow_pictures() {
        let times = |picture: f64| FrameTimes {
            number: 1,
            parts: vec![("steps", 0.1), ("sprites", picture)],
        };
        let secs = |picture| {
            steps_budget(Budget::INTERACTIVE, Some(&times(picture)), STEPS_FRACTION).submission_secs
        };
        assert_eq!(secs(0.001), Budget::INTERACTIVE.submission_secs);
        assert!((secs(0.2) - 0.1).abs() < 1e-12);
        assert_eq!(steps_budget(FASTEST, None, FIRST_FRACTION), FASTEST);
    }
}
