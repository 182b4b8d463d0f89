//! The tree: errors against all pairs in f64 and times of whole steps, against the opening angle
//! and the number of bodies. After Octgrav's paper.

use crate::wall_clock::Instant;

use super::Figure;
use super::curves::{OVER_N, curves, filled, median, of};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::tree::{Opening, TreeConfig};
use crate::forces::{
    self, Forces, Identity, Method, Order, Outputs, Placement as Where, Precision, Sinks, Sources,
    Tools,
};
use crate::measure::bench::record::rounded;
use crate::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis, short};
use crate::measure::{
    BenchSession, Cloud, EngineTier, ErrorDistribution, Record, RecordKind, SampledForces,
    TreeFacts,
};
use crate::sim::{ASKED_FOR, Choice, EngineKind, Settings, Simulation};

pub(super) const ERROR: Figure = Figure::own("tree-error", measure_error, error_plots);

pub(super) const THETA: Figure = Figure::own("tree-theta", measure_theta, theta_plots);

pub(super) const N: Figure = Figure::own("tree-n", measure_n, n_plots);

/// Plummer softening for bodies whose scale length is 1.
pub(super) const SOFTENING: f64 = 0.01;
/// Number of sinks whose forces are compared.
const SINKS: usize = 4096;
/// Octgrav's preferred angle.
const THETA_OF_OCTGRAV: f64 = 0.5;

/// Octgrav's opening rule.
pub(super) fn octgrav(theta: f64) -> TreeConfig {
    TreeConfig { opening: Opening::Octgrav { theta }, ..TreeConfig::default() }
}

/// A record about a tree of `n` bodies, without measurements yet.
pub(super) fn blank(
    session: &BenchSession<'_>,
    figure: &str,
    config: &TreeConfig,
    n: usize,
) -> Record {
    let kind = if session.gpu.is_some() { EngineKind::Gpu } else { EngineKind::Cpu };
    let facts = TreeFacts::new(kind.name(), config, n);
    let tier = EngineTier { kind, precision: Precision::Single };
    let mut record = session.tier_record(figure, &facts.rule_in_words(), tier);
    record.kind = RecordKind::Tree;
    (record.sinks, record.sources) = (n as u64, n as u64);
    record.method = "wall clock".to_owned();
    record.tree = Some(facts);
    record
}

/// A Plummer sphere of scale length and mass 1, at rest, with some of its accelerations in f64.
pub(super) struct TreeProblem {
    bodies: Bodies,
    right: SampledForces,
}

impl TreeProblem {
    pub(super) fn new(n: usize) -> Result<Self> {
        let bodies = Cloud::Plummer.bodies(n);
        let sources = Sources::new(&bodies.position, &bodies.mass);
        let (mut engine, outputs) = (CpuDouble::new(), Outputs::ACCELERATION);
        let right = SampledForces::new(&mut engine, &sources, SINKS, SOFTENING, &outputs)?;
        Ok(Self { bodies, right })
    }

    /// Adds to a record the errors of a tree, and the time of its forces including transfers.
    pub(super) fn measure(
        &self,
        session: &BenchSession<'_>,
        config: &TreeConfig,
        record: &mut Record,
    ) -> Result<()> {
        let Bodies { position, mass, .. } = &self.bodies;
        let gpu = session.gpu.as_ref();
        let point = if gpu.is_some() { Where::Gpu } else { Where::Cpu };
        let tools = Tools { gpu, tree: *config, ..Tools::default() };
        let mut engine = forces::make(point, Method::Tree, None, Order::Acceleration, &tools)?;
        let mut out = Forces::default();
        engine.set_sources(&Sources::new(position, mass))?;
        let sinks = Sinks::new(position, Identity::Offset(0));
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &Outputs::ACCELERATION, &mut out)?;
        let secs = begun.elapsed().as_secs_f64();
        let right = &self.right;
        let found = right.of(&out.acceleration);
        let errors = ErrorDistribution::of(&found, &right.forces.acceleration);
        record.tree = record.tree.take().map(|facts| facts.with_errors(&errors));
        record.rms_error = Some(rounded(errors.rms())).filter(|rms| rms.is_finite());
        record.work = engine.interactions(right.index.len()).max(1) as f64;
        record.set_samples(&[secs]);
        Ok(())
    }
}

/// Why a step was not timed.
pub(super) const TOO_SLOW: &str = "one step takes longer than is allowed here";

/// Several samples of seconds per step with `method`, as runs take them; `None` if one exceeds the
/// limit.
fn step_secs(
    session: &BenchSession<'_>,
    method: Method,
    config: &TreeConfig,
    bodies: &Bodies,
) -> Result<Option<Vec<f64>>> {
    let kind = if session.gpu.is_some() { EngineKind::Gpu } else { EngineKind::Cpu };
    let settings = Settings {
        softening: SOFTENING,
        dt: 1e-6,
        engine: kind,
        tree: *config,
        known: session.known.clone(),
        ..Settings::default()
    };
    let choice = Choice::of(kind, method, ASKED_FOR, session.gpu.clone());
    let mut sim = Simulation::builder(bodies.clone(), settings).choice(choice).build()?;
    let mut timed = |steps: u64| -> Result<f64> {
        let begun = Instant::now();
        sim.step(steps)?;
        Ok(begun.elapsed().as_secs_f64() / steps as f64)
    };
    // The first step may include compilation. Its time sets the number of steps per sample.
    timed(1)?;
    let first = timed(1)?;
    if first > session.sizes.sample_secs {
        return Ok(None);
    }
    let steps = (0.02 / first).clamp(1.0, 16.0) as u64;
    (0..session.sizes.rounds.0).map(|_| timed(steps)).collect::<Result<_>>().map(Some)
}

/// The measurements of a figure of the tree: errors at each number of bodies by each rule, then
/// whole steps.
struct Measurements<'a> {
    figure: &'static str,
    sizes: &'a [usize],
    rules: &'a [TreeConfig],
    /// The x of a record.
    x: fn(&TreeFacts) -> f64,
    /// Whether whole steps are timed, and whether they are compared with steps by all pairs.
    with_steps: bool,
    with_all_pairs: bool,
}

impl Measurements<'_> {
    fn take(&self, session: &mut BenchSession<'_>) -> Result<()> {
        let [steps, pairs] = [self.with_steps, self.with_all_pairs].map(usize::from);
        session.expect(self.sizes.len() * (1 + pairs + (1 + steps) * self.rules.len()));
        // The number of bodies and the measured or predicted seconds of a step by all pairs.
        let mut pairs: Option<(usize, f64)> = None;
        for &n in self.sizes {
            if self.with_all_pairs {
                session.step(&format!("N = {n}, a step by all pairs"))?;
                pairs = secs_of_all_pairs(session, &self.rules[0], n, pairs)?.or(pairs);
            }
            session.step(&format!("N = {n}, all pairs in f64"))?;
            let problem = TreeProblem::new(n)?;
            for rule in self.rules {
                session.step(&format!("N = {n}, {rule}"))?;
                let record = self.record(session, rule, n);
                session
                    .attempt(record, |session, record| problem.measure(session, rule, record))?;
            }
            if self.with_steps {
                let secs = pairs.filter(|(of, _)| *of == n).map(|(_, secs)| secs);
                self.time_steps(session, n, secs)?;
            }
        }
        Ok(())
    }

    /// Times steps by each rule; `all_pairs` is the time of a step by all pairs.
    fn time_steps(
        &self,
        session: &mut BenchSession<'_>,
        n: usize,
        all_pairs: Option<f64>,
    ) -> Result<()> {
        let bodies = Cloud::Plummer.bodies(n);
        for rule in self.rules {
            session.step(&format!("N = {n}, steps, {rule}"))?;
            let mut record = self.record(session, rule, n);
            record.work = n as f64;
            session.attempt(record, |session, record| {
                let secs = step_secs(session, Method::Tree, rule, &bodies)?;
                record.set_samples(&secs.ok_or_else(|| Error::Outside(TOO_SLOW.to_owned()))?);
                let ratio =
                    all_pairs.zip(median(record)).map(|(pairs, tree)| rounded(pairs / tree));
                if let Some(facts) = &mut record.tree {
                    facts.speed_up = ratio;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn record(&self, session: &BenchSession<'_>, rule: &TreeConfig, n: usize) -> Record {
        let mut record = blank(session, self.figure, rule, n);
        record.x = record.tree.as_ref().map_or(0.0, self.x);
        record
    }
}

/// `n` and the seconds of a step by all pairs: predicted from fewer bodies, `before`, if it takes
/// longer than is allowed.
fn secs_of_all_pairs(
    session: &BenchSession<'_>,
    rule: &TreeConfig,
    n: usize,
    before: Option<(usize, f64)>,
) -> Result<Option<(usize, f64)>> {
    let predicted = before.map(|(fewer, secs)| secs * (n as f64 / fewer as f64).powi(2));
    let secs = match predicted {
        Some(secs) if secs > session.sizes.sample_secs => Some(secs),
        _ => step_secs(session, Method::Direct, rule, &Cloud::Plummer.bodies(n))?
            .and_then(|secs| secs.into_iter().reduce(f64::min))
            .or(predicted),
    };
    Ok(secs.map(|secs| (n, secs)))
}

fn number_of_bodies(facts: &TreeFacts) -> f64 {
    facts.bodies as f64
}

/// Octgrav's rule with these angles.
fn by_angle(thetas: &[f64]) -> Vec<TreeConfig> {
    thetas.iter().map(|&theta| octgrav(theta)).collect()
}

fn measure_error(session: &mut BenchSession<'_>) -> Result<()> {
    let (sizes, mut rules) = (session.sizes.tree, by_angle(&session.sizes.tree_thetas));
    rules.push(TreeConfig::default());
    Measurements {
        figure: ERROR.name,
        sizes: &sizes,
        rules: &rules,
        x: number_of_bodies,
        with_steps: false,
        with_all_pairs: false,
    }
    .take(session)
}

fn measure_theta(session: &mut BenchSession<'_>) -> Result<()> {
    let (sizes, rules) = (session.sizes.tree, by_angle(&session.sizes.tree_thetas));
    Measurements {
        figure: THETA.name,
        sizes: &sizes,
        rules: &rules,
        x: |facts| facts.parameter,
        with_steps: true,
        with_all_pairs: false,
    }
    .take(session)
}

fn measure_n(session: &mut BenchSession<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree_n.clone(), &session.sizes.tree_thetas);
    let is_chosen = |k: usize| k == 0 || k + 1 == thetas.len() || thetas[k] == THETA_OF_OCTGRAV;
    let chosen: Vec<f64> = (0..thetas.len()).filter(|k| is_chosen(*k)).map(|k| thetas[k]).collect();
    let mut rules = by_angle(&chosen);
    rules.push(TreeConfig::default());
    Measurements {
        figure: N.name,
        sizes: &sizes,
        rules: &rules,
        x: number_of_bodies,
        with_steps: true,
        with_all_pairs: true,
    }
    .take(session)
}

/// A record with its facts about the tree.
pub(super) type RecordedTree<'r> = (&'r Record, &'r TreeFacts);

pub(super) fn rows<'r>(
    records: &'r [Record],
    figure: &'static str,
) -> impl Iterator<Item = RecordedTree<'r>> + Clone {
    of(records, figure, RecordKind::Tree).filter_map(|record| Some((record, record.tree.as_ref()?)))
}

pub(super) fn size((_, facts): RecordedTree<'_>) -> String {
    format!("{} bodies", short(facts.bodies as f64))
}

fn rule((_, facts): RecordedTree<'_>) -> String {
    facts.rule_in_words()
}

/// The error that this fraction of the bodies exceeds, against `x`.
fn exceeded(
    part: f64,
    x: fn(&TreeFacts) -> f64,
) -> impl Fn(RecordedTree<'_>) -> Option<CurvePoint> {
    move |(_, facts)| {
        Some(CurvePoint::at(x(facts), facts.error_of(part).filter(|error| *error > 0.0)?))
    }
}

/// Milliseconds of a whole step, against `x`; records with errors have times of forces.
fn step_millis(x: fn(&TreeFacts) -> f64) -> impl Fn(RecordedTree<'_>) -> Option<CurvePoint> {
    move |(record, facts)| {
        let secs = median(record).filter(|_| facts.errors.is_empty())?;
        Some(CurvePoint::at(x(facts), secs * 1e3))
    }
}

fn error_plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, ERROR.name);
    let mut sizes: Vec<u64> = own.clone().map(|(_, facts)| facts.bodies).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // A foreign file may contain any number of them.
    sizes.truncate(6);
    let distribution = |(number, facts): (usize, &TreeFacts)| {
        let observed = facts.errors.iter().filter(|(_, error)| *error > 0.0);
        let points = observed.map(|(part, error)| CurvePoint::at(*error, *part)).collect();
        Curve::measured(facts.rule_in_words(), points, number % GREY)
    };
    let plot = |n: &u64| {
        let of_size = own.clone().map(|(_, facts)| facts).filter(|facts| facts.bodies == *n);
        let curves = of_size.enumerate().map(distribution).collect();
        let title = format!("Errors of accelerations, {} bodies", short(*n as f64));
        let y = PlotAxis::decades("part of the bodies with a larger one");
        Plot::lines(title, PlotAxis::decades("relative error"), y, curves)
    };
    let mut plots: Vec<Plot> = sizes.iter().map(plot).collect();
    // A summary of the curves over the number of bodies.
    let medians = curves(own.clone(), rule, exceeded(0.5, number_of_bodies));
    let y = PlotAxis::decades("relative error that half of the bodies exceed");
    let x = PlotAxis::decades(OVER_N);
    plots.extend(filled([Plot::lines("Median errors", x, y, medians)]));
    plots
}

fn theta_plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, THETA.name);
    let theta = |facts: &TreeFacts| facts.parameter;
    let plot =
        |title: &str, y: &str, mut curves: Vec<Curve>, paper: &dyn Fn(&Curve) -> Option<Curve>| {
            let x = PlotAxis::linear("opening angle theta").marked(&curves);
            curves.extend(curves.first().and_then(paper));
            Plot::lines(title, x, PlotAxis::decades(y), curves)
        };
    let errors = |title: &str, part: f64| {
        let curves = curves(own.clone(), size, exceeded(part, theta));
        let law = |first: &Curve| {
            let name = "as theta⁴ (Octgrav)";
            first.law(name, GREY, |theta, last| last.y * (theta / last.x).powi(4))
        };
        plot(title, "relative error", curves, &law)
    };
    let octgrav = |_: &Curve| {
        let points = vec![CurvePoint::at(THETA_OF_OCTGRAV, 1000.0)];
        Some(Curve::measured("Octgrav, 10⁶ bodies, forces (2010)", points, GREY))
    };
    let times = curves(own.clone(), size, step_millis(theta));
    filled([
        errors("Errors that half of the bodies exceed", 0.5),
        errors("Errors that one body in a hundred exceeds", 0.01),
        plot("Time of a whole step", "time per step, ms", times, &octgrav),
    ])
}

fn n_plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, N.name);
    // With a growth law through the last point of the first curve.
    let with_law = |mut curves: Vec<Curve>, name: &str, law: &dyn Fn(f64) -> f64| {
        let y = |n: f64, last: CurvePoint| last.y * law(n) / law(last.x);
        curves.extend(curves.first().and_then(|first| first.law(name, GREY, y)));
        curves
    };
    let plot = |title: &str, y: &str, curves: Vec<Curve>| {
        let x = PlotAxis::decades(OVER_N).marked(&curves);
        Plot::lines(title, x, PlotAxis::decades(y), curves)
    };
    let errors = |title: &str, part: f64| {
        let curves = curves(own.clone(), rule, exceeded(part, number_of_bodies));
        let name = "doubled by a hundredfold N (Octgrav)";
        plot(title, "relative error", with_law(curves, name, &|n| n.powf(2f64.log(100.0))))
    };
    let times = curves(own.clone(), rule, step_millis(number_of_bodies));
    let mut times = with_law(times, "as N log N", &|n| n * n.ln());
    if !times.is_empty() {
        let octgrav = vec![CurvePoint::at(1e6, 1000.0)];
        times.push(Curve::measured("Octgrav, theta 0.5, forces (2010)", octgrav, GREY));
    }
    let speed_up = curves(own.clone(), rule, |(_, facts)| {
        Some(CurvePoint::at(number_of_bodies(facts), facts.speed_up?))
    });
    let speed_up = with_law(speed_up, "as N / log N (Octgrav)", &|n| n / n.ln());
    filled([
        errors("Errors that half of the bodies exceed", 0.5),
        errors("Errors that one body in a hundred exceeds", 0.01),
        plot("Time of a whole step", "time per step, ms", times),
        plot("Speed-up over all pairs", "time by all pairs / time by the tree", speed_up),
    ])
}
