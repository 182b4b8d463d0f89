//! Times engines for forces with derivatives through the host's interface.

use std::sync::Arc;

use web_time::Instant;

use super::{PATIENCE, Session, is_fatal, plain};
use crate::error::{Error, Result};
use crate::forces::direct::Reference;
use crate::forces::{Answers, ForceEngine, Identity, Order, Precision, TestBodies, Want};
use crate::gpu::Gpu;
use crate::measure::acceleration_errors;
use crate::measure::bench::candidate::cpu_device;
use crate::measure::bench::record::rounded;
use crate::measure::time::problem::{SOFTENING, probes};
use crate::measure::{Device, DirectFacts, ErrorStats, Kind, Record, Steadiness, Summary};
use crate::sim::{EngineKind, direct_engine};

/// An engine with a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTier {
    /// `Gpu` or `Cpu`.
    pub kind: EngineKind,
    /// The precision.
    pub precision: Precision,
}

impl EngineTier {
    /// Its name, such as `gpu double-single`.
    pub fn name(self) -> String {
        format!("{} {}", self.kind.name(), self.precision.name())
    }

    /// Makes the engine; `gpu` is used by the engine on a GPU.
    ///
    /// # Errors
    ///
    /// A precision that does not hold there.
    pub fn engine(self, gpu: Option<&Arc<Gpu>>) -> Result<Box<dyn ForceEngine>> {
        direct_engine(self.kind, self.kind.method(), gpu, None, Some(self.precision))
    }
}

/// One point of a figure of forces with derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectPoint {
    /// The curve.
    pub series: String,
    /// Value on the x axis.
    pub x: f64,
    /// Number of sinks, the first of the sources.
    pub sinks: usize,
    /// Number of sources.
    pub sources: usize,
    /// The engine to time.
    pub who: EngineTier,
    /// The highest derivative.
    pub order: Order,
    /// Whether to compute potentials too, as a GRAPE does.
    pub potential: bool,
    /// Whether the sources are resent for each evaluation.
    pub resend: bool,
}

/// Shortest time of a sample.
const SAMPLE_SECS: f64 = 5e-3;
/// Interactions of a first evaluation if no rate is known.
const TRIAL: f64 = 3e7;

/// The largest rms error of accelerations of a correct engine, by precision: at least ten times
/// what is observed at the largest numbers of bodies.
fn limit(precision: Precision) -> f64 {
    match precision {
        Precision::Single => 1e-4,
        Precision::DoubleSingle => 1e-5,
        Precision::Double => 1e-12,
    }
}

/// Bodies with correct results for a sample of the sinks.
struct Trial {
    cloud: TestBodies,
    probed: Vec<u32>,
    right: Answers,
}

impl Trial {
    fn new(sinks: usize, sources: usize, order: Order) -> Result<Self> {
        let cloud = TestBodies::new(sources, 0xd1ce);
        let probed: Vec<u32> = probes(sinks).into_iter().flatten().map(|i| i as u32).collect();
        let mut some = TestBodies::default();
        for &i in &probed {
            let i = i as usize;
            some.push(cloud.position[i], cloud.velocity[i], cloud.acceleration[i], cloud.mass[i]);
        }
        let mut right = Answers::default();
        let mut reference = Reference::default();
        reference.set_sources(&cloud.sources(sources))?;
        let sinks = some.sinks(0..some.len(), Identity::Each(&probed));
        reference.evaluate(&sinks, SOFTENING, &Want::only(order), &mut right)?;
        Ok(Self { cloud, probed, right })
    }

    /// Errors of accelerations, jerks and snaps, as far as computed.
    fn errors(&self, found: &Answers) -> [Option<ErrorStats>; 3] {
        let of = |found: &[glam::DVec3], right: &[glam::DVec3]| {
            let some: Option<Vec<_>> =
                self.probed.iter().map(|&i| found.get(i as usize).copied()).collect();
            some.map(|some| acceleration_errors(&some, right))
        };
        let (a, j, s) = (&self.right.acceleration, &self.right.jerk, &self.right.snap);
        [of(&found.acceleration, a), of(&found.jerk, j), of(&found.snap, s)]
    }
}

/// A point being timed.
struct Ready<'p> {
    point: &'p DirectPoint,
    engine: usize,
    repeats: u32,
    secs: f64,
    errors: [Option<ErrorStats>; 3],
    samples: Vec<f64>,
}

type Engines = Vec<(EngineTier, Box<dyn ForceEngine>)>;

impl Session<'_> {
    /// The engines and precisions available here, the CPU's last. Those that the adapter does not
    /// have are recorded as skipped, with the reason.
    pub(in crate::measure) fn tiers(&mut self, figure: &str) -> Result<Vec<EngineTier>> {
        let mut tiers = Vec::new();
        if let Some(gpu) = self.gpu.clone() {
            for (precision, _) in Precision::ALL {
                let tier = EngineTier { kind: EngineKind::Gpu, precision };
                match crate::forces::direct::gpu::tiers::verdict(&gpu, precision)? {
                    Ok(_) => tiers.push(tier),
                    Err(reason) => {
                        let mut record = self.tier_record(figure, &tier.name(), tier);
                        record.kind = Kind::Skipped;
                        record.remark = Some(plain(&format!("{} {reason}", gpu.adapter.name)));
                        self.records.push(record);
                    }
                }
            }
        }
        if self.cpu {
            tiers.push(EngineTier { kind: EngineKind::Cpu, precision: Precision::Double });
        }
        Ok(tiers)
    }

    /// A record for an engine, without measurements yet.
    pub(in crate::measure) fn tier_record(
        &self,
        figure: &str,
        series: &str,
        tier: EngineTier,
    ) -> Record {
        let mut record = self.blank(figure, series);
        record.device = match (&self.gpu, tier.kind) {
            (Some(gpu), EngineKind::Gpu) => Device::of(&gpu.adapter),
            _ => cpu_device(),
        };
        record
    }

    /// Times all points within `budget_secs`, or a few times that if it takes more; points of one
    /// size are timed in turn. Points that cannot be measured are recorded as skipped.
    pub(in crate::measure) fn sweep_direct(
        &mut self,
        figure: &str,
        points: &[DirectPoint],
        budget_secs: f64,
    ) -> Result<()> {
        let mut groups: Vec<Vec<&DirectPoint>> = Vec::new();
        for point in points {
            let size = |p: &DirectPoint| (p.sinks, p.sources);
            match groups.iter_mut().find(|group| size(group[0]) == size(point)) {
                Some(group) => group.push(point),
                None => groups.push(vec![point]),
            }
        }
        let (count, begun) = (groups.len() as f64, Instant::now());
        let budget = budget_secs / count.max(1.0);
        let (mut engines, mut rates) = (Engines::new(), Vec::new());
        for (done, group) in groups.iter().enumerate() {
            let most = PATIENCE * budget_secs;
            if begun.elapsed().as_secs_f64() > most {
                for point in group {
                    self.skip_direct(
                        figure,
                        point,
                        &format!("the figure had taken {most:.0} s by then"),
                    );
                }
                continue;
            }
            let part = |within: f64| (done as f64 + within) / count;
            if !self.direct_group(figure, group, budget, &part, &mut engines, &mut rates)? {
                break;
            }
        }
        Ok(())
    }

    fn skip_direct(&mut self, figure: &str, point: &DirectPoint, reason: &str) {
        let mut record = self.of_direct(figure, point);
        record.kind = Kind::Skipped;
        record.remark = Some(plain(reason));
        self.records.push(record);
    }

    fn of_direct(&self, figure: &str, point: &DirectPoint) -> Record {
        let mut record = self.tier_record(figure, &point.series, point.who);
        record.kind = Kind::Derivatives;
        record.x = point.x;
        (record.sinks, record.sources) = (point.sinks as u64, point.sources as u64);
        record.work = point.sinks as f64 * point.sources as f64;
        let sent = if point.resend { "sources sent each time" } else { "sources stay" };
        record.method = format!("wall clock, from host to host, {sent}");
        record.direct = Some(DirectFacts {
            engine: point.who.kind.name().to_owned(),
            precision: point.who.precision.name().to_owned(),
            order: point.order.name().to_owned(),
            potential: point.potential,
            rms_jerk: None,
            rms_snap: None,
        });
        record
    }

    /// Times the points of one size; returns false once the user wants to stop.
    fn direct_group(
        &mut self,
        figure: &str,
        points: &[&DirectPoint],
        budget: f64,
        part: &dyn Fn(f64) -> f64,
        engines: &mut Engines,
        rates: &mut Vec<(EngineTier, Order, f64)>,
    ) -> Result<bool> {
        let (sinks, sources) = (points[0].sinks, points[0].sources);
        let (work, doing) = (sinks as f64 * sources as f64, format!("{sinks} x {sources}"));
        let begun = Instant::now();
        let cap = self.sizes.sample_secs;
        let rate = |rates: &[(EngineTier, Order, f64)], point: &DirectPoint| {
            let of = |order: &dyn Fn(Order) -> bool| {
                let own = rates.iter().filter(|(t, o, _)| *t == point.who && order(*o));
                own.map(|(_, _, rate)| *rate).reduce(f64::min)
            };
            of(&|order| order == point.order).or_else(|| of(&|_| true))
        };
        let mut within = Vec::new();
        for point in points {
            match rate(rates, point) {
                Some(rate) if work / rate > cap => {
                    let secs = work / rate;
                    let reason = format!(
                        "one evaluation would take about {secs:.1} s, more than the {cap} s allowed here"
                    );
                    self.skip_direct(figure, point, &reason);
                }
                None if work > TRIAL && cap < 1.0 => {
                    self.skip_direct(figure, point, "too large for a first trial on this adapter");
                }
                _ => within.push(*point),
            }
        }
        let Some(order) = within.iter().map(|point| point.order).max() else { return Ok(true) };
        let trial = Trial::new(sinks, sources, order)?;
        let (mut ready, mut out): (Vec<Ready>, _) = (Vec::new(), Answers::default());
        for point in within {
            if !self.progress(part(0.0), &doing) {
                return Ok(false);
            }
            match self.prepare_direct(point, &trial, engines, &mut out) {
                Ok(prepared) => ready.push(prepared),
                Err(error) if is_fatal(&error) => return Err(error),
                Err(error) => self.skip_direct(figure, point, &error.to_string()),
            }
        }
        let round_secs: f64 = ready.iter().map(|r| r.secs * f64::from(r.repeats)).sum();
        let left = budget - begun.elapsed().as_secs_f64();
        let (least, most) = self.sizes.rounds;
        let rounds = ((left / round_secs.max(1e-6)) as usize).clamp(least, most);
        let mut going = true;
        'rounds: for round in 0..=rounds {
            for r in &mut ready {
                going = self.progress(part(round as f64 / (rounds + 1) as f64), &doing);
                if !going {
                    break 'rounds;
                }
                let engine = engines[r.engine].1.as_mut();
                let secs = sample(r.point, &trial, engine, r.repeats, &mut out)?;
                if round > 0 {
                    r.samples.push(secs);
                }
            }
        }
        for r in ready {
            let Some(summary) = Summary::of(&r.samples) else { continue };
            rates.retain(|(tier, order, _)| (*tier, *order) != (r.point.who, r.point.order));
            rates.push((r.point.who, r.point.order, work / summary.median));
            let mut record = self.of_direct(figure, r.point);
            let rms = r.errors.map(|error| error.map(|error| rounded(error.rms)));
            record.rms_error = rms[0];
            if let Some(direct) = &mut record.direct {
                (direct.rms_jerk, direct.rms_snap) = (rms[1], rms[2]);
            }
            record.repeats = r.repeats;
            record.remark = Steadiness::of(&r.samples).remark();
            record.set_samples(&r.samples);
            self.records.push(record);
        }
        Ok(going)
    }

    fn prepare_direct<'p>(
        &self,
        point: &'p DirectPoint,
        trial: &Trial,
        engines: &mut Engines,
        out: &mut Answers,
    ) -> Result<Ready<'p>> {
        let engine = match engines.iter().position(|(tier, _)| *tier == point.who) {
            Some(known) => known,
            None => {
                engines.push((point.who, point.who.engine(self.gpu.as_ref())?));
                engines.len() - 1
            }
        };
        let own = engines[engine].1.as_mut();
        own.set_sources(&trial.cloud.sources(point.sources))?;
        sample(point, trial, own, 1, out)?;
        let errors = trial.errors(out);
        let (rms, most) = (errors[0].map_or(f64::INFINITY, |e| e.rms), limit(point.who.precision));
        if !(rms < most) {
            let name = point.who.name();
            return Err(Error::Outside(format!(
                "the engine {name} is wrong: rms error {rms:.1e} against f64, allowed {most:.1e}"
            )));
        }
        let secs = sample(point, trial, own, 1, out)?;
        let repeats = (SAMPLE_SECS / secs).ceil().clamp(1.0, 1000.0) as u32;
        Ok(Ready { point, engine, repeats, secs, errors, samples: Vec::new() })
    }
}

/// Seconds per evaluation, over `repeats` evaluations.
fn sample(
    point: &DirectPoint,
    trial: &Trial,
    engine: &mut dyn ForceEngine,
    repeats: u32,
    out: &mut Answers,
) -> Result<f64> {
    let want = Want { potential: point.potential, ..Want::only(point.order) };
    let (sources, sinks) = (
        trial.cloud.sources(point.sources),
        trial.cloud.sinks(0..point.sinks, Identity::Offset(0)),
    );
    let begun = Instant::now();
    for _ in 0..repeats {
        if point.resend {
            engine.set_sources(&sources)?;
        }
        engine.evaluate(&sinks, SOFTENING, &want, out)?;
    }
    Ok((begun.elapsed().as_secs_f64() / f64::from(repeats)).max(1e-9))
}
