//! A simulation on the device of the window: every frame records a bounded slice of it, and diagnostics
//! come back without anybody waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use glam::DVec3;

use super::{Event, Report};
use crate::bodies::Bodies;
use crate::diagnostics::diagnose;
use crate::error::{Error, Result};
use crate::force::{Budget, KernelWish, Progress};
use crate::gpu::{Gpu, Readback, layout::VEC4};
use crate::sim::{Clock, DeviceState, Moment, Settings, Work, add_potentials};

/// The parts of the potentials and of their way back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asking {
    Nothing,
    /// Potentials are being computed, before the bodies are read.
    Potential(Progress),
    /// Bodies (and potentials, if `report`) are to be copied at the end of this frame.
    Copy {
        report: bool,
    },
    /// They are on their way.
    Flying {
        report: bool,
    },
}

pub(super) struct OnDevice {
    pub state: DeviceState,
    pub clock: Clock,
    pub interactions: u64,
    softening: f64,
    integrator: String,
    shell: Arc<Bodies>,
    asking: Asking,
    want_report: bool,
    want_moment: bool,
    readback: Readback,
    /// Time, steps and softening of the copy on its way.
    copied: (f64, u64, f64),
    /// Work of the frames whose times have not come back.
    flying: VecDeque<(u64, Work)>,
    reports: (Sender<Event>, Receiver<Event>),
}

impl OnDevice {
    pub fn new(state: DeviceState, bodies: Bodies, settings: &Settings) -> Self {
        Self {
            state,
            clock: Clock::new(settings.start, settings.steps_before, settings.dt),
            interactions: 0,
            softening: settings.softening,
            integrator: settings.integrator.clone(),
            shell: Arc::new(bodies),
            asking: Asking::Nothing,
            want_report: false,
            want_moment: false,
            readback: Readback::default(),
            copied: (0.0, 0, settings.softening),
            flying: VecDeque::new(),
            reports: channel(),
        }
    }

    pub fn change_kernel(&mut self, wish: &KernelWish, softening: f64) -> Result<()> {
        pollster::block_on(self.state.change_kernel(wish, softening, &self.integrator))?;
        if let Asking::Potential(_) = self.asking {
            // The new kernel computes them from the start.
            self.asking = Asking::Nothing;
            self.want_report = true;
        }
        self.softening = softening;
        self.flying.clear();
        Ok(())
    }

    pub fn ask_report(&mut self) {
        self.want_report = true;
    }

    pub fn ask_moment(&mut self) {
        self.want_moment = true;
    }

    /// Records what this frame does of the simulation: up to `due` steps of `dt` within `budget`.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        (due, dt): (u64, f64),
        budget: Budget,
        frame: u64,
    ) -> Result<Work> {
        // A step that was begun ends with its own dt, and so does the clock; then comes the new one.
        let is_changing = dt != self.clock.dt();
        let (due, dt) = if is_changing && !self.state.is_between_steps() {
            (0, self.clock.dt())
        } else {
            (due, dt)
        };
        if dt != self.clock.dt() {
            self.clock.set_dt(dt);
        }
        let is_free = self.asking == Asking::Nothing && self.readback.is_idle();
        if is_free && self.state.is_between_steps() {
            if self.want_report {
                self.want_report = false;
                pollster::block_on(self.state.bind_potential())?;
                self.asking = Asking::Potential(Progress::default());
            } else if self.want_moment {
                self.want_moment = false;
                self.asking = Asking::Copy { report: false };
            }
        }
        if let Asking::Potential(progress) = &mut self.asking {
            if self.state.record_potential(encoder, progress, budget) {
                self.asking = Asking::Copy { report: true };
            }
            self.copy_if_due(encoder);
            return Ok(Work::default());
        }
        self.copy_if_due(encoder);
        // Someone waits for the moment between two steps: begin no other one.
        let wanted = is_free && (self.want_report || self.want_moment);
        let due = if wanted { 0 } else { due };
        if due == 0 && self.state.is_between_steps() {
            return Ok(Work::default());
        }
        let work = self.state.record_slice(encoder, dt, due, budget, None);
        self.clock.advance(work.steps);
        self.interactions += work.interactions;
        if work.dispatches > 0 {
            self.flying.push_back((frame, work));
            while self.flying.len() > 16 {
                self.flying.pop_front();
            }
        }
        Ok(work)
    }

    fn copy_if_due(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let Asking::Copy { report } = self.asking else { return };
        let buffers = self.state.buffers();
        let all = u64::from(buffers.count) * VEC4;
        let sums = all * u64::from(self.state.config().s);
        let mut copies = vec![
            (&buffers.position_mass, 0..all),
            (&buffers.velocity, 0..all),
            (&buffers.acceleration, 0..all),
        ];
        if report {
            copies.push((self.state.partial_sums(), 0..sums));
        }
        self.readback.record(&self.state.gpu().device, encoder, &copies);
        self.copied = (self.clock.time(), self.clock.steps(), self.softening);
        self.asking = Asking::Flying { report };
    }

    /// Call after the frame's submission.
    pub fn submitted(&mut self) {
        self.readback.submitted();
    }

    /// Takes in how long the steps of a frame took on the device.
    pub fn learn(&mut self, frame: u64, secs: f64) -> Option<Work> {
        let at = self.flying.iter().position(|(number, _)| *number == frame)?;
        let (_, work) = self.flying.drain(..=at).next_back()?;
        self.state.learn(work, secs);
        Some(work)
    }

    /// What has come back.
    pub fn take_events(&mut self, into: &mut Vec<Event>) {
        if let (Asking::Flying { report }, Some(read)) = (self.asking, self.readback.take()) {
            self.asking = Asking::Nothing;
            match read {
                Ok(read) => self.digest(read, report, into),
                Err(error) => into.push(Event::Failed(error)),
            }
        }
        into.extend(self.reports.1.try_iter());
    }

    /// Sums over all bodies take a while: they are done beside the window.
    fn digest(&mut self, mut read: Vec<Vec<[f32; 4]>>, report: bool, into: &mut Vec<Event>) {
        let (time, steps, softening) = self.copied;
        let shell = Arc::clone(&self.shell);
        let (sender, wanted) = (self.reports.0.clone(), !report);
        let work = move || {
            let sums = if report { read.pop() } else { None };
            let widen = |v: &[f32; 4]| DVec3::new(v[0].into(), v[1].into(), v[2].into());
            let mut bodies = (*shell).clone();
            bodies.position = read[0].iter().map(widen).collect();
            bodies.velocity = read[1].iter().map(widen).collect();
            let acceleration = read[2].iter().map(widen).collect();
            let moment = Arc::new(Moment { time, steps, bodies, acceleration });
            let event = match sums {
                None => Event::Moment(moment),
                Some(sums) => {
                    let potential = add_potentials(&sums, moment.bodies.len());
                    match diagnose(&moment.bodies, &potential) {
                        Ok(diagnostics) => {
                            Event::Report(Report { time, steps, softening, diagnostics, moment })
                        }
                        Err(error) => Event::Failed(error),
                    }
                }
            };
            // Nobody listens any more: the window has gone on to other bodies.
            let _ = sender.send(event);
        };
        let name = if wanted { "moment" } else { "report" };
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
            into.push(Event::Failed(Error::Device(format!("no thread for diagnostics: {error}"))));
        }
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        self.state.gpu()
    }
}
