//! One frame: what has come back, what the user wants, a slice of simulation, the picture, the panel.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use winit::event::WindowEvent;
use winit::keyboard::{Key, NamedKey};
use winit::window::Window;

use super::again::Start;
use super::load::{Loading, Session, Wanted};
use super::memory::Memory;
use super::pictures::Recording;
use super::reload::ShaderWatch;
use super::stage::Stage;
use super::steer::{Steering, Wish};
use super::{FIRST_SCENE, Request, seen};
use crate::app::cli::InputOptions;
use crate::app::panel::{self, Action, History, Panel, ViewChoice};
use crate::error::{Error, Result};
use crate::force::Budget;
use crate::gpu::{DeviceClass, FrameTimes};
use crate::live::Tempo;
use crate::render::{self, Camera, DevicePoints, Look, PictureSize};
use crate::sim::Settings;

/// What a frame may take of the device while somebody wants the simulation as fast as possible: the
/// window still answers within 50 ms.
const FASTEST: Budget = Budget { dispatch_secs: 0.008, submission_secs: 0.030 };
/// A frame that took longer counts as so long: the computer slept, or the window was hidden.
const LONGEST_FRAME_SECS: f64 = 0.25;

/// Everything that a frame needs.
pub struct Frames {
    pub(super) window: Arc<Window>,
    pub(super) display: winit::event_loop::OwnedDisplayHandle,
    pub(super) stage: Stage,
    pub(super) egui_state: egui_winit::State,
    pub(super) context: egui::Context,
    pub(super) panel: Panel,
    pub(super) view: ViewChoice,
    pub(super) steering: Steering,
    pub(super) session: Option<Session>,
    pub(super) loading: Option<Loading>,
    /// What moments that were asked for are for.
    pub(super) waiting: Vec<Purpose>,
    pub(super) wanted: Wanted,
    pub(super) recording: Option<Recording>,
    pub(super) dialog: Option<egui_file::FileDialog>,
    pub(super) quit: bool,
    pub(super) request: Option<Request>,
    pub(super) start: Start,
    pub(super) look: Option<Look>,
    pub(super) look_of: Option<ViewChoice>,
    pub(super) history: History,
    pub(super) times: Option<FrameTimes>,
    pub(super) message: Option<(String, bool, Instant)>,
    pub(super) dropped: Vec<PathBuf>,
    pub(super) shaders: Option<ShaderWatch>,
    pub(super) memory: Memory,
    pub(super) last: Instant,
    pub(super) begun: Instant,
    pub(super) panel_secs: f64,
    /// When the last new device was made.
    pub(super) recovered: Option<Instant>,
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
        display: winit::event_loop::OwnedDisplayHandle,
        request: Request,
        memory: Memory,
    ) -> Result<Self> {
        let wish = request.engine.adapter.wish();
        let stage = Stage::new(Arc::clone(&window), Box::new(display.clone()), &wish)?;
        let context = egui::Context::default();
        panel::style(&context);
        let egui_state = stage.egui_state(&context);
        let mut view = ViewChoice { style: request.style.clone(), ..ViewChoice::default() };
        if view.style == crate::render::Style::default() {
            memory.give_view(&mut view);
        }
        let engine = request.engine.kind()?;
        let settings = Settings {
            engine,
            adapter: wish,
            kernel: request.engine.kernel.wish(),
            ..Settings::default()
        };
        let wanted = Wanted { steps: request.steps.clone(), settings };
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
            wanted: wanted.clone(),
            recording: None,
            dialog: None,
            quit: false,
            request: None,
            start: Start::from(&request),
            look: None,
            look_of: None,
            history: History::default(),
            times: None,
            message: None,
            dropped: Vec::new(),
            shaders: request.shaders.clone().map(ShaderWatch::new),
            memory,
            last: Instant::now(),
            begun: Instant::now(),
            panel_secs: 0.0,
            recovered: None,
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
        seen::event(event);
        // egui moves its focus with Tab, and what has the focus takes all other keys.
        if let WindowEvent::KeyboardInput { event: key, .. } = event
            && key.logical_key == Key::Named(NamedKey::Tab)
            && !self.context.text_edit_focused()
        {
            if key.state.is_pressed() && !key.repeat {
                self.act(Action::FoldPanel);
            }
            return;
        }
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
            let output = self.show_panel();
            self.steering.pass(secs, self.view.orbit_degrees_per_sec);
            self.draw(output, secs)
        });
        match drawn {
            Err(error @ Error::Device(_)) => self.recover(&error)?,
            // Anything else is a fault of what is asked for, not of the device.
            Err(error) => self.say_error(&error),
            Ok(()) => {}
        }
        seen::frame(self);
        Ok(!self.quit)
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
        let Stage { gpu, canvas, egui, timeline, .. } = stage;
        let (device, queue) = (&gpu.device, &gpu.queue);
        let mut encoder = device.create_command_encoder(&Default::default());
        let frame = session.as_ref().map_or(0, |session| session.live.frame() + 1);
        timeline.begin(&mut encoder, frame);
        let camera = steering.shown(covered, canvas.size());
        canvas.cover(covered as u32);
        if let Some(session) = session {
            let fastest = session.live.keeper().tempo == Tempo::Fastest;
            let budget = if fastest { FASTEST } else { Budget::INTERACTIVE };
            session.live.record(&mut encoder, secs, budget)?;
            timeline.end_part(&mut encoder, "steps");
        }
        let mut painted = Ok(());
        if let Some(target) = &target {
            if let (Some(session), Some(look)) = (&session, &look) {
                let borrowed = render::Gpu { device, queue };
                let points = session.live.points();
                let now = self.begun.elapsed().as_secs_f64();
                let seen = (&camera, look);
                let (view, part) =
                    (&target.view, &mut |encoder: &mut _, part| timeline.end_part(encoder, part));
                // The steps are in this encoder: it is submitted whatever becomes of the picture.
                painted =
                    canvas.paint_in_parts(borrowed, &mut encoder, view, points, seen, now, part);
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
        timeline.end(device, &mut encoder);
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
        painted
    }

    /// What the window shows, for pictures and films.
    pub(super) fn scene_to_draw(&self) -> Option<(DevicePoints<'_>, Camera, &Look)> {
        let session = self.session.as_ref()?;
        Some((session.live.points(), self.steering.camera(), self.look.as_ref()?))
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
