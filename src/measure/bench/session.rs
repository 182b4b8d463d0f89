//! A measuring session: one adapter or none, the CPU engine, and the records so far.

mod direct;
mod machine;
mod rates;

use std::sync::Arc;

pub(super) use direct::{DirectPoint, EngineTier};
use web_time::Instant;

use super::candidate::{Candidate, Point, Ready, cpu_device, plain};
use super::host_timer::HostTimer;
use super::machine::Machine;
use super::record::{Device, Kind, Record, rounded};
use super::run::Run;
use super::sizes::Sizes;
use crate::error::{Error, Result};
use crate::forces::ForceEngine;
use crate::forces::direct::gpu::Masses;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::forces::direct::{CpuSingle, GpuSingle};
use crate::gpu::{DeviceClass, Gpu};
use crate::inspect::Inspector;
use crate::measure::time::problem::Problem;
use crate::measure::{
    Ceiling, Ceilings, KernelTimer, Steadiness, Summary, Timer, in_turns, predict,
};
use crate::tuned::Known;

/// The least time assumed for a figure, since compilation takes part of it too.
const LEAST_SECS: f64 = 3.0;

/// A figure continues with its next size until it has taken this many times its budget.
const PATIENCE: f64 = 2.5;

/// Receives the progress of a session, and can stop it.
pub trait Observer {
    /// Called with the fraction of the figure that is done, 0 to 1, and the current activity.
    fn progress(&mut self, part: f64, doing: &str);
    /// Returns false once the user wants to stop; results so far are kept.
    fn go_on(&mut self) -> bool;
}

/// A measuring session: one adapter or none, the CPU engine, and the records so far.
pub struct Session<'a> {
    /// The adapter, if there is one.
    pub gpu: Option<Arc<Gpu>>,
    /// Further adapters that share the bodies, in the figure of several devices.
    pub beside: Vec<Arc<Gpu>>,
    /// Whether the CPU engines are measured too.
    pub cpu: bool,
    /// How much is measured.
    pub sizes: Sizes,
    /// Stored results of tuning; empty unless the caller looks them up.
    pub known: Known,
    /// All records, in order.
    pub records: Vec<Record>,
    /// The compiler for a GPU that need not be present, or why there is none. Making one sets
    /// environment variables, so a program does it before starting threads.
    pub absent: Result<Inspector, String>,
    observer: &'a mut dyn Observer,
    ceilings: Option<Ceilings>,
    /// The best rate observed, for predicting how long a size will take.
    gpu_rate: f64,
    cpu_rate: f64,
    stopped: bool,
    run: Run,
    machine: Option<Machine>,
    /// A remark on the machine by the user.
    pub remark: Option<String>,
    /// A kernel shape that is measured in addition to the default, if requested.
    pub asked: KernelRequest,
}

impl<'a> Session<'a> {
    /// A session on `gpu`, or on the CPU alone.
    pub fn new(gpu: Option<Arc<Gpu>>, sizes: Sizes, observer: &'a mut dyn Observer) -> Self {
        Self {
            gpu,
            beside: Vec::new(),
            cpu: true,
            sizes,
            known: Known::default(),
            records: Vec::new(),
            absent: Err("no compiler for an absent GPU was asked".to_owned()),
            observer,
            ceilings: None,
            gpu_rate: 0.0,
            cpu_rate: 0.0,
            stopped: false,
            run: Run::begin(),
            machine: None,
            remark: None,
            asked: KernelRequest::NONE,
        }
    }

    /// Whether the user wants to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The shape that the program chooses for this many sinks and sources; `None` without a GPU.
    pub fn default_kernel(&self, sinks: usize, sources: usize) -> Option<KernelConfig> {
        self.kernel(&KernelRequest::default(), sinks, sources)
    }

    /// The chosen shape with some parameters fixed; `None` also if the adapter cannot run it.
    pub fn kernel(&self, request: &KernelRequest, n: usize, m: usize) -> Option<KernelConfig> {
        request.resolve(self.gpu.as_ref()?, n, m).ok()
    }

    fn go_on(&mut self) -> bool {
        self.stopped = self.stopped || !self.observer.go_on();
        !self.stopped
    }

    /// The adapter's ceilings, measured and recorded the first time.
    pub fn ceilings(&mut self) -> Result<Option<Ceilings>> {
        let Some(gpu) = self.gpu.clone().filter(|_| self.ceilings.is_none()) else {
            return Ok(self.ceilings);
        };
        let observer = &mut *self.observer;
        let mut before = |ceiling: Ceiling| {
            observer.progress(0.0, ceiling.title());
            observer.go_on()
        };
        let found = Ceilings::measure(&gpu, self.sizes.effort, &mut before)?;
        if found.len() < Ceiling::ALL.len() {
            self.stopped = true;
        }
        for samples in &found {
            let mut record = self.blank("ceilings", samples.ceiling.title());
            record.kind = Kind::Ceiling;
            record.device = Device::of(&gpu.adapter);
            record.ceiling = Some(samples.ceiling.key().to_owned());
            record.work = samples.work;
            record.set_samples(&samples.secs);
            record.method = samples.method.name().to_owned();
            record.remark = Steadiness::of(&samples.secs).remark();
            self.records.push(record);
        }
        self.ceilings = Some(Ceilings::on(&gpu, &found));
        Ok(self.ceilings)
    }

    /// Informs the observer; returns false once the user wants to stop.
    pub(super) fn progress(&mut self, part: f64, doing: &str) -> bool {
        self.observer.progress(part, doing);
        self.go_on()
    }

    /// A record for a compiler's report, of `device` or of one to be named later.
    pub(super) fn compiled_record(
        &self,
        figure: &str,
        series: &str,
        device: Option<Device>,
    ) -> Record {
        let mut record = self.blank(figure, series);
        record.kind = Kind::Compiled;
        record.method = "asked of the driver's compiler".to_owned();
        record.device = device.unwrap_or(record.device);
        record
    }

    /// A record for whole steps of `n` bodies, without times yet.
    pub(super) fn step_record(
        &self,
        figure: &str,
        series: &str,
        n: usize,
        config: KernelConfig,
    ) -> Record {
        let candidate = Candidate::Kernel(config);
        let (series, x) = (series.to_owned(), n as f64);
        let mut record =
            self.of_point(figure, &Point { series, x, sinks: n, sources: n, candidate });
        record.kind = Kind::Steps;
        // The model covers forces only.
        (record.predicted_per_sec, record.limit) = (None, None);
        record
    }

    pub(super) fn blank(&self, figure: &str, series: &str) -> Record {
        self.run.record(cpu_device(), figure, series)
    }

    /// Times all points of a figure. Points of one size are timed in turn, but the CPU engine
    /// separately from a GPU, whose clock drops while it is idle (an H200's by a fifth). Points
    /// that cannot be measured are recorded as skipped, with the reason.
    pub fn sweep(&mut self, figure: &str, points: &[Point]) -> Result<()> {
        // For the model's prediction in each record.
        if points.iter().any(|point| matches!(point.candidate, Candidate::Kernel(_))) {
            self.ceilings()?;
        }
        let has_clock =
            self.gpu.as_ref().is_some_and(|gpu| gpu.adapter.class != DeviceClass::Software);
        // Numbers of sinks and sources, and whether separate.
        type Key = (usize, usize, bool);
        let mut groups: Vec<(Key, Vec<&Point>)> = Vec::new();
        let here = |point: &&Point| self.cpu || point.candidate != Candidate::Cpu;
        for point in points.iter().filter(here) {
            let apart = has_clock && point.candidate == Candidate::Cpu;
            let key = (point.sinks, point.sources, apart);
            match groups.iter_mut().find(|group| group.0 == key) {
                Some(group) => group.1.push(point),
                None => groups.push((key, vec![point])),
            }
        }
        let budget = self.sizes.figure_secs / groups.len().max(1) as f64;
        let (count, begun) = (groups.len() as f64, Instant::now());
        for (done, ((sinks, sources, _), points)) in groups.iter().enumerate() {
            if !self.go_on() {
                break;
            }
            // A device far slower than expected must not block its user indefinitely.
            let most = PATIENCE * self.sizes.figure_secs.max(LEAST_SECS);
            if begun.elapsed().as_secs_f64() > most {
                for point in points {
                    let reason = format!("the figure had taken {most:.0} s by then");
                    self.skip(figure, point, &reason);
                }
                continue;
            }
            let doing = format!("{sinks} x {sources}");
            let part = |within: f64| (done as f64 + within) / count;
            self.observer.progress(part(0.0), &doing);
            self.group(figure, points, budget, &|within| (part(within), doing.clone()))?;
        }
        Ok(())
    }

    fn skip(&mut self, figure: &str, point: &Point, reason: &str) {
        let mut record = self.of_point(figure, point);
        record.kind = Kind::Skipped;
        record.remark = Some(plain(reason));
        self.records.push(record);
    }

    fn of_point(&self, figure: &str, point: &Point) -> Record {
        let mut record = self.blank(figure, &point.series);
        record.x = point.x;
        (record.sinks, record.sources) = (point.sinks as u64, point.sources as u64);
        record.work = point.sinks as f64 * point.sources as f64;
        if let (Some(gpu), false) = (&self.gpu, point.candidate == Candidate::Cpu) {
            record.device = Device::of(&gpu.adapter);
        }
        if let Candidate::Kernel(config) = point.candidate {
            record.kernel = Some(config);
            let sizes = (point.sinks, point.sources);
            let predicted = self.ceilings.and_then(|c| predict(&c, &config, sizes.0, sizes.1));
            record.predicted_per_sec =
                predicted.as_ref().map(|p| rounded(p.rate(sizes.0, sizes.1)));
            record.limit = predicted.map(|p| p.limit.name().to_owned());
        }
        record
    }

    /// Times the points of one size.
    fn group(
        &mut self,
        figure: &str,
        points: &[&Point],
        budget: f64,
        part: &dyn Fn(f64) -> (f64, String),
    ) -> Result<()> {
        let (sinks, sources) = (points[0].sinks, points[0].sources);
        let work = sinks as f64 * sources as f64;
        let begun = Instant::now();
        let problem = Problem::new(sinks, sources, Masses::InBlocks)?;
        let mut kernels = None;
        let mut ready: Vec<(&Point, Ready)> = Vec::new();
        for point in points {
            if !self.go_on() {
                return Ok(());
            }
            let estimate = work / self.rate(point.candidate)?;
            let cap = self.sizes.sample_secs;
            if estimate > cap {
                let reason = format!(
                    "one evaluation would take about {estimate:.1} s, more than the {cap} s allowed here"
                );
                self.skip(figure, point, &reason);
                continue;
            }
            match self.prepare(point, &problem, &mut kernels) {
                Ok(prepared) => ready.push((point, prepared)),
                Err(error) if is_fatal(&error) => return Err(error),
                Err(error) => self.skip(figure, point, &error.to_string()),
            }
        }

        // As many rounds as there is time for, after the one that is discarded.
        let places: Vec<usize> = (0..ready.len()).collect();
        let secs: f64 = ready.iter().map(|(point, r)| r.sample_secs(point, &kernels)).sum();
        let left = budget - begun.elapsed().as_secs_f64();
        let (least, most) = self.sizes.rounds;
        let rounds = ((left / secs.max(1e-6)) as usize).saturating_sub(1).clamp(least, most);
        let (mut turn, turns) = (0, (rounds + 1) * ready.len());
        let observer = &mut *self.observer;
        let mut stopped = false;
        let sets = {
            let ready = std::cell::RefCell::new(&mut ready);
            let kernels = &mut kernels;
            in_turns(
                &places,
                rounds,
                &mut |&place| {
                    let ready = &mut ready.borrow_mut()[place];
                    ready.1.sample(ready.0, kernels)
                },
                &mut || {
                    let (fraction, doing) = part(turn as f64 / turns as f64);
                    observer.progress(fraction, &doing);
                    turn += 1;
                    stopped = stopped || !observer.go_on();
                    !stopped
                },
            )?
        };
        self.stopped = self.stopped || stopped;
        // The machine's drift is common to all; the noise belongs to each set of samples.
        let doubt = kernels.as_ref().and_then(|timer| timer.stopwatch().doubt());
        let doubt = doubt.map(plain);
        let machine = doubt.or_else(|| Steadiness::of_rounds(&sets).remark());
        for ((point, candidate), samples) in ready.into_iter().zip(sets) {
            let Some(summary) = Summary::of(&samples) else { continue };
            self.learn(point.candidate, work / summary.median);
            let mut record = self.of_point(figure, point);
            record.repeats = candidate.repeats(point, &kernels);
            record.rms_error = Some(rounded(candidate.rms_error(point, &kernels)));
            record.method = candidate.method(&kernels);
            record.remark = machine.clone().or_else(|| Steadiness::of(&samples).remark());
            record.set_samples(&samples);
            self.records.push(record);
        }
        Ok(())
    }

    fn prepare<'p>(
        &self,
        point: &Point,
        problem: &'p Problem,
        kernels: &mut Option<KernelTimer>,
    ) -> Result<Ready<'p>> {
        let engine: Box<dyn ForceEngine> = match (point.candidate, &self.gpu) {
            (Candidate::Kernel(config), Some(gpu)) => {
                if kernels.is_none() {
                    *kernels = Some(KernelTimer::new(gpu, point.sinks, point.sources)?);
                }
                let timer = kernels.as_mut().expect("it was made above");
                timer.prepare(&config)?;
                return Ok(Ready::Kernel);
            }
            (Candidate::GpuFromHost, Some(gpu)) => {
                Box::new(GpuSingle::new(Arc::clone(gpu), KernelRequest::default()))
            }
            _ => Box::new(CpuSingle::new()),
        };
        Ok(Ready::Host(Box::new(HostTimer::prepare(engine, problem)?)))
    }
}

/// Whether measuring cannot continue after this error of a device.
fn is_fatal(error: &Error) -> bool {
    matches!(error, Error::Device(_))
}
