//! Sapporo2, figure 5, and Kirin's thesis, tables 5.1 and 5.2: bodies shared by several devices.

use std::sync::Arc;

use crate::wall_clock::Instant;

use super::Figure;
use super::curves::{OVER_N, by_series, curves, of, plot};
use super::tree::TOO_SLOW;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::GpuTiers;
use crate::forces::tree::{Opening, TreeConfig};
use crate::forces::{
    ForceEngine, Forces, Identity, Method, Order, Outputs, Precision, Sinks, Sources,
};
use crate::gpu::{Gpu, Readback, storage};
use crate::integrate::{self, blocks::BlockSettings};
use crate::measure::bench::record::rounded;
use crate::measure::plot::{Curve, CurvePoint, CurveStyle, Plot, PlotAxis};
use crate::measure::{BenchSession, BenchSizes, Cloud, DevicesFacts, Record, RecordKind, Summary};
use crate::scene::Scene;
use crate::sim::{ASKED_FOR, Choice, DeviceGroup, EngineKind, Settings, Simulation};
use crate::stop;

pub(super) const DEVICES: Figure = Figure::own("devices", measure_direct, plots_of_direct);
pub(super) const DEVICES_TREE: Figure = Figure::own("devices-tree", measure_tree, plots_of_tree);

const SOFTENING: f64 = 0.01;
const DT: f64 = 1e-6;
/// A strict rule: walks then take most of a step.
const STRICT: Opening = Opening::Acceleration { alpha: 1e-4 };
/// The longest individual step; bodies are synchronised at its multiples.
const DT_MAX: f64 = 1.0 / 64.0;
/// Bytes per body that devices exchange with all pairs.
const BYTES: f64 = 16.0;
/// Samples for one of other figures. Virtual machines whose processors others use too stop for 20 to
/// 200 ms now and then: short samples, many of which are without a stop.
const SAMPLES: usize = 3;
/// Bytes of a copy to the host.
const COPIED: usize = 1 << 26;
/// A sample of a run on individual steps covers many blocks, and may take this many times as long.
const LONGER: f64 = 10.0;
/// Fixed time of an exchange, in seconds: on two H200 a step of 65,536 bodies by all pairs took
/// 1.31 ms, of which half of one device's step is 1.08 ms and the transfer 0.04 ms.
const LATENCY: f64 = 200e-6;
/// Bytes per second between a device and the host.
const BANDWIDTH: f64 = 25e9;
/// What a step in domains takes besides its share of the time on one device: seconds, and seconds
/// for a body to the power 2/3. Fitted to two to four H100 and 1 to 67 million bodies, with a root
/// mean square error of 7 %.
const DOMAINS: [f64; 2] = [2.45e-3, 6.9e-8];

/// The integrator and the force method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepMode {
    /// Leapfrog with all pairs.
    Pairs,
    /// Leapfrog with the tree and the strict rule.
    StrictTree,
    /// Leapfrog with the tree as it is by default.
    Tree,
    /// Individual steps.
    Blocks,
}

impl StepMode {
    const ALL: [Self; 4] = [Self::Pairs, Self::StrictTree, Self::Tree, Self::Blocks];

    /// The suffix of its series' names.
    fn words(self) -> &'static str {
        match self {
            Self::Pairs => "",
            Self::StrictTree => ", in domains, alpha 0.0001",
            Self::Tree => ", in domains, alpha 0.003",
            Self::Blocks => ", hermite4",
        }
    }

    /// The mode of a record; `None` if it is one that only earlier versions had.
    fn of(record: &Record) -> Option<Self> {
        let suffix = record.series.find(", ").map_or("", |at| &record.series[at..]);
        Self::ALL.into_iter().find(|mode| mode.words() == suffix)
    }

    fn sizes(self, sizes: &BenchSizes) -> &[usize] {
        match self {
            Self::Pairs => &sizes.devices,
            Self::StrictTree => &sizes.devices_tree,
            Self::Tree => &sizes.devices_domains,
            Self::Blocks => &sizes.devices_blocks,
        }
    }

    /// How the tree is walked, if there is one.
    fn tree(self) -> Option<TreeConfig> {
        let default = TreeConfig::default();
        match self {
            Self::StrictTree => Some(TreeConfig { opening: STRICT, ..default }),
            Self::Tree => Some(default),
            Self::Pairs | Self::Blocks => None,
        }
    }

    fn settings(self, session: &BenchSession<'_>) -> Result<Settings> {
        let settings = Settings {
            softening: SOFTENING,
            dt: DT,
            engine: EngineKind::Gpu,
            known: session.known.clone(),
            method: Some(if self.tree().is_some() { Method::Tree } else { Method::Direct }),
            tree: self.tree().unwrap_or_default(),
            ..Settings::default()
        };
        Ok(match self {
            Self::Blocks => Settings {
                dt: DT_MAX,
                integrator: integrate::find("hermite4")?,
                blocks: BlockSettings { dt_max: DT_MAX, ..BlockSettings::default() },
                ..settings
            },
            _ => settings,
        })
    }
}

fn measure_direct(session: &mut BenchSession<'_>) -> Result<()> {
    measure(session, DEVICES.name, &[StepMode::Pairs, StepMode::Blocks])?;
    measure_copies(session)
}

fn measure_tree(session: &mut BenchSession<'_>) -> Result<()> {
    measure(session, DEVICES_TREE.name, &[StepMode::StrictTree, StepMode::Tree])
}

/// All devices of the session.
fn devices_of(session: &BenchSession<'_>) -> Vec<Arc<Gpu>> {
    session.gpu.iter().chain(&session.others).map(Arc::clone).collect()
}

fn plural(devices: usize) -> &'static str {
    if devices == 1 { "" } else { "s" }
}

fn measure(session: &mut BenchSession<'_>, figure: &str, modes: &[StepMode]) -> Result<()> {
    let devices = devices_of(session);
    let counts = counts(devices.len());
    let sizes = modes.iter().map(|mode| mode.sizes(&session.sizes).len());
    session.expect(sizes.sum::<usize>() * counts.len());
    for &mode in modes {
        for n in mode.sizes(&session.sizes).to_vec() {
            let mut problem = DevicesCase { mode, n, bodies: None, model: None };
            for &count in &counts {
                let series = format!("{count} device{}{}", plural(count), mode.words());
                session.step(&format!("N = {n}, {series}"))?;
                let mut record = session.on_adapter(figure, &series, RecordKind::Devices);
                record.x = n as f64;
                (record.sinks, record.sources) = (n as u64, n as u64);
                record.method = "wall clock, whole steps".to_owned();
                session.attempt(record, |session, record| {
                    one(session, &devices[..count], &mut problem, record)
                })?;
            }
        }
    }
    Ok(())
}

/// Copies to the host by several devices at once.
fn measure_copies(session: &mut BenchSession<'_>) -> Result<()> {
    let devices = devices_of(session);
    for count in counts(devices.len()) {
        let series = format!("{count} device{} to the host", plural(count));
        session.progress(1.0, &series)?;
        let mut record = session.on_adapter(DEVICES.name, &series, RecordKind::Transfer);
        (record.x, record.work) = (COPIED as f64 / 16.0, (count * COPIED) as f64);
        record.method = "wall clock, all at once".to_owned();
        session.attempt(record, |session, record| {
            let mut copies: Vec<Copied> = devices[..count].iter().map(Copied::new).collect();
            let mut secs = Vec::new();
            for round in 0..=session.sizes.rounds.0.max(3) {
                let begun = Instant::now();
                std::thread::scope(|scope| {
                    let fetch = |copy| scope.spawn(move || Copied::fetch(copy));
                    let threads: Vec<_> = copies.iter_mut().map(fetch).collect();
                    threads.into_iter().try_for_each(|thread| {
                        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    })
                })?;
                // The first has new memory.
                if round > 0 {
                    secs.push(begun.elapsed().as_secs_f64());
                }
            }
            record.repeats = 1;
            record.set_samples(&secs);
            Ok(())
        })?;
    }
    Ok(())
}

/// Memory of a device, and of the host.
struct Copied {
    gpu: Arc<Gpu>,
    buffer: wgpu::Buffer,
    readback: Readback,
    host: Vec<u32>,
}

impl Copied {
    fn new(gpu: &Arc<Gpu>) -> Self {
        let (buffer, host) = (storage(gpu, "copied", COPIED / 16), vec![0; COPIED / 4]);
        Self { gpu: Arc::clone(gpu), buffer, readback: Readback::default(), host }
    }

    fn fetch(&mut self) -> Result<()> {
        let Self { gpu, buffer, readback, host } = self;
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        readback.record(&gpu.device, &mut encoder, &[(&*buffer, 0..COPIED as u64)]);
        let submission = gpu.queue.submit([encoder.finish()]);
        readback.submitted();
        pollster::block_on(gpu.finish(submission))?;
        pollster::block_on(readback.arrive_as(|words: &[&[u32]]| host.copy_from_slice(words[0])))
    }
}

/// What is measured on one device after the other.
struct DevicesCase {
    mode: StepMode,
    n: usize,
    bodies: Option<Bodies>,
    /// From the first measurement, on one device.
    model: Option<DevicesModel>,
}

/// 1, 2, 3, 4, 8, 16, ... and all.
fn counts(devices: usize) -> Vec<usize> {
    (1..=devices).filter(|n| *n < 4 || n.is_power_of_two() || *n == devices).collect()
}

/// Measures one number of bodies on these devices.
fn one(
    session: &BenchSession<'_>,
    devices: &[Arc<Gpu>],
    problem: &mut DevicesCase,
    record: &mut Record,
) -> Result<()> {
    let timed = timed(session, devices, problem)?;
    let DevicesCase { mode, n, model, .. } = problem;
    let (mode, n) = (*mode, *n);
    let timed = timed.ok_or_else(|| Error::Outside(TOO_SLOW.to_owned()))?;
    let mean = &timed.mean;
    (record.work, record.repeats) = (mean.work.round(), timed.steps as u32);
    record.set_samples(&timed.secs);
    let median = record.summary().map_or(f64::NAN, |summary| summary.median);
    if devices.len() == 1 {
        *model = Some(DevicesModel::of(mode, &devices[0], n, median, session.others.is_empty())?);
    }
    let known = model.as_ref();
    let predicted = known.map(|model| model.secs(devices.len(), mean));
    record.predicted_per_sec = predicted.map(|secs| rounded(record.work / secs));
    let facts = DevicesFacts {
        devices: devices.len() as u32,
        exchanging: rounded(timed.exchanging),
        speed_up: known.map(|model| rounded(model.alone / median)),
        memory: timed.memory,
    };
    record.remark = Some(format!(
        "{n} bodies on {}: {:.3} times as fast, {:.1} % of a step in the exchange",
        record.series,
        facts.speed_up.unwrap_or(f64::NAN),
        100.0 * facts.exchanging
    ));
    record.devices = Some(facts);
    Ok(())
}

/// What steps cost besides their time, in all or per step.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    /// Interactions; with the tree, bodies.
    work: f64,
    /// Seconds that the first device spent on exchanges, including waiting.
    exchanging: f64,
    /// Number of exchanges.
    exchanges: f64,
    /// Bytes exchanged.
    bytes: f64,
    /// Interactions in shared blocks, if there are blocks.
    shared: f64,
}

impl Costs {
    fn times(self, factor: f64) -> Self {
        Self::default().plus(factor, &self)
    }

    fn plus(self, factor: f64, other: &Self) -> Self {
        Self {
            work: self.work + factor * other.work,
            exchanging: self.exchanging + factor * other.exchanging,
            exchanges: self.exchanges + factor * other.exchanges,
            bytes: self.bytes + factor * other.bytes,
            shared: self.shared + factor * other.shared,
        }
    }
}

/// The times of steps on one or several devices.
struct TimedSteps {
    /// Seconds per step.
    secs: Vec<f64>,
    /// Steps per sample.
    steps: u64,
    /// Mean costs of a step.
    mean: Costs,
    /// The part of a step that exchanges take, in the median sample.
    exchanging: f64,
    /// The most bytes that are allocated on a device, if that is known.
    memory: Option<u64>,
}

/// A Plummer sphere in virial equilibrium.
fn virial(n: usize) -> Result<Bodies> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(n)?;
    scene.build()
}

/// Steps on `devices`, as runs take them; `None` if one exceeds the limit.
fn timed(
    session: &BenchSession<'_>,
    devices: &[Arc<Gpu>],
    problem: &mut DevicesCase,
) -> Result<Option<TimedSteps>> {
    let DevicesCase { mode, n, bodies, .. } = problem;
    let mode = *mode;
    let settings = mode.settings(session)?;
    let bodies: &Bodies = match bodies {
        Some(bodies) => bodies,
        None if mode == StepMode::Blocks => bodies.insert(virial(*n)?),
        None => bodies.insert(Cloud::Plummer.bodies(*n)),
    };
    let n = *n as f64;
    let work = if mode.tree().is_some() { n } else { n.powi(2) };
    if mode == StepMode::Pairs && devices.len() > 1 {
        let group = DeviceGroup::open(devices, None, bodies, None, &settings);
        let mut group = pollster::block_on(group)?;
        return samples(session, devices, mode, &mut |steps| {
            group.advance(DT, steps, &mut |_| true)?;
            let exchanged = group.take_exchanged();
            let exchanges = exchanged.times as f64;
            let (work, bytes) = (work * steps as f64, exchanges * BYTES * n);
            Ok(Costs { work, exchanging: exchanged.secs, exchanges, bytes, shared: 0.0 })
        });
    }
    let method = settings.method.unwrap_or(Method::Direct);
    let choice = Choice::of(EngineKind::Gpu, method, ASKED_FOR, devices.first().cloned());
    let choice = Choice { others: devices[1..].to_vec(), ..choice };
    let mut sim = Simulation::builder(bodies.clone(), settings).choice(choice).build()?;
    // The blocks do not depend on the number of devices.
    let of_blocks = |sim: &Simulation| {
        sim.blocks().map_or(Costs::default(), |steps| {
            let shared = steps.shared();
            Costs {
                work: steps.stats().interactions as f64,
                exchanging: shared.secs,
                exchanges: shared.blocks as f64,
                bytes: shared.bytes as f64,
                shared: shared.body_steps as f64 * n,
            }
        })
    };
    samples(session, devices, mode, &mut |steps| {
        let before = of_blocks(&sim);
        let begun = Instant::now();
        sim.step(steps)?;
        Ok(match mode {
            StepMode::Blocks => of_blocks(&sim).plus(-1.0, &before),
            _ if mode.tree().is_some() => {
                let secs = begun.elapsed().as_secs_f64();
                let parts = sim.take_observed().parts;
                let exchanging = parts.first().and_then(|part| part.exchanging).unwrap_or(0.0);
                let work = work * steps as f64;
                Costs { work, exchanging: exchanging * secs, ..Costs::default() }
            }
            _ => Costs { work: work * steps as f64, ..Costs::default() },
        })
    })
}

/// Samples of `take`, which performs the given number of steps.
fn samples(
    session: &BenchSession<'_>,
    devices: &[Arc<Gpu>],
    mode: StepMode,
    take: &mut dyn FnMut(u64) -> Result<Costs>,
) -> Result<Option<TimedSteps>> {
    let mut timed = |steps: u64| -> Result<(f64, Costs)> {
        let begun = Instant::now();
        let costs = take(steps)?;
        // Steps that were broken off are none.
        if stop::is_wanted() {
            return Err(Error::Stopped);
        }
        Ok((begun.elapsed().as_secs_f64(), costs))
    };
    // The first step may include compilation.
    let (mut steps, mut most) = (1, LONGER * session.sizes.sample_secs);
    let mut first = timed(1)?.0;
    if mode != StepMode::Blocks {
        (first, most) = (timed(1)?.0, session.sizes.sample_secs);
    }
    if first > most {
        return Ok(None);
    }
    if mode != StepMode::Blocks {
        steps = (session.sizes.steps_secs / first).clamp(2.0, 1000.0) as u64;
        timed(steps)?;
    }
    let samples = if mode == StepMode::Blocks { 1 } else { SAMPLES };
    let rounds = (samples * session.sizes.rounds.0).max(3);
    let (mut secs, mut parts, mut mean) = (Vec::new(), Vec::new(), Costs::default());
    for _ in 0..rounds {
        let (mut all, mut costs) = timed(steps)?;
        if mode != StepMode::Blocks {
            // Where half a second had 14 steps, an advance takes the time of a step more than they
            // do. So steps are timed by the difference of two advances.
            let (longer, more) = timed(3 * steps)?;
            let difference = 0.5 * (longer - all);
            // Other programs may have held up the first more than the second.
            let timed = if difference > 0.2 * longer { difference } else { longer / 3.0 };
            costs = more.plus(-1.0, &costs).times(0.5);
            // Likewise the part of the time that exchanges take, which is that of the longer advance.
            costs.exchanging = timed * more.exchanging / longer;
            all = timed;
        }
        secs.push(all / steps as f64);
        parts.push(costs.exchanging / all);
        mean = mean.plus(1.0 / (steps as f64 * rounds as f64), &costs);
    }
    let allocated = |gpu: &Arc<Gpu>| {
        gpu.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    };
    let memory = devices.iter().filter_map(allocated).max();
    let exchanging = Summary::of(&parts).map_or(f64::NAN, |summary| summary.median);
    Ok(Some(TimedSteps { secs, steps, mean, exchanging, memory }))
}

/// Predicts the time on several devices from measurements on one.
struct DevicesModel {
    /// Seconds of a step on one device.
    alone: f64,
    mode: StepMode,
    /// Interactions per second for forces of all bodies on all.
    rate: f64,
}

impl DevicesModel {
    /// The model for `n` bodies, with `alone` seconds per step on `gpu` alone; the other times are
    /// measured, unless it is the only device.
    fn of(mode: StepMode, gpu: &Arc<Gpu>, n: usize, alone: f64, is_only: bool) -> Result<Self> {
        let rate = if mode == StepMode::Blocks && !is_only { rate(gpu, n)? } else { f64::INFINITY };
        Ok(Self { alone, mode, rate })
    }

    /// Predicted seconds of a step on `count` devices with these exchanges.
    fn secs(&self, count: usize, costs: &Costs) -> f64 {
        if count == 1 {
            return self.alone;
        }
        let divided = match self.mode {
            StepMode::Blocks => costs.shared / self.rate,
            _ => self.alone,
        };
        let divided = divided.clamp(0.0, self.alone);
        let exchanges = match self.mode {
            mode if mode.tree().is_some() => DOMAINS[0] + DOMAINS[1] * costs.work.powf(2.0 / 3.0),
            _ => LATENCY * costs.exchanges + costs.bytes / BANDWIDTH,
        };
        self.alone - divided + divided / count as f64 + exchanges
    }
}

/// Interactions per second of accelerations and jerks of all bodies on all.
fn rate(gpu: &Arc<Gpu>, n: usize) -> Result<f64> {
    let bodies = virial(n)?;
    let mut engine = GpuTiers::new(Arc::clone(gpu), Precision::DoubleSingle)?;
    let mut sources = Sources::new(&bodies.position, &bodies.mass);
    sources.velocity = &bodies.velocity;
    engine.set_sources(&sources)?;
    let mut sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    sinks.velocity = &bodies.velocity;
    let (mut out, mut best) = (Forces::default(), f64::INFINITY);
    // The first may include compilation.
    for _ in 0..4 {
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &Outputs::only(Order::Jerk), &mut out)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok((n as f64).powi(2) / best)
}

fn plots_of_direct(records: &[Record]) -> Vec<Plot> {
    let mut plots = plots(records, DEVICES.name);
    let copies = by_series(of(records, DEVICES.name, RecordKind::Transfer), |record| {
        Some(CurvePoint::at(record.x, record.per_sec()? / 1e9))
    });
    if !copies.is_empty() {
        let x = PlotAxis::powers("copied by each device, in 16 bytes");
        plots.push(Plot::lines("Copies at once", x, PlotAxis::decades("GB/s"), copies));
    }
    plots
}

fn plots_of_tree(records: &[Record]) -> Vec<Plot> {
    plots(records, DEVICES_TREE.name)
}

fn plots(records: &[Record], figure: &'static str) -> Vec<Plot> {
    let own = of(records, figure, RecordKind::Devices)
        .filter(|record| StepMode::of(record).is_some())
        .filter_map(|record| Some((record, record.devices.as_ref()?)));
    type Row<'r> = (&'r Record, &'r DevicesFacts);
    let several = own.clone().filter(|(_, facts)| facts.devices > 1);
    let series = |(record, _): Row<'_>| record.series.clone();
    let alone = |record: &Record| {
        let is_it = |(other, facts): &Row<'_>| {
            facts.devices == 1 && other.x == record.x && StepMode::of(other) == StepMode::of(record)
        };
        own.clone().find(is_it)?.0.summary()
    };
    let mut speed_up = curves(several.clone(), series, |(record, facts): Row<'_>| {
        Some(CurvePoint::at(record.x, facts.speed_up?))
    });
    let model = curves(several.clone(), series, |(record, _): Row<'_>| {
        let predicted = record.work / record.predicted_per_sec?;
        Some(CurvePoint::at(record.x, alone(record)?.median / predicted))
    });
    let by_model = |curve: Curve| Curve {
        name: format!("{}, by the model", curve.name),
        look: CurveStyle::Predicted,
        ..curve
    };
    speed_up.extend(model.into_iter().map(by_model));
    if speed_up.is_empty() {
        return Vec::new();
    }
    let exchanging = curves(several, series, |(record, facts): Row<'_>| {
        Some(CurvePoint::at(record.x, 100.0 * facts.exchanging))
    });
    let plot = |title: &str, y: &str, curves| plot(title, PlotAxis::decades(OVER_N), y, curves);
    vec![
        plot("Speed-up by several devices", "time on one / time on all", speed_up),
        plot("Time spent in exchanges", "part of a step, %", exchanging),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unshared_time_is_not_divided_by_device_count() {
        let model = |mode, rate| DevicesModel { alone: 1.0, mode, rate };
        let costs = Costs { exchanges: 1.0, bytes: 2.5e9, shared: 3e9, ..Costs::default() };
        let overhead = LATENCY + 0.1;
        let pairs = model(StepMode::Pairs, f64::INFINITY);
        assert!((pairs.secs(2, &costs) - (0.5 + overhead)).abs() < 1e-12);
        assert_eq!(pairs.secs(1, &costs), 1.0);
        let tree = model(StepMode::Tree, f64::INFINITY);
        let in_domains = DOMAINS[0] + DOMAINS[1] * 1e4;
        let of_a_million = Costs { work: 1e6, ..costs };
        assert!((tree.secs(4, &of_a_million) - (0.25 + in_domains)).abs() < 1e-12);
        let blocks = model(StepMode::Blocks, 6e9);
        assert!((blocks.secs(2, &costs) - (0.75 + overhead)).abs() < 1e-12);
    }
}
