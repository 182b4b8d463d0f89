//! A simulation on the window's device: every frame records a bounded slice of it, and diagnostics
//! are read back asynchronously.

use std::collections::VecDeque;
use std::sync::Arc;

use super::background::Background;
use super::cadence::{CopyPurpose, Reporting};
use super::command::{Changed, KernelChange};
use super::moves::{Drawn, FrameSlice, Moves, Reached};
use super::{Event, Rates, Report};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::KernelVariant;
use crate::forces::{Budget, Throughput};
use crate::frame::Frame;
use crate::gpu::{BodyBuffers, FrameTimes, Gpu, Readback, fine, layout::VEC4};
use crate::sim::{Clock, CompiledKernel, DeviceState, Diagnosis, Settings, State, Work};

/// Cost of a body's visit by the diagnostics' kernels, in interactions.
const INTERACTIONS_PER_VISIT: f64 = 16.0;

pub(super) struct LiveOnDevice {
    state: DeviceState,
    clock: Clock,
    ready: bool,
    /// Ids, masses and components of the bodies, which stay on the host.
    host_fields: Arc<Bodies>,
    reporting: Reporting,
    report_requested: bool,
    /// None until compiled.
    diagnosis: Option<Diagnosis>,
    results: Readback,
    /// Time, steps and softening of the report in progress.
    reported: (f64, u64, f64),
    bodies_requested: Option<CopyPurpose>,
    /// The purpose of the bodies that are being read back.
    readback_purpose: CopyPurpose,
    bodies: Readback,
    /// Time, steps and softening of the bodies that are being read back.
    copied: (f64, u64, f64),
    /// Frames whose times have not come back: their numbers and work.
    in_flight: VecDeque<(u64, Work)>,
    /// Bodies that have been read back and are being converted to f64.
    widening: Vec<Background<Event>>,
    changing: Option<Changing>,
    /// The reports' kernels, compiled during the first steps.
    preparing: Option<Background<CompiledSimulation>>,
    /// The reports' kernels once compiled. They are put into use between two steps: a force in
    /// progress would start over.
    prepared: Option<CompiledSimulation>,
    /// The last change requested while another one is being compiled.
    next_change: Option<KernelChange>,
}

/// A change that is not in effect yet.
enum Changing {
    /// The kernels stay; it takes effect once the energy has been reported.
    Softening(f64),
    Compiling(Background<CompiledSimulation>),
}

/// Kernels for the simulation and its reports.
struct CompiledSimulation {
    kernel: CompiledKernel,
    diagnosis: Diagnosis,
}

impl LiveOnDevice {
    /// Puts the bodies on the device and compiles the kernels. A browser may take seconds for a
    /// kernel, so in a page the reports' kernels are compiled in the background, after the first
    /// picture.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceState::begin`].
    pub async fn open(gpu: Arc<Gpu>, bodies: Bodies, settings: &Settings) -> Result<Self> {
        let mut state = DeviceState::begin(gpu, &bodies, None, settings).await?;
        let mut diagnosis = None;
        if cfg!(not(target_arch = "wasm32")) {
            state.make_potential().await?;
            let (buffers, sums) = (state.buffers(), state.potential_sums());
            let frame = *state.frame();
            diagnosis = Some(
                Diagnosis::new(state.gpu(), buffers, (frame, state.field()), sums, &bodies).await?,
            );
        }
        let mut opened = Self {
            state,
            clock: Clock::new(settings.start, settings.steps_before, settings.dt),
            ready: false,
            host_fields: Arc::new(bodies),
            reporting: Reporting::Nothing,
            report_requested: false,
            diagnosis,
            results: Readback::default(),
            reported: (0.0, 0, settings.softening),
            bodies_requested: None,
            readback_purpose: CopyPurpose::Checkpoint,
            bodies: Readback::default(),
            copied: (0.0, 0, settings.softening),
            widening: Vec::new(),
            in_flight: VecDeque::new(),
            changing: None,
            preparing: None,
            prepared: None,
            next_change: None,
        };
        if opened.diagnosis.is_none() {
            let (kernel, softening) = (settings.kernel, settings.softening);
            let what = Changed::Shaders;
            opened.preparing = Some(opened.compile(KernelChange { kernel, softening, what })?);
        }
        Ok(opened)
    }

    /// The coordinate frame of a simulation's first state.
    pub fn frame(&self) -> Frame {
        *self.state.frame()
    }

    fn compile(&self, change: KernelChange) -> Result<Background<CompiledSimulation>> {
        let KernelChange { kernel, softening, what } = change;
        let next = self.state.next_kernel(&kernel, softening)?;
        let known = self.diagnosis.clone().filter(|_| what != Changed::Shaders);
        let (host_fields, frame) = (Arc::clone(&self.host_fields), *self.state.frame());
        Background::start("compiling", move || async move {
            let kernel = next.compile().await?;
            let (gpu, buffers, potentials) = (next.gpu(), next.buffers(), kernel.potential_sums());
            let diagnosis = match known {
                Some(known) => known.with_potentials(gpu, buffers, potentials).await?,
                None => {
                    Diagnosis::new(gpu, buffers, (frame, next.field()), potentials, &host_fields)
                        .await?
                }
            };
            Ok(CompiledSimulation { kernel, diagnosis })
        })
    }

    /// Puts compiled kernels into use. If the softening is new, a report follows, as the energy
    /// depends on it.
    fn take_compiled(&mut self, compiled: CompiledSimulation) {
        self.prepared = None;
        let CompiledSimulation { kernel, diagnosis } = compiled;
        self.report_requested |= self.state.take_kernel(kernel);
        self.diagnosis = Some(diagnosis);
        self.in_flight.clear();
    }

    /// Records this frame's slice: up to `due` steps of `dt` within `budget`.
    fn record_steps(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        (due, dt): (u64, f64),
        budget: Budget,
        frame: u64,
    ) -> Work {
        // A step in progress is completed with the old dt; the clock changes to the new one after
        // it.
        let is_new = dt != self.clock.dt();
        let (due, dt) =
            if is_new && !self.state.is_between_steps() { (0, self.clock.dt()) } else { (due, dt) };
        if dt != self.clock.dt() {
            self.clock.set_dt(dt);
        }
        if self.state.is_between_steps() {
            if let Some(prepared) = self.prepared.take() {
                let softening = self.state.softening();
                self.take_compiled(prepared);
                // It may have changed since these kernels were requested.
                self.state.set_softening(softening);
            }
            let is_reporting = self.record_report(encoder, budget);
            self.copy_if_requested(encoder);
            if is_reporting {
                return Work::default();
            }
        }
        // Reports, prepared kernels and copies of the bodies need a complete step: begin no other
        // one.
        let reports = self.report_requested && self.diagnosis.is_some();
        let must_pause = reports && self.reporting == Reporting::Nothing
            || self.prepared.is_some()
            || self.bodies_requested.is_some() && self.bodies.is_idle();
        let due = if must_pause { 0 } else { due };
        if due == 0 && self.state.is_between_steps() {
            return Work::default();
        }
        let work = self.state.record_slice(encoder, dt, due, budget, None);
        self.clock.advance(work.steps);
        if work.dispatches > 0 {
            self.in_flight.push_back((frame, work));
            while self.in_flight.len() > 16 {
                self.in_flight.pop_front();
            }
        }
        work
    }

    /// Begins or continues a requested report; returns true while no step may begin.
    fn record_report(&mut self, encoder: &mut wgpu::CommandEncoder, budget: Budget) -> bool {
        // The report waits for its kernels.
        let Some(diagnosis) = &self.diagnosis else { return false };
        if self.reporting == Reporting::Nothing && std::mem::take(&mut self.report_requested) {
            self.state.begin_potential();
            self.reported = (self.clock.time(), self.clock.steps(), self.state.softening());
            self.reporting = Reporting::Potential;
        }
        if self.reporting == Reporting::Potential {
            if self.state.record_potential(encoder, budget) {
                self.reporting = Reporting::Summing(0);
            }
            return true;
        }
        let Reporting::Summing(done) = &mut self.reporting else { return false };
        let visits =
            self.state.throughput().rate() * budget.submission_secs / INTERACTIONS_PER_VISIT;
        let gpu = self.state.gpu();
        if diagnosis.record(gpu, encoder, done, visits as u64) {
            self.results.record(&gpu.device, encoder, &diagnosis.results());
            self.reporting = Reporting::Reading;
        }
        true
    }

    /// Whether a report is pending or in progress and can be completed without another step.
    fn awaits_report(&self) -> bool {
        let is_pending = self.report_requested || self.reporting != Reporting::Nothing;
        is_pending && self.diagnosis.is_some() && self.state.is_between_steps()
    }

    fn copy_if_requested(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if !self.bodies.is_idle() {
            return;
        }
        let Some(purpose) = self.bodies_requested.take() else { return };
        let buffers = self.state.buffers();
        let all = 0..u64::from(buffers.count) * VEC4;
        let copies = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration]
            .map(|buffer| (buffer, all.clone()));
        self.bodies.record(&self.state.gpu().device, encoder, &copies);
        self.readback_purpose = purpose;
        self.copied = (self.clock.time(), self.clock.steps(), self.state.softening());
    }

    /// Converts bodies to f64 in the background, as millions take long.
    fn widen(&mut self, read: Vec<Vec<[f32; 4]>>) -> Result<()> {
        let (time, steps, softening) = self.copied;
        let frame = self.state.frame().at(time);
        let (host_fields, purpose) = (Arc::clone(&self.host_fields), self.readback_purpose);
        let work = move || async move {
            let three = |v: &[f32; 4]| [v[0], v[1], v[2]];
            let mut bodies = (*host_fields).clone();
            let fine = ((read[0].iter().zip(&read[1])).zip(&read[2]))
                .map(|((x, v), a)| fine::join(three(x), three(v), a[3]))
                .map(|(x, v)| (frame.exact_position(x).0, frame.exact_velocity(v).0));
            (bodies.position, bodies.velocity) = fine.unzip();
            let acceleration = read[2].iter().map(|a| frame.wide_acceleration(three(a))).collect();
            Ok(purpose.event(Arc::new(State { time, steps, bodies, acceleration, softening })))
        };
        self.widening.push(Background::start("the bodies", work)?);
        Ok(())
    }
}

impl Moves for LiveOnDevice {
    fn describe(&self) -> String {
        self.state.describe()
    }

    fn record(&mut self, slice: FrameSlice<'_>) -> Result<Work> {
        let FrameSlice { gpu, encoder, due, dt, budget, number, tracker } = slice;
        let work = match self.changing {
            // The old kernel does not finish the step in progress, but it does complete a pending
            // report.
            Some(_) => {
                let _ = self.awaits_report() && self.record_report(encoder, budget);
                Work::default()
            }
            None => self.record_steps(encoder, (due, dt), budget, number),
        };
        self.ready |= self.state.is_between_steps() || work.steps > 0;
        let Drawn { position_mass, frame, .. } = self.drawn();
        tracker.record(gpu, encoder, position_mass, self.host_fields.len(), frame);
        Ok(work)
    }

    fn reached(&self) -> Reached {
        let (time, steps) = (self.clock.time(), self.clock.steps());
        let drawn_after = self.state.is_between_steps().then_some(steps);
        Reached { time, steps, ready: self.ready, drawn_after }
    }

    fn is_busy(&self) -> bool {
        let is_pending =
            self.report_requested || self.bodies_requested.is_some() || !self.widening.is_empty();
        let is_reporting = self.reporting != Reporting::Nothing;
        is_pending || is_reporting || !self.state.is_between_steps() || !self.bodies.is_idle()
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
            match (read, &self.diagnosis) {
                (Ok(read), Some(diagnosis)) => {
                    let diagnostics = diagnosis.read(&read, time);
                    events.push(Event::Report(Report { time, steps, softening, diagnostics }));
                }
                // Without kernels there is nothing to read.
                (Ok(_), None) => {}
                (Err(error), _) => events.push(Event::Failed(error)),
            }
        }
        match self.bodies.take() {
            Some(Ok(read)) => events.extend(self.widen(read).err().map(Event::Failed)),
            Some(Err(error)) => events.push(Event::Failed(error)),
            None => {}
        }
        self.widening.retain(|widening| match widening.take() {
            Some(made) => {
                events.push(made.unwrap_or_else(Event::Failed));
                false
            }
            None => true,
        });
        if let Some(made) = self.preparing.as_ref().and_then(Background::take) {
            self.preparing = None;
            let is_compiling = matches!(self.changing, Some(Changing::Compiling(_)));
            let is_needed = !is_compiling && self.diagnosis.is_none();
            match made {
                // A change brings its own reports' kernels.
                Ok(made) => self.prepared = is_needed.then_some(made),
                Err(error) => events.push(Event::Failed(error)),
            }
        }
        // The steps of a frame count as done when recorded.
        0
    }

    /// Of several changes requested while kernels are being compiled, only the last one is compiled
    /// next.
    fn change(&mut self, _: &Gpu, change: KernelChange) -> Result<()> {
        let is_softening = change.what == Changed::Softening;
        if let Some(Changing::Compiling(_)) = self.changing {
            // Returns the error of an impossible change at once.
            self.state.next_kernel(&change.kernel, change.softening)?;
            let before = self.next_change.map_or(change.what, |before| before.what);
            self.next_change = Some(KernelChange { what: change.what.max(before), ..change });
            return Ok(());
        }
        self.report_requested |= is_softening && self.changing.is_none();
        self.changing = Some(match is_softening && self.state.kernel_takes(change.softening) {
            true => Changing::Softening(change.softening),
            false => Changing::Compiling(self.compile(change)?),
        });
        Ok(())
    }

    fn request_report(&mut self) {
        self.report_requested = true;
    }

    fn request_bodies(&mut self, purpose: CopyPurpose) {
        purpose.request(&mut self.bodies_requested);
    }
}

/// Methods that only this driver has.
impl LiveOnDevice {
    /// Whether a change is not in effect yet; meanwhile nothing moves.
    pub fn is_changing(&self) -> bool {
        self.changing.is_some()
    }

    /// The result of a change, once. After an error nothing is changed.
    pub fn take_change(&mut self) -> Option<Result<()>> {
        // The energy before a change of softening must be reported first: the jump is the
        // difference.
        if self.awaits_report() {
            return None;
        }
        let changed = match self.changing.as_ref()? {
            Changing::Softening(softening) => {
                self.report_requested |= self.state.set_softening(*softening);
                Ok(())
            }
            Changing::Compiling(task) => {
                let made = task.take()?;
                made.map(|compiled| self.take_compiled(compiled))
            }
        };
        self.changing = None;
        match self.next_change.take() {
            // The later request determines the result.
            Some(next) => {
                // Kernels that did not compile are not in use: the later request repeats theirs.
                let least = if changed.is_err() { Changed::Kernel } else { next.what };
                let next = KernelChange { what: next.what.max(least), ..next };
                let gpu = Arc::clone(self.state.gpu());
                self.change(&gpu, next).err().map(Err)
            }
            None => Some(changed),
        }
    }

    /// Call after the frame's submission.
    pub fn submitted(&mut self) {
        self.results.submitted();
        self.bodies.submitted();
    }

    /// The all-pairs kernel in use, if any.
    pub fn variant(&self) -> Option<KernelVariant> {
        self.state.variant()
    }

    /// Takes in how long an earlier frame's steps took; returns its work and the seconds.
    pub fn learn(&mut self, times: &FrameTimes) -> Option<(Work, f64)> {
        let secs = times.secs("steps")?;
        let at = self.in_flight.iter().position(|(number, _)| *number == times.number)?;
        let (_, work) = self.in_flight.drain(..=at).next_back()?;
        self.state.learn(work, secs);
        Some((work, secs))
    }

    /// The throughput that determines the size of its slices.
    pub fn throughput(&self) -> Throughput {
        *self.state.throughput()
    }

    /// Sets the rate of that throughput.
    pub fn learn_rate(&mut self, interactions_per_sec: f64) {
        self.state.learn_rate(interactions_per_sec);
    }
}
