//! A measuring session: one adapter or none, the CPU engine, and the records so far.

use std::sync::Arc;

use crate::wall_clock::Instant;

use super::figures::CEILINGS;
use super::machine::{MACHINE, Machine, MachineState};
use super::names::{cpu_device, plain};
use super::points::{Candidate, DerivativesCase, EngineTier, FigurePoint};
use super::record::{Record, RecordKind, RecordedDevice, Run, rounded};
use super::sizes::BenchSizes;
use super::steps::{Going, of_kernel};
use super::{DirectFacts, FigurePlan};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, tiers};
use crate::forces::{ForceEngine, Forces, Order, Precision};
use crate::gpu::{DeviceClass, Gpu, blocking};
use crate::inspect::Inspector;
use crate::measure::time::problem::{Problem, SOFTENING};
use crate::measure::{
    Ceiling, Ceilings, ErrorStats, KernelTimer, Steadiness, Summary, Timer, grouped,
};
use crate::sim::EngineKind;
use crate::tuned::KnownResults;

/// The least time assumed for a figure, since compilation takes part of it too.
const LEAST_SECS: f64 = 3.0;

/// A figure continues with its next size until it has taken this many times its budget.
const PATIENCE: f64 = 2.5;

/// Shortest time of a sample from the host, and the most evaluations in it.
const SAMPLE_SECS: f64 = 5e-3;
const MOST_REPEATS: f64 = 10_000.0;

/// Interactions of a first evaluation with derivatives, if no rate is known.
const TRIAL: f64 = 3e7;

/// Keeps records, for instance in a file.
pub type Keep<'a> = dyn FnMut(&[Record]) -> Result<()> + 'a;

/// A measuring session: one adapter or none, the CPU engine, and the records so far.
pub struct BenchSession<'a> {
    /// The adapter, if there is one.
    pub gpu: Option<Arc<Gpu>>,
    /// Further adapters that share the bodies, in the figure of several devices.
    pub others: Vec<Arc<Gpu>>,
    /// Whether the CPU engines are measured too.
    pub cpu: bool,
    /// How much is measured.
    pub sizes: BenchSizes,
    /// Stored results of tuning; empty unless the caller looks them up.
    pub known: KnownResults,
    /// All records, in order.
    pub records: Vec<Record>,
    /// The compiler for a GPU that need not be present, or why there is none. Making one sets
    /// environment variables, so a program does it before starting threads.
    pub absent: Result<Inspector, String>,
    going: &'a mut Going<'a>,
    /// Called with all records after each measurement of a long figure.
    pub keep: Option<Box<Keep<'a>>>,
    ceilings: Option<Ceilings>,
    /// The best rate observed, for predicting how long a size will take.
    gpu_rate: f64,
    cpu_rate: f64,
    stopped: bool,
    /// The steps of the present figure, and how many have begun.
    steps: usize,
    begun: usize,
    /// The fields common to all records.
    pub run: Run,
    machine: Option<Machine>,
    /// A remark on the machine by the user.
    pub remark: Option<String>,
    /// A kernel shape that is measured in addition to the default, if requested.
    pub added: KernelRequest,
}

impl<'a> BenchSession<'a> {
    /// A session on `gpu`, or on the CPU alone. `going` is called with the fraction of the figure
    /// that is done; once it returns false, the session stops, and results so far stay.
    pub fn new(gpu: Option<Arc<Gpu>>, sizes: BenchSizes, going: &'a mut Going<'a>) -> Self {
        Self {
            gpu,
            others: Vec::new(),
            cpu: true,
            sizes,
            known: KnownResults::default(),
            records: Vec::new(),
            absent: Err("no compiler for an absent GPU was requested".to_owned()),
            going,
            keep: None,
            ceilings: None,
            gpu_rate: 0.0,
            cpu_rate: 0.0,
            stopped: false,
            steps: 1,
            begun: 0,
            run: Run::begin(None),
            machine: None,
            remark: None,
            added: KernelRequest::default(),
        }
    }

    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The shape that the program chooses for `n` sinks and `m` sources, with some parameters
    /// fixed; `None` without a GPU, and if the adapter cannot run it.
    pub fn kernel(&self, request: &KernelRequest, n: usize, m: usize) -> Option<KernelConfig> {
        self.plan().kernel(request, n, m)
    }

    /// What the points of figures of kernels depend on.
    pub fn plan(&self) -> FigurePlan<'_> {
        FigurePlan { gpu: self.gpu.as_deref(), sizes: &self.sizes, added: self.added }
    }

    /// Begins a figure, or a part of it, of this many [steps](Self::step).
    pub(super) fn expect(&mut self, steps: usize) {
        (self.steps, self.begun) = (steps.max(1), 0);
    }

    /// Begins the next step.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] once the user wants to stop.
    pub(super) fn step(&mut self, doing: &str) -> Result<()> {
        self.begun += 1;
        self.progress(0.0, doing)
    }

    /// Reports that this fraction of the present step is done.
    ///
    /// # Errors
    ///
    /// Those of [`BenchSession::step`].
    pub(super) fn progress(&mut self, fraction: f64, doing: &str) -> Result<()> {
        let done = self.begun.saturating_sub(1) as f64 + fraction;
        self.stopped |= !(self.going)(done / self.steps as f64, doing);
        if self.stopped { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Adds a record that `measure` completes. A failure is recorded as skipped, with the reason.
    ///
    /// # Errors
    ///
    /// The device failed; [`Error::Stopped`]; the records cannot be stored.
    pub(super) fn attempt(
        &mut self,
        mut record: Record,
        measure: impl FnOnce(&mut Self, &mut Record) -> Result<()>,
    ) -> Result<()> {
        match measure(self, &mut record) {
            Ok(()) => (),
            Err(error) if is_fatal(&error) => return Err(error),
            Err(error) => record = record.skipped(&error.to_string()),
        }
        self.records.push(record);
        match &mut self.keep {
            Some(keep) => keep(&self.records),
            None => Ok(()),
        }
    }

    /// The adapter's ceilings, measured and recorded the first time.
    pub fn ceilings(&mut self) -> Result<Option<Ceilings>> {
        let Some(gpu) = self.gpu.clone().filter(|_| self.ceilings.is_none()) else {
            return Ok(self.ceilings);
        };
        let going = &mut *self.going;
        let mut before = |ceiling: Ceiling| going(0.0, ceiling.title());
        let found = blocking(Ceilings::measure(&gpu, self.sizes.effort, &mut before))?;
        if found.len() < Ceiling::ALL.len() {
            self.stopped = true;
        }
        for samples in &found {
            let blank = self.on_adapter(CEILINGS, samples.ceiling.title(), RecordKind::Ceiling);
            self.records.push(blank.of_ceiling(samples));
        }
        self.ceilings = Some(Ceilings::on(&gpu, &found));
        Ok(self.ceilings)
    }

    /// Reads the machine's state: before the first figure, and after each, while the device is
    /// still warm. There is one record of it, always up to date.
    pub fn look_at_machine(&mut self) {
        let gpu = self.gpu.as_deref();
        let machine = match self.machine.take() {
            None => Machine { remark: self.remark.clone(), ..Machine::read(gpu) },
            Some(machine) => {
                Machine { after: Some(MachineState::read(gpu.map(|gpu| &gpu.adapter))), ..machine }
            }
        };
        let record = machine.record(self.on_adapter(MACHINE, MACHINE, RecordKind::Machine));
        self.machine = Some(machine);
        match self.records.iter_mut().find(|known| known.kind == RecordKind::Machine) {
            Some(known) => *known = record,
            None => self.records.push(record),
        }
    }

    /// The engines and precisions available here, the CPU's last. Those that the adapter does not
    /// have are recorded as skipped, with the reason.
    pub(super) fn tiers(&mut self, figure: &str) -> Result<Vec<EngineTier>> {
        let mut found = Vec::new();
        if let Some(gpu) = self.gpu.clone() {
            for (precision, _) in Precision::ALL {
                let tier = EngineTier { kind: EngineKind::Gpu, precision };
                match tiers::verdict(&gpu, precision)? {
                    Ok(_) => found.push(tier),
                    Err(reason) => {
                        let record = self.tier_record(figure, &tier.name(), tier);
                        let reason = format!("{} {reason}", gpu.adapter.name);
                        self.records.push(record.skipped(&reason));
                    }
                }
            }
        }
        if self.cpu {
            found.push(EngineTier { kind: EngineKind::Cpu, precision: Precision::Double });
        }
        Ok(found)
    }

    /// A record of the CPU, without measurements yet.
    pub(super) fn blank(&self, figure: &str, series: &str) -> Record {
        self.run.record(cpu_device(), figure, series)
    }

    /// A record of the adapter, if there is one.
    pub(super) fn on_adapter(&self, figure: &str, series: &str, kind: RecordKind) -> Record {
        let device =
            self.gpu.as_ref().map_or_else(cpu_device, |gpu| RecordedDevice::of(&gpu.adapter));
        Record { kind, ..self.run.record(device, figure, series) }
    }

    /// A record of an engine.
    pub(super) fn tier_record(&self, figure: &str, series: &str, tier: EngineTier) -> Record {
        match tier.kind {
            EngineKind::Gpu => self.on_adapter(figure, series, RecordKind::Forces),
            _ => self.blank(figure, series),
        }
    }

    fn of_point(&self, figure: &str, point: &FigurePoint) -> Record {
        let blank = match point.candidate.is_on_cpu() {
            true => self.blank(figure, &point.series),
            false => self.on_adapter(figure, &point.series, RecordKind::Forces),
        };
        if let Candidate::Kernel(config) = point.candidate {
            return of_kernel(blank, point, config, self.ceilings.as_ref());
        }
        let mut record = Record { x: point.x, ..blank.sized(point.sinks, point.sources) };
        if let Some(DerivativesCase { tier, order, potential, resend }) =
            point.candidate.derivatives()
        {
            record.kind = RecordKind::Derivatives;
            let sent = if *resend { "sources sent each time" } else { "sources stay" };
            record.method = format!("wall clock, from host to host, {sent}");
            record.direct = Some(DirectFacts {
                engine: tier.kind.name().to_owned(),
                precision: tier.precision.name().to_owned(),
                order: order.name().to_owned(),
                potential: *potential,
                rms_jerk: None,
                rms_snap: None,
            });
        }
        record
    }

    fn skip(&mut self, figure: &str, point: &FigurePoint, reason: &str) {
        let record = self.of_point(figure, point).skipped(reason);
        self.records.push(record);
    }

    /// Times all points of a figure within `budget_secs`, or a few times that if it takes more.
    /// Points of one size are timed in turn, but the CPU engine separately from a GPU, whose clock
    /// drops while it is idle (an H200's by a fifth). Points that cannot be measured are recorded
    /// as skipped, with the reason; those of a device that is not measured are left out.
    ///
    /// # Errors
    ///
    /// The device failed; [`Error::Stopped`].
    pub fn sweep(&mut self, figure: &str, points: &[FigurePoint], budget_secs: f64) -> Result<()> {
        let is_measured = |point: &&FigurePoint| match point.candidate.is_on_cpu() {
            true => self.cpu,
            false => self.gpu.is_some(),
        };
        let points: Vec<&FigurePoint> = points.iter().filter(is_measured).collect();
        // For the model's prediction in each record.
        if points.iter().any(|point| matches!(point.candidate, Candidate::Kernel(_))) {
            self.ceilings()?;
        }
        let has_clock =
            self.gpu.as_ref().is_some_and(|gpu| gpu.adapter.class != DeviceClass::Software);
        let groups = grouped(points.into_iter().map(|point| {
            let apart = has_clock && point.candidate == Candidate::Cpu;
            ((point.sinks, point.sources, apart), point)
        }));
        let budget = budget_secs / groups.len().max(1) as f64;
        self.expect(groups.len());
        let begun = Instant::now();
        let mut engines = Engines::default();
        for ((sinks, sources, _), points) in &groups {
            let doing = format!("{sinks} x {sources}");
            self.step(&doing)?;
            // A device far slower than expected must not block its user indefinitely.
            let most = PATIENCE * budget_secs.max(LEAST_SECS);
            if begun.elapsed().as_secs_f64() > most {
                for point in points {
                    let reason = format!("the figure had taken {most:.0} s by then");
                    self.skip(figure, point, &reason);
                }
                continue;
            }
            self.group(figure, points, budget, &doing, &mut engines)?;
        }
        Ok(())
    }

    /// Times the points of one size.
    fn group(
        &mut self,
        figure: &str,
        points: &[&FigurePoint],
        budget: f64,
        doing: &str,
        engines: &mut Engines,
    ) -> Result<()> {
        let (sinks, sources) = (points[0].sinks, points[0].sources);
        let work = sinks as f64 * sources as f64;
        let begun = Instant::now();
        let mut possible = Vec::new();
        for &point in points {
            self.progress(0.0, doing)?;
            match self.why_too_long(&point.candidate, work, engines)? {
                Some(reason) => self.skip(figure, point, &reason),
                None => possible.push(point),
            }
        }
        let Some(order) = possible.iter().map(|point| point.candidate.order()).max() else {
            return Ok(());
        };
        let problem = match possible[0].candidate {
            Candidate::Derivatives(_) => Problem::moving(sinks, sources, order)?,
            _ => Problem::new(sinks, sources)?,
        };
        let mut bench = SizeBench { problem, kernels: None, out: Forces::default() };
        let mut ready: Vec<ReadyPoint> = Vec::new();
        for point in possible {
            self.progress(0.0, doing)?;
            match bench.prepare(point, self.gpu.as_ref(), engines) {
                Ok(prepared) => ready.push(prepared),
                Err(error) if is_fatal(&error) => return Err(error),
                Err(error) => self.skip(figure, point, &error.to_string()),
            }
        }

        // As many rounds as there is time for, after the one that is discarded.
        let secs: f64 = ready.iter().map(|ready| ready.secs * f64::from(ready.repeats)).sum();
        let left = budget - begun.elapsed().as_secs_f64();
        let (least, most) = self.sizes.rounds;
        let rounds = ((left / secs.max(1e-6)) as usize).saturating_sub(1).clamp(least, most);
        let turns = (rounds + 1) * ready.len();
        let mut sets = vec![Vec::new(); ready.len()];
        for turn in 0..turns {
            // What was sampled before an interruption is recorded.
            if self.progress(turn as f64 / turns as f64, doing).is_err() {
                break;
            }
            let k = turn % ready.len();
            let secs = bench.sample(&ready[k], engines)?;
            if turn >= ready.len() {
                sets[k].push(secs);
            }
        }
        // The machine's drift is common to all; the noise belongs to each set of samples.
        let watch = bench.kernels.as_ref().map(KernelTimer::stopwatch);
        let doubt = watch.and_then(|watch| watch.doubt()).map(plain);
        let common = doubt.or_else(|| Steadiness::of_rounds(&sets).remark());
        for (ready, samples) in ready.iter().zip(sets) {
            let Some(summary) = Summary::of(&samples) else { continue };
            self.learn(&ready.point.candidate, work / summary.median, engines);
            let mut record = self.of_point(figure, ready.point);
            record.repeats = ready.repeats;
            let rms = ready.errors.map(|error| error.map(|error| rounded(error.rms)));
            record.rms_error = rms[0];
            match (&mut record.direct, ready.engine, watch) {
                (Some(direct), _, _) => (direct.rms_jerk, direct.rms_snap) = (rms[1], rms[2]),
                (_, None, Some(watch)) => record.method = watch.method().name().to_owned(),
                _ => record.method = "wall clock, from host to host".to_owned(),
            }
            record.remark = common.clone().or_else(|| Steadiness::of(&samples).remark());
            record.set_samples(&samples);
            self.records.push(record);
        }
        Ok(())
    }

    /// Why an evaluation would take too long, judging by the rates so far.
    fn why_too_long(
        &mut self,
        candidate: &Candidate,
        work: f64,
        engines: &Engines,
    ) -> Result<Option<String>> {
        let most = self.sizes.sample_secs;
        let rate = match candidate {
            Candidate::Derivatives(forces) => engines.rate(forces),
            _ => Some(self.rate(candidate)?),
        };
        let secs = rate.map_or(0.0, |rate| work / rate);
        if rate.is_none() && work > TRIAL && most < 1.0 {
            return Ok(Some("too large for a first trial on this adapter".to_owned()));
        }
        let words = || {
            format!(
                "one evaluation would take about {secs:.1} s, more than the {most} s allowed here"
            )
        };
        Ok((secs > most).then(words))
    }

    /// Interactions per second without derivatives as observed; measured at a modest size the first
    /// time.
    fn rate(&mut self, candidate: &Candidate) -> Result<f64> {
        let known = if candidate.is_on_cpu() { self.cpu_rate } else { self.gpu_rate };
        if known > 0.0 {
            return Ok(known);
        }
        let (n, secs) = match self.gpu.as_ref().filter(|_| !candidate.is_on_cpu()) {
            Some(gpu) => {
                let software = gpu.adapter.class == DeviceClass::Software;
                let n = if software { 2048 } else { 16_384 };
                let config = KernelRequest::default().resolve(gpu, n, n)?;
                (n, blocking(KernelTimer::new(gpu, n, n)?.time(&config, 1))?[0])
            }
            None => {
                let n = 2048;
                let problem = Problem::new(n, n)?;
                let mut bench = SizeBench { problem, kernels: None, out: Forces::default() };
                let mut engines = Engines::default();
                let point = FigurePoint::all_on_all("", n, Candidate::Cpu);
                let ready = bench.prepare(&point, None, &mut engines)?;
                (n, bench.sample(&ready, &mut engines)?)
            }
        };
        let rate = (n * n) as f64 / secs;
        self.learn(candidate, rate, &mut Engines::default());
        Ok(rate)
    }

    fn learn(&mut self, candidate: &Candidate, rate: f64, engines: &mut Engines) {
        match candidate {
            Candidate::Derivatives(forces) => engines.learn(forces, rate),
            Candidate::Cpu => self.cpu_rate = self.cpu_rate.max(rate),
            _ => self.gpu_rate = self.gpu_rate.max(rate),
        }
    }
}

/// The engines that a sweep calls from the host, and their rates.
#[derive(Default)]
struct Engines {
    made: Vec<(Candidate, Box<dyn ForceEngine>)>,
    /// Interactions per second with derivatives, as last observed.
    rates: Vec<(EngineTier, Order, f64)>,
}

impl Engines {
    /// The index of a candidate's engine.
    fn index(&mut self, candidate: &Candidate, gpu: Option<&Arc<Gpu>>) -> Result<usize> {
        let known = self.made.iter().position(|(known, _)| known.shares_engine(candidate));
        if known.is_none() {
            self.made.push((*candidate, candidate.engine(gpu)?));
        }
        Ok(known.unwrap_or(self.made.len() - 1))
    }

    /// The rate of this engine and order; otherwise its least of any order.
    fn rate(&self, forces: &DerivativesCase) -> Option<f64> {
        let own = || self.rates.iter().filter(|(tier, ..)| *tier == forces.tier);
        let same = own().find(|(_, order, _)| *order == forces.order).map(|(.., rate)| *rate);
        same.or_else(|| own().map(|(.., rate)| *rate).reduce(f64::min))
    }

    fn learn(&mut self, forces: &DerivativesCase, rate: f64) {
        let DerivativesCase { tier, order, .. } = *forces;
        self.rates.retain(|(known, of, _)| (*known, *of) != (tier, order));
        self.rates.push((tier, order, rate));
    }
}

/// A point that is ready to be sampled.
struct ReadyPoint<'p> {
    point: &'p FigurePoint,
    /// The engine called from the host; `None` for a kernel on the device.
    engine: Option<usize>,
    /// Evaluations per sample, and seconds of one.
    repeats: u32,
    secs: f64,
    /// Errors of accelerations, jerks and snaps, as far as computed.
    errors: [Option<ErrorStats>; 3],
}

/// The bodies of one size, and the timer of kernels on them.
struct SizeBench {
    problem: Problem,
    kernels: Option<KernelTimer>,
    out: Forces,
}

impl SizeBench {
    fn prepare<'p>(
        &mut self,
        point: &'p FigurePoint,
        gpu: Option<&Arc<Gpu>>,
        engines: &mut Engines,
    ) -> Result<ReadyPoint<'p>> {
        let mut ready =
            ReadyPoint { point, engine: None, repeats: 1, secs: 0.0, errors: [None; 3] };
        if let (Candidate::Kernel(config), Some(gpu)) = (&point.candidate, gpu) {
            if self.kernels.is_none() {
                self.kernels = Some(KernelTimer::new(gpu, point.sinks, point.sources)?);
            }
            let timer = self.kernels.as_mut().expect("made above");
            blocking(timer.prepare(config))?;
            let (repeats, secs, error) = timer.prepared(config).expect("prepared above");
            (ready.repeats, ready.secs, ready.errors[0]) = (repeats, secs, Some(error));
            return Ok(ready);
        }
        let index = engines.index(&point.candidate, gpu)?;
        ready.engine = Some(index);
        engines.made[index].1.set_sources(&self.problem.sources())?;
        self.sample(&ready, engines)?;
        ready.errors = self.problem.errors(&self.out);
        let rms = ready.errors[0].map_or(f64::INFINITY, |error| error.rms);
        let most = point.candidate.rms_limit();
        if !(rms < most) {
            let name = match &point.candidate {
                Candidate::Derivatives(forces) => forces.tier.name(),
                _ => engines.made[index].1.name().to_owned(),
            };
            return Err(Error::Outside(format!(
                "the engine {name} is wrong: rms error {rms:.1e} against f64, allowed {most:.1e}"
            )));
        }
        ready.secs = self.sample(&ready, engines)?;
        ready.repeats = (SAMPLE_SECS / ready.secs).ceil().clamp(1.0, MOST_REPEATS) as u32;
        Ok(ready)
    }

    /// Seconds per evaluation.
    fn sample(&mut self, ready: &ReadyPoint<'_>, engines: &mut Engines) -> Result<f64> {
        let candidate = &ready.point.candidate;
        let Some(index) = ready.engine else {
            return match (candidate, &mut self.kernels) {
                (Candidate::Kernel(config), Some(timer)) => blocking(timer.sample(config)),
                _ => unreachable!("a kernel is prepared with its timer"),
            };
        };
        let engine = engines.made[index].1.as_mut();
        let (sources, sinks) = (self.problem.sources(), self.problem.sinks());
        let resend = candidate.derivatives().is_none_or(|forces| forces.resend);
        let begun = Instant::now();
        for _ in 0..ready.repeats {
            if resend {
                engine.set_sources(&sources)?;
            }
            engine.evaluate(&sinks, SOFTENING, &candidate.outputs(), &mut self.out)?;
        }
        Ok((begun.elapsed().as_secs_f64() / f64::from(ready.repeats)).max(1e-9))
    }
}

/// Whether measuring cannot continue after this error: the device failed, or the user interrupts.
pub(super) fn is_fatal(error: &Error) -> bool {
    matches!(error, Error::Device(_) | Error::Stopped)
}
