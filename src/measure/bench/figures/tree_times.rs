//! Times of the tree on a device: the parts of a force evaluation, how well the walk uses the
//! device, and whole steps compared with Bonsai.

use crate::wall_clock::Instant;

use super::Figure;
use super::ceilings::ceilings_of;
use super::curves::{OVER_N, curves, filled, median, recoloured};
use super::tree::{RecordedTree, SOFTENING, TreeProblem, blank, octgrav, rows, size};
use crate::error::Result;
use crate::forces::tree::gpu::{Stage, TimedStage, WalkShape};
use crate::forces::tree::{Opening, TreeConfig};
use crate::gpu::blocking;
use crate::measure::bench::facts::WalkFacts;
use crate::measure::bench::session::is_fatal;
use crate::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis, short};
use crate::measure::{BenchSession, Ceiling, Cloud, Record, StepTimer, Timer, TreeTimer};

pub(super) const PARTS: Figure = Figure::own("tree-parts", measure_parts, parts_plots);

/// The parts by name, in the order in which they run.
const NAMES: [(&str, TimedStage); 8] = [
    ("keys", TimedStage::Build(Stage::Keys)),
    ("sort", TimedStage::Build(Stage::Sort)),
    ("cells", TimedStage::Build(Stage::Cells)),
    ("moments", TimedStage::Build(Stage::Moments)),
    ("groups", TimedStage::Build(Stage::Groups)),
    ("walk and forces", TimedStage::Walk),
    ("far cells", TimedStage::Far),
    ("balance", TimedStage::Balance),
];

/// The series of all parts in one pass, and of a step of a run.
const WHOLE: &str = "whole";
const STEP: &str = "step";

/// Warm-up evaluations, because an idle device is slow at first.
const WARMING: usize = 3;

/// A record about the tree on the session's adapter.
fn record(
    session: &BenchSession<'_>,
    (figure, series): (&Figure, &str),
    config: &TreeConfig,
    n: usize,
    method: &str,
) -> Record {
    let mut record = blank(session, figure.name, config, n);
    (record.series, record.method) = (series.to_owned(), method.to_owned());
    (record.x, record.work) = (n as f64, n as f64);
    record
}

/// `None` if there is too little memory, as there would be for all larger sizes.
fn if_it_fits<T>(made: Result<T>) -> Result<Option<T>> {
    match made {
        Err(error) if is_fatal(&error) => Err(error),
        made => Ok(made.ok()),
    }
}

fn measure_parts(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let sizes = session.sizes.tree_n.clone();
    session.expect(sizes.len());
    for n in sizes {
        session.step(&format!("N = {n}, the tree's parts"))?;
        let config = TreeConfig::default();
        let points = Cloud::Plummer.places(n);
        let timer = TreeTimer::new(&gpu, &config, &points, SOFTENING as f32);
        let Some(mut timer) = if_it_fits(timer)? else { break };
        let (mut parts, mut whole) = (Vec::new(), Vec::new());
        for round in 0..WARMING + session.sizes.rounds.0 {
            let (times, secs) = (timer.parts()?, timer.whole()?);
            if round >= WARMING {
                parts.push(times);
                whole.push(secs);
            }
        }
        let of = |part: TimedStage| parts.iter().map(|times| times.of(part)).collect::<Vec<f64>>();
        let method = timer.stopwatch().method().name();
        drop(timer);
        let mut steps = StepTimer::of_tree(&gpu, Cloud::Plummer.bodies(n), SOFTENING, config);
        let step = blocking(steps.time(&WalkShape::DEFAULT, session.sizes.rounds.0))?;
        let all = NAMES.map(|(name, part)| (name, of(part), method)).into_iter();
        let more = [(WHOLE, whole, method), (STEP, step, steps.stopwatch().method().name())];
        for (name, samples, method) in all.chain(more) {
            let mut record = record(session, (&PARTS, name), &config, n, method);
            record.set_samples(&samples);
            session.records.push(record);
        }
    }
    Ok(())
}

fn parts_plots(records: &[Record]) -> Vec<Plot> {
    // One curve per part, which is the record's series.
    let series = NAMES.iter().map(|(name, _)| *name).chain([WHOLE, STEP]);
    let curve = |name| {
        let own = rows(records, PARTS.name).filter(move |(record, _)| record.series == name);
        let millis = |(record, facts): RecordedTree<'_>| {
            Some(CurvePoint::at(facts.bodies as f64, median(record)? * 1e3))
        };
        curves(own, |(record, _)| record.series.clone(), millis)
    };
    let curves = recoloured(series.flat_map(curve).collect());
    let x = PlotAxis::decades(OVER_N).marked(&curves);
    filled([Plot::lines(
        "Time of each part",
        x,
        PlotAxis::decades("time per evaluation, ms"),
        curves,
    )])
}

pub(super) const RATES: Figure = Figure::own("tree-rates", measure_rates, rates_plots);

/// Flops of an interaction with a body and with a cell, as counted in the paper's third footnote.
const FLOPS: [f64; 2] = [38.0, 70.0];
/// FP32 instructions of these interactions here, and of testing a cell.
const SLOTS: [f64; 3] = [13.0, 32.0, 60.0];
/// Bytes that a group reads of a cell it tests; Octgrav's rule needs its box too.
const BYTES_OF_A_CELL: f64 = 64.0;

const BODIES: &str = "list of bodies";
const CELLS: &str = "list of cells";
const REST: &str = "walk";
const MACHINERY: &str = "turns and tiles";

/// Warm-up walks.
const WARMING_WALKS: usize = 2;

fn measure_rates(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    session.ceilings()?;
    let sizes = session.sizes.tree;
    let configs = session.sizes.tree_thetas.iter().map(|&theta| octgrav(theta));
    let configs: Vec<TreeConfig> = configs.chain([TreeConfig::default()]).collect();
    session.expect(sizes.len() * configs.len());
    for n in sizes {
        let points = Cloud::Plummer.places(n);
        for config in &configs {
            session.step(&format!("N = {n}, lists by {config}"))?;
            let timer = TreeTimer::new(&gpu, config, &points, SOFTENING as f32);
            let Some(mut timer) = if_it_fits(timer)? else { return Ok(()) };
            let samples = timer.walk_samples(WARMING_WALKS, session.sizes.rounds.0)?;
            let method = timer.stopwatch().method().name();
            let counts = samples.counts;
            let done = [counts.body_interactions, counts.cell_interactions, counts.looked_at];
            let [bodies, cells, looked_at] = done.map(|number| number as f64);
            let slots = SLOTS[0] * bodies + SLOTS[1] * cells + SLOTS[2] * looked_at;
            let of = [
                (BODIES, FLOPS[0] * bodies, samples.bodies),
                (CELLS, FLOPS[1] * cells, samples.cells),
                (REST, BYTES_OF_A_CELL * looked_at, samples.rest),
                (WHOLE, slots, samples.whole),
                (
                    MACHINERY,
                    (counts.turns + counts.tiles[0] + counts.tiles[1]) as f64,
                    samples.bare,
                ),
            ];
            for (name, work, samples) in of {
                let mut record = record(session, (&RATES, name), config, n, method);
                (record.x, record.work) = (config.opening.parameter(), work);
                if let Some(facts) = &mut record.tree {
                    facts.walk = Some(WalkFacts::of(&counts));
                }
                if work > 0.0 && samples.iter().all(|secs| *secs > 0.0) {
                    record.set_samples(&samples);
                } else {
                    let why = "too little of it to be distinguished from the rest of the walk";
                    record = record.skipped(why);
                }
                session.records.push(record);
            }
        }
    }
    Ok(())
}

fn rates_plots(records: &[Record]) -> Vec<Plot> {
    let ceilings = ceilings_of(records);
    let plot = |title: &str,
                y: &str,
                series: &str,
                roof: (&str, Ceiling, f64),
                paper: Option<(&str, f64)>| {
        let own = rows(records, RATES.name)
            .filter(|(record, facts)| record.series == series && facts.rule == "octgrav");
        let mut curves = curves(own, size, |(record, facts): RecordedTree<'_>| {
            Some(CurvePoint::at(facts.parameter, record.per_sec()? / 1e9))
        });
        let x = PlotAxis::linear("opening angle theta").marked(&curves);
        if !curves.is_empty() {
            let ends = [x.marks.first(), x.marks.last()];
            let across = |height: f64| -> Vec<CurvePoint> {
                ends.into_iter().flatten().map(|&x| CurvePoint::at(x, height)).collect()
            };
            let (name, ceiling, factor) = roof;
            if let Some(ceilings) = ceilings {
                let height = ceilings.get(ceiling) * factor / 1e9;
                curves.push(Curve::predicted(name, across(height), 5));
            }
            if let Some((name, height)) = paper {
                curves.push(Curve::predicted(name, across(height), GREY));
            }
        }
        Plot::lines(title, x, PlotAxis::decades(y), curves)
    };
    let both = Some(("Octgrav, both lists (2010)", 100.0));
    filled([
        plot(
            "Interactions with bodies",
            "GFLOP/s at 38 flops each",
            BODIES,
            ("interactions in registers", Ceiling::Pair, FLOPS[0]),
            both,
        ),
        plot(
            "Interactions with cells",
            "GFLOP/s at 70 flops each",
            CELLS,
            ("32 instructions each", Ceiling::Fma, FLOPS[1] / SLOTS[1]),
            both,
        ),
        plot(
            "The walk without its lists",
            "GB/s of cells looked at",
            REST,
            ("storage bandwidth", Ceiling::Storage, 1.0),
            Some(("Octgrav, first walk (2010)", 50.0)),
        ),
        plot(
            "The whole walk",
            "10⁹ issue slots/s",
            WHOLE,
            ("multiply-adds", Ceiling::Fma, 1.0),
            None,
        ),
    ])
}

pub(super) const BONSAI: Figure = Figure::own("tree-bonsai", measure_bonsai, bonsai_plots);

/// Numbers of bodies, with milliseconds of a whole step of Bonsai for each of [`BONSAI_THETAS`].
const BONSAI_MILLIS: [(usize, [f64; 2]); 3] =
    [(262_144, [2.54, 3.97]), (1_048_576, [6.18, 11.14]), (4_194_304, [22.7, 42.8])];
/// Its opening angles: the default, and a careful one.
const BONSAI_THETAS: [f64; 2] = [0.75, 0.5];
const ALPHAS: [f64; 3] = [0.013, 0.003, 0.0008];
/// Duration of the warm-up steps, as a fraction of the second that a sample may take.
const WARMING_SECS: f64 = 0.8;

fn measure_bonsai(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let openings: Vec<Opening> = ALPHAS
        .map(|alpha| Opening::Acceleration { alpha })
        .into_iter()
        .chain(BONSAI_THETAS.map(|theta| Opening::Bonsai { theta }))
        .collect();
    // With reduced sizes, as in the other figures of the tree, nothing is drawn in grey.
    let most = session.sizes.tree_n.last().copied().unwrap_or(0);
    let mut sizes: Vec<usize> =
        BONSAI_MILLIS.iter().map(|(n, _)| *n).filter(|n| *n <= 2 * most).collect();
    if sizes.is_empty() {
        sizes.push(most.max(1));
    }
    session.expect(sizes.len() * (openings.len() + 1));
    for n in sizes {
        session.step(&format!("N = {n}, all pairs in f64"))?;
        let problem = TreeProblem::new(n)?;
        for &opening in &openings {
            let config = TreeConfig { opening, ..TreeConfig::default() };
            session.step(&format!("N = {n}, {config}"))?;
            let mut record = blank(session, BONSAI.name, &config, n);
            if if_it_fits(problem.measure(session, &config, &mut record))?.is_none() {
                return Ok(());
            }
            let bodies = Cloud::Plummer.bodies(n);
            let mut steps = StepTimer::of_tree(&gpu, bodies, SOFTENING, config);
            // The device's clock dropped while the host compiled and compared.
            let begun = Instant::now();
            let warming = WARMING_SECS * session.sizes.sample_secs.min(1.0);
            while begun.elapsed().as_secs_f64() < warming {
                blocking(steps.sample(&WalkShape::DEFAULT))?;
            }
            let samples = blocking(steps.time(&WalkShape::DEFAULT, session.sizes.rounds.0))?;
            (record.x, record.work) = (n as f64, n as f64);
            record.method = steps.stopwatch().method().name().to_owned();
            record.set_samples(&samples);
            session.records.push(record);
        }
    }
    Ok(())
}

fn bonsai_plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, BONSAI.name);
    let by = |is_bonsai: bool, who: &str| {
        let of =
            own.clone().filter(move |(_, facts)| facts.rule.starts_with("bonsai") == is_bonsai);
        curves(
            of,
            |row| format!("{}, {who}", size(row)),
            |(record, _)| {
                let error = record.rms_error.filter(|rms| *rms > 0.0)?;
                Some(CurvePoint::at(error, median(record)? * 1e3))
            },
        )
    };
    let ours = [by(false, "acceleration"), by(true, "Bonsai's rule")].concat();
    let mut curves = recoloured(ours);
    if curves.is_empty() {
        return Vec::new();
    }
    for (n, millis) in BONSAI_MILLIS {
        // Placed at the errors that its rule has here.
        let error = |theta: f64| {
            let is_it = |(record, facts): &RecordedTree<'_>| {
                facts.bodies == n as u64
                    && facts.rule == "bonsai"
                    && facts.parameter == theta
                    && record.rms_error.is_some()
            };
            own.clone().find(is_it).and_then(|(record, _)| record.rms_error)
        };
        let points = BONSAI_THETAS.into_iter().zip(millis);
        let points: Vec<CurvePoint> = points
            .filter_map(|(theta, millis)| Some(CurvePoint::at(error(theta)?, millis)))
            .collect();
        if !points.is_empty() {
            let name = format!("{} bodies, Bonsai", short(n as f64));
            curves.push(Curve::measured(name, points, GREY));
        }
    }
    let x = PlotAxis::decades("rms error of an acceleration");
    let y = PlotAxis::decades("time per step, ms");
    vec![Plot::lines("Time of a whole step against its error", x, y, curves)]
}
