//! Runs on individual steps: kirin's tables 4.5 and 4.6, figures 4.7 and 4.8; Sapporo2's figure 6.

use std::sync::Arc;

use crate::wall_clock::Instant;

use super::Figure;
use super::curves::{OVER_N, curves, distinct, filled, median, of, plot};
use crate::bodies::Bodies;
use crate::diagnostics::{diagnose, relative_change};
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Precision, Sinks, Sources};
use crate::gpu::{Gpu, blocking};
use crate::integrate::blocks::{Attractors, BlockSettings, BlockSteps};
use crate::integrate::{HostSide, find};
use crate::measure::bench::record::rounded;
use crate::measure::plot::{CurvePoint, Plot, PlotAxis, short};
use crate::measure::{BenchSession, EngineTier, Record, RecordKind, RunFacts, RunOutcome};
use crate::scene::Scene;
use crate::sim::EngineKind;

pub(super) const BLOCKS: Figure = Figure::own("blocks", measure, plots);

/// Accuracies of Kirin's tables.
const ACCURACIES: [f64; 3] = [0.3, 0.2, 0.1];
/// Additional accuracies of its figures 4.7 and 4.8.
const CLOSER: [f64; 2] = [0.05, 0.025];
const SOFTENINGS: [f64; 2] = [1.0 / 256.0, 0.0];
/// Duration of Kirin's runs, and of Sapporo2's.
const QUARTER: f64 = 0.25;
const WHOLE: f64 = 1.0;
/// The longest step; bodies are synchronised at its multiples.
const DT_MAX: f64 = 1.0 / 16.0;
/// The time between two checks of whether to stop a run: on the host blocks end much more often, on
/// a device the host waits for each slice.
const HOST_SLICE: f64 = DT_MAX / 64.0;
const DEVICE_SLICE: f64 = DT_MAX / 4.0;
/// The largest fraction of the figure's time for a single run: if the noise of a precision drives
/// steps to zero, a run would take all of it.
const PART: f64 = 0.1;
/// Times grow at most as this power of N: N^2 per step of all bodies, and N^(1/3) more steps.
const GROWTH: f64 = 7.0 / 3.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct BlocksCase {
    /// Kirin's a, for hermite4; `None` for hermite6.
    a: Option<f64>,
    softening: f64,
    until: f64,
}

impl BlocksCase {
    fn integrator(self) -> &'static str {
        if self.a.is_some() { "hermite4" } else { "hermite6" }
    }

    fn blocks(self) -> BlockSettings {
        let eta = self.a.map_or(0.01, |a| rounded(a * a));
        BlockSettings { eta, eta6: 0.1, dt_max: DT_MAX, on_host: false }
    }

    fn name(self) -> String {
        self.a.map_or("hermite6".to_owned(), |a| format!("hermite4, a = {a}"))
    }

    /// Whether this run takes no less time than one of `other`: the same integrator, no less
    /// accurate, for at least as long.
    fn is_as_long_as(self, other: Self) -> bool {
        let as_strict = match (self.a, other.a) {
            (Some(a), Some(b)) => a <= b,
            (a, b) => a.is_none() && b.is_none(),
        };
        as_strict && self.until >= other.until
    }

    /// All cases at one number of bodies, the most informative first.
    fn all(closer: bool) -> Vec<Self> {
        let mut cases = Vec::new();
        for softening in SOFTENINGS {
            let more = CLOSER.into_iter().filter(|_| closer);
            let accuracies = ACCURACIES.into_iter().chain(more).map(Some).chain([None]);
            cases.extend(accuracies.map(|a| Self { a, softening, until: QUARTER }));
        }
        cases.push(Self { a: None, softening: SOFTENINGS[0], until: WHOLE });
        cases
    }
}

/// The engine, and whether it holds the bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Setup {
    tier: EngineTier,
    /// Whether the bodies live on the engine's device.
    resident: bool,
}

impl Setup {
    /// All engines for `case`: on a device the bodies live there, except once for comparison.
    fn all(tiers: &[EngineTier], case: BlocksCase) -> Vec<Self> {
        let compared = case.a == Some(0.1) && case.softening > 0.0;
        let mut all = Vec::new();
        for &tier in tiers {
            let can = tier.kind == EngineKind::Gpu && tier.precision != Precision::Single;
            if can {
                all.push(Self { tier, resident: true });
            }
            if !can || compared {
                all.push(Self { tier, resident: false });
            }
        }
        all
    }
}

/// All runs of `n` bodies.
fn runs(session: &BenchSession<'_>, tiers: &[EngineTier], n: usize) -> Vec<(BlocksCase, Setup)> {
    let cases = BlocksCase::all(session.sizes.runs_closer.contains(&n)).into_iter();
    let of_case = |case| Setup::all(tiers, case).into_iter().map(move |setup| (case, setup));
    cases.flat_map(of_case).collect()
}

fn measure(session: &mut BenchSession<'_>) -> Result<()> {
    let begun = Instant::now();
    let (gpu, budget) = (session.gpu.clone(), session.sizes.runs_secs);
    let mut tiers = session.tiers(BLOCKS.name)?;
    // Usually the fastest first, so that the cases skipped for lack of time are the least
    // informative.
    tiers.sort_by_key(|tier| {
        (tier.kind == EngineKind::Gpu, tier.precision != Precision::DoubleSingle)
    });
    // The longest of each kind so far: case, engine, N, seconds.
    let mut finished: Vec<(BlocksCase, Setup, usize, f64)> = Vec::new();
    // Runs that did not end within their time.
    let mut timed_out: Vec<(BlocksCase, Setup)> = Vec::new();
    let sizes = session.sizes.runs.clone();
    session.expect(sizes.iter().map(|n| runs(session, &tiers, *n).len()).sum());
    for n in sizes {
        let runs = runs(session, &tiers, n);
        for (k, &(case, setup)) in runs.iter().enumerate() {
            let doing = format!("N = {n}, {}, {}", case.name(), setup.tier.name());
            session.step(&doing)?;
            let left = budget - begun.elapsed().as_secs_f64();
            let most = left.min(PART * budget);
            let before = finished.iter().rev().find(|(c, t, ..)| (*c, *t) == (case, setup));
            let estimate = before
                .map_or(0.0, |(_, _, other, secs)| secs * (n as f64 / *other as f64).powf(GROWTH));
            let left_out = if left <= 0.0 {
                let rest = runs.len() - k - 1;
                Some(format!(
                    "left out, with {rest} more of this N: the {budget:.0} s of this figure are over"
                ))
            } else if timed_out.iter().any(|(c, t)| *t == setup && case.is_as_long_as(*c)) {
                Some("left out: a shorter run in this tier did not end".to_owned())
            } else if estimate > most {
                Some(format!(
                    "left out: it would take about {estimate:.0} s, but {most:.0} s are allowed"
                ))
            } else {
                None
            };
            let record = blank(session, n, case, setup);
            session.attempt(record, |session, record| {
                if let Some(why) = left_out {
                    return Err(Error::Outside(why));
                }
                let started = Instant::now();
                let mut go_on = || session.progress(0.0, &doing);
                let ran = run(gpu.as_ref(), n, case, setup, most, &mut go_on);
                // It timed out after its full share of the time.
                if ran.is_err() && left > most && started.elapsed().as_secs_f64() > most {
                    timed_out.push((case, setup));
                }
                let (outcome, secs) = ran?;
                finished.push((case, setup, n, secs));
                record.work = outcome.body_steps as f64 * n as f64;
                record.set_samples(&[secs]);
                if let Some(run) = &mut record.run {
                    run.outcome = Some(outcome);
                }
                Ok(())
            })?;
            if left <= 0.0 {
                break;
            }
        }
    }
    Ok(())
}

fn blank(session: &BenchSession<'_>, n: usize, case: BlocksCase, setup: Setup) -> Record {
    let tier = setup.tier;
    let BlockSettings { eta, eta6, dt_max, .. } = case.blocks();
    let run = RunFacts {
        integrator: case.integrator().to_owned(),
        engine: tier.kind.name().to_owned(),
        precision: tier.precision.name().to_owned(),
        resident: setup.resident,
        softening: case.softening,
        eta,
        eta6: case.a.is_none().then_some(eta6),
        dt_max,
        until: case.until,
        outcome: None,
    };
    let series = format!("{}, {}", case.name(), run.tier());
    let mut record = session.tier_record(BLOCKS.name, &series, tier);
    (record.kind, record.x) = (RecordKind::Run, n as f64);
    (record.sinks, record.sources) = (n as u64, n as u64);
    record.method = "wall clock".to_owned();
    record.run = Some(run);
    record
}

fn plummer(n: usize, softening: f64) -> Result<Bodies> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(n)?;
    scene.run.softening = softening;
    scene.build()
}

/// The energy in f64, whatever the run's engine.
fn energy(bodies: &Bodies, softening: f64) -> Result<f64> {
    let (mut engine, mut found) = (CpuDouble::new(), Forces::default());
    let (position, mass) = (&bodies.position[..], &bodies.mass[..]);
    let (sources, sinks) =
        (Sources::new(position, mass), Sinks::new(position, Identity::Offset(0)));
    engine.evaluate_from(&sources, &sinks, softening, &Outputs::POTENTIAL, &mut found)?;
    Ok(diagnose(bodies, &found.potential)?.energy())
}

/// Runs one case, for at most `most_secs`, and returns its result and seconds.
fn run(
    gpu: Option<&Arc<Gpu>>,
    n: usize,
    case: BlocksCase,
    setup: Setup,
    most_secs: f64,
    go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<(RunOutcome, f64)> {
    let HostSide::Blocks(scheme) = find(case.integrator())?.host else {
        return Err(Error::Outside("the integrator has no individual steps".to_owned()));
    };
    let mut bodies = plummer(n, case.softening)?;
    let before = energy(&bodies, case.softening)?;
    let (mass, id) = (bodies.mass.clone(), bodies.id.clone());
    let field = Attractors { mass: &mass, softening: case.softening, id: &id };
    let mut engine = setup.tier.engine(gpu)?;
    let engine = engine.as_mut();
    let started = BlockSteps::start(scheme, case.blocks(), &bodies, 0.0, &field, engine);
    let mut steps = blocking(started)?;
    if setup.resident {
        pollster::block_on(steps.move_to_device(&field, engine));
        if !steps.is_on_device() {
            return Err(Error::Outside(steps.describe_backend().to_owned()));
        }
    }
    let slice = if setup.resident { DEVICE_SLICE } else { HOST_SLICE };
    let mut target = 0.0;
    let begun = Instant::now();
    while target < case.until {
        target += slice;
        blocking(steps.advance(target, &field, engine))?;
        let secs = begun.elapsed().as_secs_f64();
        if target < case.until {
            go_on()?;
            if secs > most_secs {
                let (time, blocks) = (steps.time(), steps.stats().blocks);
                return Err(Error::Outside(format!(
                    "left out: after {secs:.0} s and {blocks} blocks it had come to t = {time:.4}"
                )));
            }
        }
    }
    let secs = begun.elapsed().as_secs_f64();
    steps.synchronise(case.until, &mut bodies, &mut Vec::new());
    let after = energy(&bodies, case.softening)?;
    let (blocks, body_steps) = (steps.stats().blocks, steps.stats().body_steps);
    let energy_error = rounded(relative_change(after, before).abs());
    Ok((RunOutcome { energy_error, blocks, body_steps }, secs))
}

/// A run with its result.
#[derive(Clone, Copy)]
struct BlocksRow<'r> {
    record: &'r Record,
    run: &'r RunFacts,
    outcome: RunOutcome,
}

impl BlocksRow<'_> {
    fn is_hermite6(&self) -> bool {
        self.run.integrator == "hermite6"
    }

    /// Kirin's a, computed from eta.
    fn a(&self) -> f64 {
        rounded(self.run.eta.sqrt())
    }

    /// Formats integrator and accuracy: `hermite4, a = 0.3`, or the integrator alone.
    fn case(&self) -> String {
        let tier = format!(", {}", self.run.tier());
        self.record.series.strip_suffix(&tier).unwrap_or(&self.record.series).to_owned()
    }
}

/// A quantity of a run.
type RunQuantity = fn(BlocksRow) -> Option<f64>;

fn plots(records: &[Record]) -> Vec<Plot> {
    let rows = of(records, BLOCKS.name, RecordKind::Run).filter_map(|record| {
        let run = record.run.as_ref()?;
        Some(BlocksRow { record, run, outcome: run.outcome? })
    });
    let tiers = distinct(rows.clone().map(|row| row.run.tier()));
    let tier = |row: BlocksRow| row.run.tier();
    let bodies = || PlotAxis::powers(OVER_N);
    let over_n = |y: RunQuantity| move |row: BlocksRow| Some(CurvePoint::at(row.record.x, y(row)?));
    let over_a = |y: RunQuantity| move |row: BlocksRow| Some(CurvePoint::at(row.a(), y(row)?));
    let error = |row: BlocksRow| Some(row.outcome.energy_error);
    let secs = |row: BlocksRow| median(row.record);
    let mut plots = Vec::new();
    for (softening, eps) in SOFTENINGS.into_iter().zip(["eps = 1/256", "eps = 0"]) {
        let quarter = rows
            .clone()
            .filter(move |row| row.run.softening == softening && row.run.until == QUARTER);
        for name in &tiers {
            let known = |row: &BlocksRow| row.is_hermite6() || ACCURACIES.contains(&row.a());
            let own = quarter.clone().filter(|row| row.run.tier() == *name && known(row));
            let title = format!("Energy error at t = 0.25, {eps}, {name}");
            let curves = curves(own, |row| row.case(), over_n(error));
            plots.push(plot(title, bodies(), "relative energy error", curves));
        }
        let strict = quarter.clone().filter(|row| !row.is_hermite6() && row.a() == 0.1);
        let steps = |row: BlocksRow| Some(row.outcome.body_steps as f64 / median(row.record)?);
        let title = format!("Steps of bodies, hermite4, a = 0.1, {eps}");
        let rates = curves(strict, tier, over_n(steps));
        plots.push(plot(title, bodies(), "steps per second", rates));
        // Kirin's figures 4.7 (softened) and 4.8.
        let closer = quarter.clone().filter(|row| {
            let here =
                |other: BlocksRow| other.record.x == row.record.x && CLOSER.contains(&other.a());
            !row.is_hermite6() && rows.clone().any(here)
        });
        let which = |row: BlocksRow| format!("N = {}, {}", short(row.record.x), row.run.tier());
        let a = || PlotAxis::linear("kirin's accuracy a, eta = a²");
        let times = curves(closer.clone(), which, over_a(secs));
        plots.push(plot(format!("Time to t = 0.25, hermite4, {eps}"), a(), "time, s", times));
        let title = format!("Energy error at t = 0.25, hermite4, {eps}");
        let errors = curves(closer, which, over_a(error));
        plots.push(plot(title, a(), "relative energy error", errors));
    }
    let whole = rows.filter(|row| row.run.until == WHOLE && row.is_hermite6());
    let sets: [(&str, &str, RunQuantity); 3] = [
        ("Time", "time, s", secs),
        ("Bodies per block", "bodies", |row| Some(row.outcome.mean_active())),
        ("Energy error", "relative energy error", error),
    ];
    for (what, y, value) in sets {
        let title = format!("{what}, hermite6 to t = 1, eps = 1/256");
        plots.push(plot(title, bodies(), y, curves(whole.clone(), tier, over_n(value))));
    }
    filled(plots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_those_of_the_papers() {
        let few = BlocksCase::all(false);
        assert_eq!(few.len(), 2 * 4 + 1);
        assert_eq!(BlocksCase::all(true).len(), 2 * 6 + 1);
        let etas: Vec<f64> = few[..3].iter().map(|case| case.blocks().eta).collect();
        assert_eq!(etas, [0.09, 0.04, 0.01]);
        assert_eq!((few[3].integrator(), few[3].blocks().eta6), ("hermite6", 0.1));
        assert!(few.iter().all(|case| case.blocks().validate().is_ok()));
        let whole = few[few.len() - 1];
        assert!(few[2].is_as_long_as(few[0]) && !few[0].is_as_long_as(few[2]));
        assert!(whole.is_as_long_as(few[3]) && !few[3].is_as_long_as(whole));
        assert!(!few[3].is_as_long_as(few[0]), "another integrator says nothing");
    }

    fn run_in(slices: u32) -> Bodies {
        let mut bodies = plummer(32, 0.01).unwrap();
        let HostSide::Blocks(scheme) = find("hermite4").unwrap().host else { unreachable!() };
        let (mass, id) = (bodies.mass.clone(), bodies.id.clone());
        let field = Attractors { mass: &mass, softening: 0.01, id: &id };
        let (settings, mut engine) = (BlockSettings::default(), CpuDouble::new());
        let started = BlockSteps::start(scheme, settings, &bodies, 0.0, &field, &mut engine);
        let mut steps = blocking(started).unwrap();
        for k in 1..=slices {
            let time = 0.125 * f64::from(k) / f64::from(slices);
            blocking(steps.advance(time, &field, &mut engine)).unwrap();
        }
        steps.synchronise(0.125, &mut bodies, &mut Vec::new());
        bodies
    }

    #[test]
    fn slices_do_not_change_the_bits() {
        let (whole, sliced) = (run_in(1), run_in(100));
        assert_eq!((whole.position, whole.velocity), (sliced.position, sliced.velocity));
    }

    #[test]
    fn the_sphere_is_in_standard_units() {
        let bodies = plummer(512, 0.0).unwrap();
        let energy = energy(&bodies, 0.0).unwrap();
        // The graininess of so few bodies is a few per cent.
        assert!((energy + 0.25).abs() < 0.03, "{energy}");
    }
}
