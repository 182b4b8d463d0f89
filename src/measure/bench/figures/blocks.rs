//! Runs on individual steps: kirin's tables 4.5 and 4.6, figures 4.7 and 4.8; Sapporo2's figure 6.

use std::time::Duration;

use web_time::Instant;

mod drawing;
mod pausing;

use drawing::plots;
use pausing::Pausing;

use super::Figure;
use crate::bodies::Bodies;
use crate::diagnostics::{diagnose, relative_change};
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::{Answers, ForceEngine, Identity, Precision, Sinks, Sources, Want};
use crate::gpu::blocking;
use crate::integrate::blocks::{Attractors, BlockSettings, BlockSteps};
use crate::integrate::{HostSide, find};
use crate::measure::bench::candidate::plain;
use crate::measure::bench::record::rounded;
use crate::measure::bench::session::EngineTier;
use crate::measure::{Kind, Record, RunFacts, RunOutcome, Session};
use crate::scene::Scene;
use crate::sim::EngineKind;

pub(super) const FIGURE: Figure = Figure {
    name: "blocks",
    title: "Runs on individual steps (kirin, tables 4.5 and 4.6; Sapporo2, figure 6)",
    about: "Plummer spheres in virial equilibrium, in standard units, to t = 0.25 and, as Sapporo2, to t = 1, \
            with and without softening, in each tier. Kirin's accuracy a stands in front of the root of Aarseth's \
            criterion, so that eta = a^2; hermite6 has eta = 0.01 and eta6 = 0.1. The energy error is that of \
            synchronised bodies, both energies computed in f64 whatever the tier. Times are those of the \
            steps, the first forces aside. What the time does not suffice for is left out and said to be.",
    measure,
    plots,
};

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
/// Interval at which a run checks whether to stop.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest fraction of the figure's time for a single run: if the noise of a precision drives
/// steps to zero, a run would take all of it.
const PART: f64 = 0.1;
/// Times grow at most as this power of N: N^2 per step of all bodies, and N^(1/3) more steps.
const GROWTH: f64 = 7.0 / 3.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    /// Kirin's a, for hermite4; `None` for hermite6.
    a: Option<f64>,
    softening: f64,
    until: f64,
}

impl Case {
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
    fn all(tiers: &[EngineTier], case: Case) -> Vec<Self> {
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

/// The result of a run with its seconds, or the reason for its absence.
type Ran = std::result::Result<(RunOutcome, f64), String>;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let begun = Instant::now();
    let budget = session.sizes.runs_secs;
    let mut tiers = session.tiers(FIGURE.name)?;
    // Usually the fastest first, so that the cases skipped for lack of time are the least
    // informative.
    tiers.sort_by_key(|tier| {
        (tier.kind == EngineKind::Gpu, tier.precision != Precision::DoubleSingle)
    });
    // The longest of each kind so far: case, engine, N, seconds.
    let mut finished: Vec<(Case, Setup, usize, f64)> = Vec::new();
    // Runs that did not end within their time.
    let mut timed_out: Vec<(Case, Setup)> = Vec::new();
    let sizes = session.sizes.runs;
    for (done, &n) in sizes.iter().enumerate() {
        let cases = Case::all(session.sizes.runs_closer.contains(&n));
        let runs: Vec<(Case, Setup)> = cases
            .iter()
            .flat_map(|case| Setup::all(&tiers, *case).into_iter().map(|setup| (*case, setup)))
            .collect();
        for (k, &(case, setup)) in runs.iter().enumerate() {
            let doing = format!("N = {n}, {}, {}", case.name(), setup.tier.name());
            let part = (done as f64 + k as f64 / runs.len() as f64) / sizes.len() as f64;
            if !session.progress(part, &doing) {
                return Ok(());
            }
            let mut record = blank(session, n, case, setup);
            let left = budget - begun.elapsed().as_secs_f64();
            let most = left.min(PART * budget);
            let before = finished.iter().rev().find(|(c, t, ..)| (*c, *t) == (case, setup));
            let estimate = before
                .map_or(0.0, |(_, _, other, secs)| secs * (n as f64 / *other as f64).powf(GROWTH));
            let started = Instant::now();
            let ran = if left <= 0.0 {
                let rest = runs.len() - k - 1;
                Err(format!(
                    "left out, with {rest} more of this N: the {budget:.0} s of this figure are over"
                ))
            } else if timed_out.iter().any(|(c, t)| *t == setup && case.is_as_long_as(*c)) {
                Err("left out: a shorter run in this tier did not end".to_owned())
            } else if estimate > most {
                Err(format!(
                    "left out: it would take about {estimate:.0} s, but {most:.0} s are allowed"
                ))
            } else {
                let mut go_on = |session: &mut Session<'_>| session.progress(part, &doing);
                match run(session, n, case, setup, most, &mut go_on) {
                    Err(error @ Error::Device(_)) => return Err(error),
                    Err(error) => Err(error.to_string()),
                    Ok(ran) => ran,
                }
            };
            if session.is_stopped() {
                return Ok(());
            }
            match ran {
                Ok((outcome, secs)) => {
                    finished.push((case, setup, n, secs));
                    record.work = outcome.body_steps as f64 * n as f64;
                    record.set_samples(&[secs]);
                    if let Some(run) = &mut record.run {
                        run.outcome = Some(outcome);
                    }
                }
                Err(reason) => {
                    // It timed out after its full share of the time.
                    if left > most && started.elapsed().as_secs_f64() > most {
                        timed_out.push((case, setup));
                    }
                    record.kind = Kind::Skipped;
                    record.remark = Some(plain(&reason));
                }
            }
            session.records.push(record);
            if left <= 0.0 {
                break;
            }
        }
    }
    Ok(())
}

fn blank(session: &Session<'_>, n: usize, case: Case, setup: Setup) -> Record {
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
    let mut record = session.tier_record(FIGURE.name, &series, tier);
    (record.kind, record.x) = (Kind::Run, n as f64);
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
    let (mut engine, mut found) = (CpuDouble::new(), Answers::default());
    let (position, mass) = (&bodies.position[..], &bodies.mass[..]);
    let (sources, sinks) =
        (Sources::new(position, mass), Sinks::new(position, Identity::Offset(0)));
    engine.evaluate_from(&sources, &sinks, softening, &Want::POTENTIAL, &mut found)?;
    Ok(diagnose(bodies, &found.potential)?.energy())
}

/// Runs one case, for at most `most_secs`; the inner error says why there is no result.
fn run(
    session: &mut Session<'_>,
    n: usize,
    case: Case,
    setup: Setup,
    most_secs: f64,
    go_on: &mut dyn FnMut(&mut Session<'_>) -> bool,
) -> Result<Ran> {
    let HostSide::Blocks(scheme) = find(case.integrator())?.host else {
        return Ok(Err("the integrator has no individual steps".to_owned()));
    };
    let mut bodies = plummer(n, case.softening)?;
    let before = energy(&bodies, case.softening)?;
    let (mass, id) = (bodies.mass.clone(), bodies.id.clone());
    let field = Attractors { mass: &mass, softening: case.softening, id: &id };
    let tier = setup.tier;
    let engine = tier.engine(session.gpu.as_ref())?;
    let mut engine = Pausing::new(engine);
    let started = BlockSteps::start(scheme, case.blocks(), &bodies, 0.0, &field, &mut engine);
    let mut steps = blocking(started)?;
    if setup.resident {
        pollster::block_on(steps.move_to_device(&field, &engine));
        if !steps.is_on_device() {
            return Ok(Err(steps.describe_backend().to_owned()));
        }
    }
    // On a device, a run cannot be paused within a slice.
    let slice = if setup.resident { DT_MAX / 4.0 } else { case.until };
    let mut target = slice;
    let begun = Instant::now();
    loop {
        engine.pause_at = Some(Instant::now() + PAUSE);
        match blocking(steps.advance(target, &field, &mut engine)) {
            Ok(()) if target >= case.until => break,
            Ok(()) => target += slice,
            Err(_) if engine.paused => engine.paused = false,
            Err(error) => return Err(error),
        }
        let secs = begun.elapsed().as_secs_f64();
        if !go_on(session) {
            return Ok(Err("interrupted".to_owned()));
        }
        if secs > most_secs {
            let (time, blocks) = (steps.time(), steps.stats().blocks);
            return Ok(Err(format!(
                "left out: after {secs:.0} s and {blocks} blocks it had come to t = {time:.4}"
            )));
        }
    }
    let secs = begun.elapsed().as_secs_f64();
    steps.synchronise(case.until, &mut bodies, &mut Vec::new());
    let after = energy(&bodies, case.softening)?;
    let (blocks, body_steps) = (steps.stats().blocks, steps.stats().body_steps);
    let energy_error = rounded(relative_change(after, before).abs());
    Ok(Ok((RunOutcome { energy_error, blocks, body_steps }, secs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_those_of_the_papers() {
        let few = Case::all(false);
        assert_eq!(few.len(), 2 * 4 + 1);
        assert_eq!(Case::all(true).len(), 2 * 6 + 1);
        let etas: Vec<f64> = few[..3].iter().map(|case| case.blocks().eta).collect();
        assert_eq!(etas, [0.09, 0.04, 0.01]);
        assert_eq!((few[3].integrator(), few[3].blocks().eta6), ("hermite6", 0.1));
        assert!(few.iter().all(|case| case.blocks().validate().is_ok()));
        let whole = few[few.len() - 1];
        assert!(few[2].is_as_long_as(few[0]) && !few[0].is_as_long_as(few[2]));
        assert!(whole.is_as_long_as(few[3]) && !few[3].is_as_long_as(whole));
        assert!(!few[3].is_as_long_as(few[0]), "another integrator says nothing");
    }

    #[test]
    fn the_sphere_is_in_standard_units() {
        let bodies = plummer(512, 0.0).unwrap();
        let energy = energy(&bodies, 0.0).unwrap();
        // The graininess of so few bodies is a few per cent.
        assert!((energy + 0.25).abs() < 0.03, "{energy}");
    }
}
