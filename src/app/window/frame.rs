//! One frame: what has come back, what the user wants, a slice of simulation, the picture, the panel.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use egui::ViewportId;
use winit::event::WindowEvent;
use winit::window::Window;

use super::load::{Loading, Session, Wanted};
use super::memory::Memory;
use super::pictures::Recording;
use super::reload::ShaderWatch;
use super::stage::Stage;
use super::steer::{Steering, Wish, tracking};
use super::{FIRST_SCENE, Request};
use crate::app::cli::{Input, InputOptions};
use crate::app::panel::{self, Action, Facts, FollowWhat, History, Panel, ViewChoice};
use crate::error::{Error, Result};
use crate::force::Budget;
use crate::gpu::{DeviceClass, FrameTimes};
use crate::live::{Event, Live, Tempo};
use crate::render::pass_times::{Marks, PartTimes, PassTimes};
use crate::render::{self, Camera, ColourBy, DevicePoints, Look, PictureSize};
use crate::scene::Colouring;
use crate::sim::{EngineKind, Moment, Settings};

/// What a frame may take of the device while somebody wants the simulation as fast as possible: the
/// window still answers within 50 ms.
const FASTEST: Budget = Budget { dispatch_secs: 0.008, submission_secs: 0.030 };
/// How long good news stays.
const MESSAGE_SECS: f64 = 6.0;
/// A frame that took longer counts as so long: the computer slept, or the window was hidden.
const LONGEST_FRAME_SECS: f64 = 0.25;

/// Everything that a frame needs.
pub struct Frames {
    window: Arc<Window>,
    display: winit::event_loop::OwnedDisplayHandle,
    pub(super) stage: Stage,
    egui_state: egui_winit::State,
    pub(super) context: egui::Context,
    pub(super) panel: Panel,
    pub(super) view: ViewChoice,
    pub(super) steering: Steering,
    pub(super) session: Option<Session>,
    pub(super) loading: Option<Loading>,
    /// What moments that were asked for are for.
    pub(super) waiting: Vec<Purpose>,
    /// The engine asked for, which may be `Auto`.
    pub(super) engine: EngineKind,
    pub(super) wanted: Wanted,
    pub(super) recording: Option<Recording>,
    pub(super) dialog: Option<egui_file::FileDialog>,
    pub(super) quit: bool,
    request: Option<Request>,
    look: Option<Look>,
    look_of: Option<ViewChoice>,
    history: History,
    times: Option<FrameTimes>,
    picture_times: Option<PartTimes>,
    message: Option<(String, bool, Instant)>,
    dropped: Vec<PathBuf>,
    shaders: Option<ShaderWatch>,
    memory: Memory,
    last: Instant,
    begun: Instant,
    panel_secs: f64,
}

/// Why a moment was asked for.
pub enum Purpose {
    /// To be saved.
    Save(PathBuf),
    /// To find the body at a place.
    Pick(Wish),
    /// To go on with other settings.
    Change(Box<Settings>),
}

impl Frames {
    pub fn new(
        window: Arc<Window>,
        display: Box<winit::event_loop::OwnedDisplayHandle>,
        request: Request,
        memory: Memory,
    ) -> Result<Self> {
        let display = *display;
        let wish = request.engine.adapter.wish();
        let stage = Stage::new(Arc::clone(&window), Box::new(display.clone()), &wish)?;
        let context = egui::Context::default();
        panel::style(&context);
        let egui_state = egui_winit::State::new(
            context.clone(),
            ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            Some(winit::window::Theme::Dark),
            Some(stage.gpu.limits.texture_side as usize),
        );
        let mut view = ViewChoice { style: request.style.clone(), ..ViewChoice::default() };
        if view.style == crate::render::Style::default() {
            memory.give_view(&mut view);
        }
        let engine = request.engine.kind()?;
        let settings = Settings {
            integrator: request.steps.integrator.clone(),
            engine,
            adapter: wish,
            kernel: request.engine.kernel.wish(),
            ..Settings::default()
        };
        let wanted = Wanted { softening: request.steps.eps, dt: request.steps.dt, settings };
        let panel = Panel::new(memory.panel_open, memory.tab);
        let mut frames = Self {
            window,
            display,
            stage,
            egui_state,
            context,
            panel,
            view,
            steering: Steering::new(Camera::default()),
            session: None,
            loading: None,
            waiting: Vec::new(),
            engine,
            wanted: wanted.clone(),
            recording: None,
            dialog: None,
            quit: false,
            request: None,
            look: None,
            look_of: None,
            history: History::default(),
            times: None,
            picture_times: None,
            message: None,
            dropped: Vec::new(),
            shaders: request.shaders.clone().map(ShaderWatch::new),
            memory,
            last: Instant::now(),
            begun: Instant::now(),
            panel_secs: 0.0,
        };
        let mut input = request.input.clone();
        if input == InputOptions::named(FIRST_SCENE) {
            input.n = Some(first_count(frames.stage.gpu.adapter.class));
        }
        let loading = Loading::input(&frames.stage.gpu, input, wanted, false)?;
        frames.loading = Some(loading);
        frames.request = Some(request);
        Ok(frames)
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Hands an event to egui; files that were dropped are kept for the next frame.
    pub fn on_event(&mut self, event: &WindowEvent) {
        let _ = self.egui_state.on_window_event(&self.window, event);
        if let WindowEvent::DroppedFile(path) = event {
            self.dropped.push(path.clone());
        }
    }

    pub fn resized(&mut self, width: u32, height: u32) {
        if let Err(error) = self.stage.resize(width, height) {
            self.say_error(&error);
        }
    }

    /// One frame; false when the window is to be closed.
    ///
    /// Errors: what nothing can be done about.
    pub fn frame(&mut self) -> Result<bool> {
        let now = Instant::now();
        let secs = (now - self.last).as_secs_f64().min(LONGEST_FRAME_SECS);
        self.last = now;
        // The device may have been lost since the last frame.
        let healthy = self.stage.gpu.poll();
        let drawn = healthy.and_then(|()| {
            self.take_news(secs);
            let output = self.show_panel(secs);
            self.steering.pass(secs, self.view.orbit_degrees_per_sec);
            self.draw(output, secs)
        });
        if let Err(error) = drawn {
            self.recover(&error)?;
        }
        Ok(!self.quit)
    }

    /// What has come back since the last frame.
    fn take_news(&mut self, secs: f64) {
        if let Some(loading) = &self.loading
            && let Some(made) = loading.poll()
        {
            let keeps_view = loading.keeps_view;
            self.loading = None;
            match made {
                Ok(session) => self.begin(session, keeps_view),
                Err(error) => {
                    // What was to be replaced goes on.
                    if let Some(session) = &mut self.session {
                        session.live.go_on();
                    }
                    self.say_error(&error);
                }
            }
        }
        match self.shaders.as_mut().map_or(Ok(false), ShaderWatch::changed) {
            Ok(true) => self.act(Action::Live(crate::live::Command::Recompile)),
            Ok(false) => {}
            Err(error) => self.say_error(&error),
        }
        while let Some(times) = self.stage.timeline.take() {
            if let Some(session) = &mut self.session {
                session.live.learn(&times);
            }
            self.times = Some(times);
        }
        if let Some(times) = self.stage.parts.as_mut().and_then(PassTimes::take) {
            self.picture_times = Some(times);
        }
        let Some(session) = &mut self.session else { return };
        if !self.stage.timeline.is_supported() {
            session.live.learn_from_frames(secs, 1.0 / 60.0);
        }
        let events = session.live.poll();
        self.history.frame(secs, session.live.rates());
        if let Some(positions) = session.live.tracked() {
            self.steering.follow(self.view.follow, &positions, &session.bodies);
        }
        for event in events {
            match event {
                Event::Report(report) => {
                    self.history.report(&report);
                    let first = self.session.as_ref().is_some_and(|s| s.last.is_none());
                    if let Some(session) = &mut self.session {
                        session.last = Some(report.moment);
                    }
                    // Accelerations are known only now.
                    if first && self.view.style.colour_by == ColourBy::Acceleration {
                        self.look_of = None;
                    }
                }
                Event::Moment(moment) => self.use_moment(&moment),
                Event::Failed(error) => self.say_error(&error),
            }
        }
    }

    /// A simulation that is ready takes the place of the last one.
    fn begin(&mut self, mut session: Session, keeps_view: bool) {
        self.waiting.clear();
        self.look_of = None;
        if !keeps_view {
            self.history.restart();
        }
        if let Some(before) = &self.session
            && !keeps_view
        {
            let keeper = before.live.keeper().clone();
            session.live.take_tempo_of(&keeper);
        }
        let request = self.request.take();
        if !keeps_view {
            if let Some(hints) = &session.view {
                if hints.colouring == Colouring::Speed
                    && request.as_ref().is_none_or(|r| r.look.colour.is_none())
                    && self.view.style.colour_by == ColourBy::Component
                {
                    self.view.style.colour_by = ColourBy::Speed;
                }
                self.view.orbit_degrees_per_sec = 0.0;
            }
            self.view.follow = FollowWhat::Nothing;
            self.steering.release();
            let camera = self.first_camera(&session, request.as_ref());
            match camera {
                Ok(camera) => self.steering.jump(camera),
                Err(error) => self.say_error(&error),
            }
            self.stage.canvas.reset_exposure();
        }
        if let Some(request) = request {
            if request.paused {
                let _ = session.live.apply(crate::live::Command::Pause(true));
            }
            if let Some(orbit) = request.look.orbit {
                self.view.orbit_degrees_per_sec = orbit;
            }
            self.follow_by_name(&request.look.follow, &session);
        }
        self.window.set_title(&format!("gravitile: {}", session.input.input));
        self.session = Some(session);
    }

    fn follow_by_name(&mut self, name: &str, session: &Session) {
        let components = &session.bodies.components;
        self.view.follow = match name {
            "centre" | "center" => FollowWhat::Centre,
            name => match components.iter().position(|c| c.name == name) {
                Some(index) => FollowWhat::Component(index as u8),
                None => FollowWhat::Nothing,
            },
        };
    }

    fn first_camera(&self, session: &Session, request: Option<&Request>) -> Result<Camera> {
        // The same as a film's: by the command line, then the scene's hints, then the bodies.
        let input = Input {
            snapshot: crate::snapshot::Snapshot::new((*session.bodies).clone(), 0.0),
            run: session.hints,
            view: session.view.clone(),
        };
        let look = request.map(|request| request.look.clone()).unwrap_or_default();
        let look = crate::app::cli::LookOptions {
            follow: if look.follow.is_empty() { "nothing".to_owned() } else { look.follow },
            ..look
        };
        let mut camera = look.motion(&input, &self.view.style, self.free_size())?.start;
        if let Some(target) = request.and_then(|request| request.target) {
            camera.target = target;
        }
        Ok(camera)
    }

    /// The part of the picture that the panel leaves free.
    pub(super) fn free_size(&self) -> PictureSize {
        let size = self.stage.picture_size();
        let free = size.width() as f64 - self.covered_px();
        PictureSize::new((free as u32).max(16), size.height()).unwrap_or(size)
    }

    /// Pixels at the right that the panel covers.
    pub(super) fn covered_px(&self) -> f64 {
        if !self.panel.open {
            return 0.0;
        }
        let covered = f64::from(self.panel.width * self.context.pixels_per_point());
        covered.min(0.8 * f64::from(self.stage.size()[0]))
    }

    /// Runs the panel and carries out what it asks for.
    fn show_panel(&mut self, secs: f64) -> egui::FullOutput {
        let begun = Instant::now();
        let input = self.egui_state.take_egui_input(&self.window);
        let context = self.context.clone();
        let (mut actions, mut wish) = (Vec::new(), None);
        let covered = self.covered_px();
        let size = self.stage.picture_size();
        let (before, panel_secs) = (self.view.follow, self.panel_secs);
        let message = self.message.as_ref().map(|(text, ..)| text.clone());
        let is_error = self.message.as_ref().is_some_and(|(_, is_error, _)| *is_error);
        let loading = self.loading.as_ref().map(|loading| loading.what.clone());
        let output = context.run_ui(input, |ui| {
            let Self {
                session,
                panel,
                view,
                steering,
                dialog,
                stage,
                history,
                times,
                picture_times,
                recording,
                ..
            } = &mut *self;
            if let Some(session) = session {
                session.refresh_wgsl();
                let live = &session.live;
                let facts = Facts {
                    input: &session.input,
                    hints: &session.hints,
                    units: &session.template.units,
                    count: live.len(),
                    components: &session.bodies.components,
                    settings: live.settings(),
                    dt: live.dt(),
                    keeper: live.keeper(),
                    standing: live.standing(),
                    engine: live.choice().kind,
                    engine_reason: &live.choice().reason,
                    engine_text: &live.describe_engine(),
                    gpu: &stage.gpu,
                    config: live.config(),
                    wgsl: session.wgsl.as_ref().map(|(_, text)| text.as_str()),
                    rates: live.rates(),
                    history,
                    times: times.as_ref(),
                    picture_times: picture_times.as_ref(),
                    panel_secs,
                    picture: stage.size(),
                    recording: recording.as_ref().map(|r| (r.path.as_path(), r.pictures)),
                    loading: loading.as_deref(),
                    message: message.as_deref(),
                    message_is_error: is_error,
                };
                // The picture lies below everything else: first come, last served.
                wish = steering.input(ui, covered, size);
                if dialog.as_ref().is_none_or(|dialog| !dialog.visible()) {
                    actions.extend(panel::pressed(ui.ctx(), &facts));
                }
                let seen = steering.shown(covered, size);
                panel::overlay::show(ui, view, &seen, size, &session.template.units.length);
                actions.extend(panel.show(ui, &facts, view));
            } else {
                egui::CentralPanel::no_frame().show(ui, |ui| {
                    ui.centered_and_justified(|ui| match (&message, &loading) {
                        (_, Some(what)) => ui.label(format!("{what} …")),
                        (Some(text), None) => ui.label(text),
                        (None, None) => ui.label("Drop a snapshot here"),
                    });
                });
            }
            if let Some(dialog) = dialog {
                dialog.show(ui.ctx());
            }
        });
        self.panel_secs += 0.1 * (begun.elapsed().as_secs_f64() - self.panel_secs);
        if self.message.as_ref().is_some_and(|(_, is_error, since)| {
            !is_error && since.elapsed().as_secs_f64() > MESSAGE_SECS
        }) {
            self.message = None;
        }
        if self.view.follow != before {
            self.steering.release();
        }
        if let Some(session) = &mut self.session {
            session.live.track(tracking(self.view.follow));
        }
        match wish {
            Some(Wish::Release) => {
                self.view.follow = FollowWhat::Nothing;
                self.steering.release();
            }
            Some(pick) => self.ask_moment(Purpose::Pick(pick)),
            None => {}
        }
        for action in actions {
            self.act(action);
        }
        self.take_dropped();
        self.take_dialog();
        let _ = secs;
        output
    }

    fn take_dropped(&mut self) {
        let mut files = std::mem::take(&mut self.dropped);
        if files.len() >= 2 {
            let second = files.swap_remove(1);
            let extent = self.steering.camera().distance * 0.2;
            self.panel.scene.offer_encounter([files.swap_remove(0), second], extent);
            (self.panel.open, self.panel.tab) = (true, panel::Tab::Scene);
        } else if let Some(file) = files.pop() {
            self.act(Action::Load(InputOptions::named(file.display().to_string())));
        }
    }

    fn take_dialog(&mut self) {
        let Some(dialog) = &self.dialog else { return };
        let picked = dialog.selected().then(|| dialog.path().map(PathBuf::from)).flatten();
        if !dialog.visible() {
            self.dialog = None;
        }
        if let Some(path) = picked {
            self.act(Action::Load(InputOptions::named(path.display().to_string())));
        }
    }

    /// Makes the looks anew where the view or the bodies have changed.
    fn refresh_look(&mut self) -> Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        if self.look.is_some() && self.look_of.as_ref() == Some(&self.view) {
            return Ok(());
        }
        let zero;
        let acceleration = match &session.last {
            Some(moment) => &moment.acceleration,
            None => {
                zero = vec![glam::DVec3::ZERO; session.bodies.len()];
                &zero
            }
        };
        let look = Look::new(&self.view.style, &session.bodies, Some(acceleration))?;
        self.look = Some(look.with_ages(Arc::clone(&session.ages)));
        self.look_of = Some(self.view.clone());
        Ok(())
    }

    fn draw(&mut self, output: egui::FullOutput, secs: f64) -> Result<()> {
        let egui::FullOutput {
            platform_output, mut textures_delta, shapes, pixels_per_point, ..
        } = output;
        // First of all, before anything can fail: egui insists that no texture is forgotten.
        let freed = std::mem::take(&mut textures_delta.free);
        for (id, deltas) in std::mem::take(&mut textures_delta.set) {
            for delta in &deltas {
                let Stage { gpu, egui, .. } = &mut self.stage;
                egui.update_texture(&gpu.device, &gpu.queue, id, delta);
            }
        }
        self.egui_state.handle_platform_output(&self.window, platform_output);
        let clipped = self.context.tessellate(shapes, pixels_per_point);
        self.refresh_look()?;
        let covered = self.covered_px();
        let Self { stage, session, look, steering, recording, .. } = self;
        let target = stage.acquire()?;
        let Stage { gpu, canvas, egui, timeline, parts, .. } = stage;
        let (device, queue) = (&gpu.device, &gpu.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        let frame = session.as_ref().map_or(0, |session| session.live.frame() + 1);
        timeline.begin(&mut encoder, frame);
        let camera = steering.shown(covered, canvas.size());
        if let Some(session) = session {
            let fastest = session.live.keeper().tempo == Tempo::Fastest;
            let budget = if fastest { FASTEST } else { Budget::INTERACTIVE };
            session.live.record(&mut encoder, secs, budget)?;
            timeline.end_part(&mut encoder, "steps");
        }
        if let Some(target) = &target {
            if let (Some(session), Some(look)) = (&session, &look) {
                let borrowed = render::Gpu { device, queue };
                let points = session.live.points();
                let now = self.begun.elapsed().as_secs_f64();
                let seen = (&camera, look);
                let marks = parts.as_ref().map_or(Marks::NONE, PassTimes::marks);
                let view = &target.view;
                canvas.paint_timed(borrowed, &mut encoder, view, points, seen, now, marks)?;
                timeline.end_part(&mut encoder, "picture");
                if let Some(parts) = parts {
                    parts.finish(&mut encoder);
                }
            } else {
                clear(&mut encoder, &target.view);
            }
            let [width, height] = [target.texture.texture.width(), target.texture.texture.height()];
            let screen =
                egui_wgpu::ScreenDescriptor { size_in_pixels: [width, height], pixels_per_point };
            let extra = egui.update_buffers(device, queue, &mut encoder, &clipped, &screen);
            debug_assert!(extra.is_empty(), "the panel has no paint callbacks");
            let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("panel"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &target.view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
                })],
                ..Default::default()
            });
            egui.render(&mut pass.forget_lifetime(), &clipped, &screen);
            timeline.end_part(&mut encoder, "panel");
        }
        timeline.end(gpu, &mut encoder);
        queue.submit([encoder.finish()]);
        timeline.submitted();
        if let Some(session) = session {
            session.live.submitted();
        }
        for id in &freed {
            egui.free_texture(id);
        }
        let mut filmed = Ok(());
        if let (Some(recording), Some(session), Some(look)) = (recording, &session, &look) {
            filmed = recording.pass(secs, session.live.points(), &steering.camera(), look);
        }
        if let Some(target) = target {
            stage.present(target);
        } else {
            // Nothing to wait for: do not spin.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        if let Err(error) = filmed {
            self.recording = None;
            self.say_error(&error);
        }
        Ok(())
    }

    /// After trouble with the device: a new one, and the last state that came back.
    fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        let wish = self.wanted.settings.adapter.clone();
        let display = Box::new(self.display.clone());
        let Some(session) = self.session.take() else {
            return Err(Error::Device(error.to_string()));
        };
        self.stage = Stage::new(Arc::clone(&self.window), display, &wish)
            .map_err(|again| Error::Device(format!("{error}; and no new device: {again}")))?;
        // egui has to send its textures again: begin with a new memory of its own.
        self.context = egui::Context::default();
        panel::style(&self.context);
        self.egui_state = egui_winit::State::new(
            self.context.clone(),
            ViewportId::ROOT,
            &self.window,
            Some(self.window.scale_factor() as f32),
            Some(winit::window::Theme::Dark),
            Some(self.stage.gpu.limits.texture_side as usize),
        );
        (self.look, self.look_of, self.recording) = (None, None, None);
        let settings = session.live.settings().clone();
        match &session.last {
            Some(moment) => {
                let text = format!(
                    "{error}. Going on from t = {:.4}, the last state that had come back",
                    moment.time
                );
                let change = Loading::change(&self.stage.gpu, &session, moment, settings)?;
                self.loading = Some(change);
                self.say(text, true);
            }
            None => {
                let input = session.input.clone();
                let again = Loading::input(&self.stage.gpu, input, self.wanted.clone(), true)?;
                self.loading = Some(again);
                self.say(format!("{error}. No state had come back yet: begun again"), true);
            }
        }
        Ok(())
    }

    /// What the window shows, for pictures and films.
    pub(super) fn scene_to_draw(&self) -> Option<(DevicePoints<'_>, Camera, &Look)> {
        let session = self.session.as_ref()?;
        Some((session.live.points(), self.steering.camera(), self.look.as_ref()?))
    }

    /// Shows a message.
    pub(super) fn say(&mut self, text: String, is_error: bool) {
        self.message = Some((text, is_error, Instant::now()));
    }

    /// Shows an error.
    pub(super) fn say_error(&mut self, error: &Error) {
        log::warn!("{error}");
        self.say(error.to_string(), true);
    }

    pub(super) fn dismiss_message(&mut self) {
        self.message = None;
    }

    /// Whole screen or not.
    pub(super) fn toggle_fullscreen(&self) {
        let full = match self.window.fullscreen() {
            Some(_) => None,
            None => Some(winit::window::Fullscreen::Borderless(None)),
        };
        self.window.set_fullscreen(full);
    }

    /// Saves what is to be remembered and finishes what is being recorded.
    pub fn close(&mut self) {
        self.act(Action::StopRecording);
        let size = self.window.inner_size().to_logical::<f64>(self.window.scale_factor());
        if self.window.fullscreen().is_none() && size.width >= 320.0 && size.height >= 240.0 {
            self.memory.window_size = [size.width.round(), size.height.round()];
        }
        (self.memory.panel_open, self.memory.tab) = (self.panel.open, self.panel.tab);
        self.memory.take_view(&self.view);
        self.memory.save();
    }

    /// Asks for the bodies; what for is remembered until they come.
    pub(super) fn ask_moment(&mut self, purpose: Purpose) {
        if let Some(session) = &mut self.session {
            self.waiting.push(purpose);
            if let Err(error) = session.live.apply(crate::live::Command::Moment) {
                self.say_error(&error);
            }
        }
    }

    /// The bodies have come.
    fn use_moment(&mut self, moment: &Arc<Moment>) {
        if let Some(session) = &mut self.session {
            session.last = Some(Arc::clone(moment));
        }
        for purpose in std::mem::take(&mut self.waiting) {
            self.serve(purpose, moment);
        }
    }
}

/// Bodies of the first scene that run smoothly on a class of device.
fn first_count(class: DeviceClass) -> usize {
    match class {
        DeviceClass::Discrete => 48_000,
        DeviceClass::Integrated | DeviceClass::Virtual | DeviceClass::Unknown => 16_000,
        DeviceClass::Software => 6_000,
    }
}

fn clear(encoder: &mut wgpu::CommandEncoder, view: &wgpu::TextureView) {
    drop(encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("nothing yet"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(wgpu::Color { r: 0.02, g: 0.022, b: 0.03, a: 1.0 }),
                store: wgpu::StoreOp::Store,
            },
        })],
        ..Default::default()
    }));
}

impl Session {
    /// The text of the kernel that runs now.
    fn refresh_wgsl(&mut self) {
        let variant = Live::variant(&self.live);
        if self.wgsl.as_ref().map(|(known, _)| *known) != variant {
            self.wgsl = variant.and_then(|variant| Some((variant, variant.wgsl().ok()?)));
        }
    }
}
