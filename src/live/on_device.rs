//! A simulation on the device of the window: every frame records a bounded slice of it, and diagnostics
//! come back without anybody waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::cadence::Purpose;
use super::mover::{Drawn, FramePart, Mover, Reached};
use super::{Event, Rates, Report};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelRequest, KernelVariant};
use crate::forces::{Budget, Throughput};
use crate::gpu::{BodyBuffers, FrameTimes, Gpu, Readback, layout::VEC4};
use crate::integrate::Integrator;
use crate::sim::{Clock, DeviceState, Diagnosis, Moment, Settings, Work};

/// How far a report has come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reporting {
    Nothing,
    /// Potentials are being computed.
    Potential,
    /// So many of the dispatches of the [`Diagnosis`] are done.
    Summing(u32),
    /// The results are on their way.
    Flying,
}

/// Visits of a body by the kernels of the diagnostics take as long as so many interactions, roughly.
const INTERACTIONS_PER_VISIT: f64 = 16.0;

pub(super) struct OnDevice {
    state: DeviceState,
    clock: Clock,
    ready: bool,
    softening: f64,
    integrator: &'static Integrator,
    shell: Arc<Bodies>,
    reporting: Reporting,
    want_report: bool,
    diagnosis: Diagnosis,
    results: Readback,
    /// Time, steps and softening of the report under way.
    reported: (f64, u64, f64),
    want: Option<Purpose>,
    /// Why the bodies on their way were asked for.
    flying_for: Purpose,
    bodies: Readback,
    /// Time and steps of the bodies on their way.
    copied: (f64, u64),
    /// Work of the frames whose times have not come back.
    flying: VecDeque<(u64, Work)>,
    events: (Sender<Event>, Receiver<Event>),
}

impl OnDevice {
    /// Lists the bodies for the diagnostics: beside the window, not in a frame.
    pub fn new(state: DeviceState, bodies: Bodies, settings: &Settings) -> Result<Self> {
        let diagnosis = pollster::block_on(Diagnosis::new(&state, &bodies))?;
        Ok(Self {
            state,
            clock: Clock::new(settings.start, settings.steps_before, settings.dt),
            ready: false,
            softening: settings.softening,
            integrator: settings.integrator,
            shell: Arc::new(bodies),
            reporting: Reporting::Nothing,
            want_report: false,
            diagnosis,
            results: Readback::default(),
            reported: (0.0, 0, settings.softening),
            want: None,
            flying_for: Purpose::Keep,
            bodies: Readback::default(),
            copied: (0.0, 0),
            flying: VecDeque::new(),
            events: channel(),
        })
    }

    fn compile_again(&mut self, request: &KernelRequest) -> Result<()> {
        let diagnosis = pollster::block_on(Diagnosis::new(&self.state, &self.shell))?;
        self.change_kernel(request, self.softening)?;
        self.diagnosis = diagnosis;
        Ok(())
    }

    fn change_kernel(&mut self, request: &KernelRequest, softening: f64) -> Result<()> {
        pollster::block_on(self.state.change_kernel(request, softening, self.integrator))?;
        if let Reporting::Potential | Reporting::Summing(_) = self.reporting {
            // The new kernel computes them from the start.
            self.reporting = Reporting::Nothing;
            self.want_report = true;
        }
        self.softening = softening;
        self.flying.clear();
        Ok(())
    }

    /// Records what this frame does of the simulation: up to `due` steps of `dt` within `budget`.
    fn record_steps(
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
        if self.state.is_between_steps() {
            // First what can fail: it has recorded nothing then.
            let is_reporting = self.record_report(encoder, budget)?;
            self.copy_if_wanted(encoder);
            if is_reporting {
                return Ok(Work::default());
            }
        }
        // Someone waits for the moment between two steps: begin no other one.
        let wanted = self.want_report && self.reporting == Reporting::Nothing
            || self.want.is_some() && self.bodies.is_idle();
        let due = if wanted { 0 } else { due };
        if due == 0 && self.state.is_between_steps() {
            return Ok(Work::default());
        }
        let work = self.state.record_slice(encoder, dt, due, budget, None);
        self.clock.advance(work.steps);
        if work.dispatches > 0 {
            self.flying.push_back((frame, work));
            while self.flying.len() > 16 {
                self.flying.pop_front();
            }
        }
        Ok(work)
    }

    /// Goes on with the report that is wanted; true while no step may begin.
    fn record_report(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        budget: Budget,
    ) -> Result<bool> {
        if self.reporting == Reporting::Nothing && self.want_report {
            self.want_report = false;
            pollster::block_on(self.state.begin_potential())?;
            pollster::block_on(self.diagnosis.follow(&self.state))?;
            self.reported = (self.clock.time(), self.clock.steps(), self.softening);
            self.reporting = Reporting::Potential;
        }
        if self.reporting == Reporting::Potential {
            if self.state.record_potential(encoder, budget) {
                self.reporting = Reporting::Summing(0);
            }
            return Ok(true);
        }
        let Reporting::Summing(done) = &mut self.reporting else { return Ok(false) };
        let visits =
            self.state.throughput().rate() * budget.submission_secs / INTERACTIONS_PER_VISIT;
        let gpu = self.state.gpu();
        if self.diagnosis.record(gpu, encoder, done, visits as u64) {
            self.results.record(&gpu.device, encoder, &self.diagnosis.results());
            self.reporting = Reporting::Flying;
        }
        Ok(true)
    }

    fn copy_if_wanted(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if !self.bodies.is_idle() {
            return;
        }
        let Some(purpose) = self.want.take() else { return };
        let buffers = self.state.buffers();
        let all = 0..u64::from(buffers.count) * VEC4;
        let copies = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration]
            .map(|buffer| (buffer, all.clone()));
        self.bodies.record(&self.state.gpu().device, encoder, &copies);
        self.flying_for = purpose;
        self.copied = (self.clock.time(), self.clock.steps());
    }

    /// A million bodies take a while: they become f64 beside the window.
    fn widen(&mut self, read: Vec<Vec<[f32; 4]>>, into: &mut Vec<Event>) {
        let (time, steps) = self.copied;
        let frame = self.state.frame().at(time);
        let shell = Arc::clone(&self.shell);
        let (sender, purpose) = (self.events.0.clone(), self.flying_for);
        let work = move || {
            let three = |v: &[f32; 4]| [v[0], v[1], v[2]];
            let mut bodies = (*shell).clone();
            bodies.position = read[0].iter().map(|x| frame.wide_position(three(x))).collect();
            bodies.velocity = read[1].iter().map(|v| frame.wide_velocity(three(v))).collect();
            let acceleration = read[2].iter().map(|a| frame.wide_acceleration(three(a))).collect();
            let moment = Arc::new(Moment { time, steps, bodies, acceleration });
            // Nobody listens any more: the window has gone on to other bodies.
            let _ = sender.send(purpose.event(moment));
        };
        if let Err(error) = std::thread::Builder::new().name("moment".to_owned()).spawn(work) {
            into.push(Event::Failed(Error::Device(format!("no thread for the bodies: {error}"))));
        }
    }
}

impl Mover for OnDevice {
    fn describe(&self) -> String {
        self.state.describe()
    }

    fn record(&mut self, part: FramePart<'_>) -> Result<Work> {
        let FramePart { gpu, encoder, due, dt, budget, number, tracker } = part;
        let work = self.record_steps(encoder, (due, dt), budget, number)?;
        self.ready |= self.state.is_between_steps() || work.steps > 0;
        let Drawn { position_mass, frame, .. } = self.drawn();
        tracker.record(gpu, encoder, position_mass, self.shell.len(), frame);
        Ok(work)
    }

    fn reached(&self) -> Reached {
        Reached { time: self.clock.time(), steps: self.clock.steps(), ready: self.ready }
    }

    fn drawn(&self) -> Drawn<'_> {
        let BodyBuffers { position_mass, velocity, acceleration, .. } = self.state.buffers();
        let frame = self.state.frame_at(self.clock.time());
        Drawn { position_mass, velocity, acceleration, frame }
    }

    fn poll(&mut self, _: &mut Rates, events: &mut Vec<Event>) -> u64 {
        if let Some(read) = self.results.take() {
            self.reporting = Reporting::Nothing;
            let (time, steps, softening) = self.reported;
            events.push(match read {
                Ok(read) => {
                    let diagnostics = self.diagnosis.read(&read, time);
                    Event::Report(Report { time, steps, softening, diagnostics })
                }
                Err(error) => Event::Failed(error),
            });
        }
        match self.bodies.take() {
            Some(Ok(read)) => self.widen(read, events),
            Some(Err(error)) => events.push(Event::Failed(error)),
            None => {}
        }
        events.extend(self.events.1.try_iter());
        // The steps of a frame count when they are recorded.
        0
    }

    fn set_softening(&mut self, request: &KernelRequest, softening: f64) -> Result<()> {
        self.change_kernel(request, softening)
    }

    fn set_kernel(&mut self, _: &Gpu, request: &KernelRequest, softening: f64) -> Result<()> {
        self.change_kernel(request, softening)
    }

    fn ask_report(&mut self) {
        self.want_report = true;
    }

    fn ask_bodies(&mut self, purpose: Purpose) {
        if self.want != Some(Purpose::Answer) {
            self.want = Some(purpose);
        }
    }

    fn submitted(&mut self) {
        self.results.submitted();
        self.bodies.submitted();
    }

    fn variant(&self) -> Option<KernelVariant> {
        self.state.variant()
    }

    fn recompile(&mut self, request: &KernelRequest) -> Result<()> {
        self.compile_again(request)
    }

    fn learn(&mut self, times: &FrameTimes) -> Option<(Work, f64)> {
        let secs = times.secs("steps")?;
        let at = self.flying.iter().position(|(number, _)| *number == times.number)?;
        let (_, work) = self.flying.drain(..=at).next_back()?;
        self.state.learn(work, secs);
        Some((work, secs))
    }

    fn throughput(&self) -> Option<Throughput> {
        Some(*self.state.throughput())
    }

    fn learn_rate(&mut self, interactions_per_sec: f64) {
        self.state.learn_rate(interactions_per_sec);
    }
}
