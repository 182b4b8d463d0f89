//! The tree: errors against all pairs in f64 and times of whole steps, against the opening angle
//! and the number of bodies. After Octgrav's paper.

use glam::DVec3;
use web_time::Instant;

use super::curves::{curves, filled, median, of};
use super::{Figure, Measure};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::tree::{Opening, TreeConfig};
use crate::forces::{
    self, ForceEngine, Forces, Identity, Method, Order, Outputs, Placement as Where, Precision,
    Sinks, Sources, Tools,
};
use crate::measure::bench::record::rounded;
use crate::measure::bench::session::is_fatal;
use crate::measure::plot::{Axis, Curve, CurvePoint, GREY, Plot, short};
use crate::measure::{Cloud, EngineTier, ErrorDistribution, Kind, Record, Session, TreeFacts};
use crate::sim::{ASKED_FOR, Choice, EngineKind, Settings, Simulation};

pub(super) const ERROR: Figure = Figure {
    name: "tree-error",
    title: "Errors of the tree (Octgrav, figure 4)",
    about: "The part of the bodies whose acceleration is off by more than so much of itself, for a Plummer sphere with \
            softening 0.01 of its length, against all pairs in f64 on 4,096 of its bodies. Octgrav's opening rule with \
            quadrupoles and theta from 0.2 to 0.7, from left to right, and the default rule of gravitile next to it. The paper \
            shows the same for 30,000, 100,000 and 1,000,000 bodies, in curves without numbers.",
    measure: Measure::Own(measure_error),
    plots: error_plots,
    concludes: &[],
};

pub(super) const THETA: Figure = Figure {
    name: "tree-theta",
    title: "The tree over the opening angle (Octgrav, figures 5 and 6)",
    about: "What the opening angle costs and what it gives, by Octgrav's rule with quadrupoles on a Plummer sphere: the \
            error that half of the bodies exceed, that which one in a hundred exceeds, and the time of a whole step, tree and \
            all. In grey what the paper says: errors grow as theta to the fourth, and the forces of a million bodies at 0.5 take \
            about a second (8800 Ultra, tree built on the host).",
    measure: Measure::Own(measure_theta),
    plots: theta_plots,
    concludes: &[],
};

pub(super) const N: Figure = Figure {
    name: "tree-n",
    title: "The tree over the number of bodies (Octgrav, figures 5 and 7)",
    about: "Errors, time of a whole step and how many times as long one by all pairs takes, by Octgrav's rule with quadrupoles \
            and by the usual one, on Plummer spheres. Where a step by all pairs would take too long its time is foreseen from \
            a smaller number, as N². In grey what the paper says: about a second for the forces of a million bodies \
            at 0.5, errors that double when N grows a hundredfold, a speed-up that grows as N / log N.",
    measure: Measure::Own(measure_n),
    plots: n_plots,
    concludes: &[],
};

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
pub(super) fn blank(session: &Session<'_>, figure: &str, config: &TreeConfig, n: usize) -> Record {
    let kind = if session.gpu.is_some() { EngineKind::Gpu } else { EngineKind::Cpu };
    let facts = TreeFacts::new(kind.name(), config, n);
    let tier = EngineTier { kind, precision: Precision::Single };
    let mut record = session.tier_record(figure, &facts.rule_in_words(), tier);
    record.kind = Kind::Tree;
    (record.sinks, record.sources) = (n as u64, n as u64);
    record.method = "wall clock".to_owned();
    record.tree = Some(facts);
    record
}

/// A Plummer sphere of scale length and mass 1, at rest, with some of its accelerations in f64.
pub(super) struct Problem {
    bodies: Bodies,
    index: Vec<usize>,
    right: Vec<DVec3>,
}

impl Problem {
    pub(super) fn new(n: usize) -> Result<Self> {
        let bodies = Cloud::Plummer.bodies(n);
        let step = (n / SINKS).max(1);
        let index: Vec<usize> = (0..n).step_by(step).take(SINKS).collect();
        let at: Vec<DVec3> = index.iter().map(|&i| bodies.position[i]).collect();
        let own: Vec<u32> = index.iter().map(|&i| i as u32).collect();
        let mut out = Forces::default();
        CpuDouble::new().evaluate_from(
            &Sources::new(&bodies.position, &bodies.mass),
            &Sinks::new(&at, Identity::Each(&own)),
            SOFTENING,
            &Outputs::ACCELERATION,
            &mut out,
        )?;
        Ok(Self { bodies, index, right: out.acceleration })
    }

    /// Adds to a record the errors of a tree, and the time of its forces including transfers.
    pub(super) fn measure(
        &self,
        session: &Session<'_>,
        config: &TreeConfig,
        record: &mut Record,
    ) -> Result<()> {
        let Bodies { position, mass, .. } = &self.bodies;
        let gpu = session.gpu.as_ref();
        let place = if gpu.is_some() { Where::Gpu } else { Where::Cpu };
        let tools = Tools { gpu, tree: *config, ..Tools::default() };
        let mut engine = forces::make(place, Method::Tree, None, Order::Acceleration, &tools)?;
        let mut out = Forces::default();
        engine.set_sources(&Sources::new(position, mass))?;
        let sinks = Sinks::new(position, Identity::Offset(0));
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &Outputs::ACCELERATION, &mut out)?;
        let secs = begun.elapsed().as_secs_f64();
        let found: Vec<DVec3> = self.index.iter().map(|&i| out.acceleration[i]).collect();
        let errors = ErrorDistribution::of(&found, &self.right);
        record.tree = record.tree.take().map(|facts| facts.with_errors(&errors));
        record.rms_error = Some(rounded(errors.rms())).filter(|rms| rms.is_finite());
        record.work = engine.interactions(self.index.len()).max(1) as f64;
        record.set_samples(&[secs]);
        Ok(())
    }
}

/// One number of bodies of a figure, all rules.
struct Rules<'a> {
    figure: &'static Figure,
    n: usize,
    rules: &'a [TreeConfig],
    x: fn(&TreeFacts) -> f64,
}

impl Rules<'_> {
    /// A record for each rule; failures are recorded as skipped, with the reason. `part` is the
    /// fraction of the figure that is done when this much of it is. Returns false once the user
    /// wants to stop.
    fn each(
        &self,
        session: &mut Session<'_>,
        what: &str,
        part: &dyn Fn(f64) -> f64,
        measure: &dyn Fn(&Session<'_>, &TreeConfig, &mut Record) -> Result<()>,
    ) -> Result<bool> {
        for (k, rule) in self.rules.iter().enumerate() {
            let doing = format!("N = {}, {what}{rule}", self.n);
            if !session.progress(part(k as f64 / self.rules.len() as f64), &doing) {
                return Ok(false);
            }
            let mut record = blank(session, self.figure.name, rule, self.n);
            record.x = record.tree.as_ref().map_or(0.0, self.x);
            match measure(session, rule, &mut record) {
                Ok(()) => (),
                Err(error) if is_fatal(&error) => return Err(error),
                Err(error) => record = record.skipped(&error.to_string()),
            }
            session.records.push(record);
        }
        Ok(true)
    }

    /// Records the errors of all rules.
    fn errors(&self, session: &mut Session<'_>, part: &dyn Fn(f64) -> f64) -> Result<bool> {
        if !session.progress(part(0.0), &format!("N = {}, all pairs in f64", self.n)) {
            return Ok(false);
        }
        let problem = Problem::new(self.n)?;
        self.each(session, "", part, &|session, rule, record| {
            problem.measure(session, rule, record)
        })
    }

    /// Records times of steps with all rules; `direct_secs` is that of a step by all pairs.
    fn times(
        &self,
        session: &mut Session<'_>,
        direct_secs: Option<f64>,
        part: &dyn Fn(f64) -> f64,
    ) -> Result<bool> {
        let bodies = Cloud::Plummer.bodies(self.n);
        self.each(session, "steps, ", part, &|session, rule, record| {
            record.work = self.n as f64;
            let secs = step_secs(session, Method::Tree, rule, &bodies)?;
            let secs = secs.ok_or_else(|| Error::Outside(TOO_SLOW.to_owned()))?;
            record.set_samples(&secs);
            let ratio =
                direct_secs.zip(median(record)).map(|(direct, tree)| rounded(direct / tree));
            if let Some(facts) = &mut record.tree {
                facts.speed_up = ratio;
            }
            Ok(())
        })
    }
}

/// Why a step was not timed.
pub(super) const TOO_SLOW: &str = "one step takes longer than is allowed here";

/// Several samples of seconds per step with `method`, as runs take them; `None` if one exceeds the
/// limit.
fn step_secs(
    session: &Session<'_>,
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
    let mut sim = Simulation::on(choice, bodies.clone(), settings)?;
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

fn number_of_bodies(facts: &TreeFacts) -> f64 {
    facts.bodies as f64
}

fn measure_error(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree, session.sizes.tree_thetas);
    let rules: Vec<TreeConfig> =
        thetas.iter().map(|&theta| octgrav(theta)).chain([TreeConfig::default()]).collect();
    for (done, n) in sizes.into_iter().enumerate() {
        let part = |part: f64| (done as f64 + part) / sizes.len() as f64;
        let rules = Rules { figure: &ERROR, n, rules: &rules, x: number_of_bodies };
        if !rules.errors(session, &part)? {
            break;
        }
    }
    Ok(())
}

fn measure_theta(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree, session.sizes.tree_thetas);
    let rules: Vec<TreeConfig> = thetas.iter().map(|&theta| octgrav(theta)).collect();
    for (done, n) in sizes.into_iter().enumerate() {
        let half = |half: f64, part: f64| (done as f64 + 0.5 * (half + part)) / sizes.len() as f64;
        let rules = Rules { figure: &THETA, n, rules: &rules, x: |facts| facts.parameter };
        if !rules.errors(session, &|part| half(0.0, part))?
            || !rules.times(session, None, &|part| half(1.0, part))?
        {
            break;
        }
    }
    Ok(())
}

fn measure_n(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree_n, session.sizes.tree_thetas);
    let middle = thetas.contains(&THETA_OF_OCTGRAV).then_some(THETA_OF_OCTGRAV).into_iter();
    let chosen = [thetas[0]].into_iter().chain(middle).chain(thetas.last().copied());
    let mut rules: Vec<TreeConfig> = chosen.map(octgrav).collect();
    rules.dedup();
    rules.push(TreeConfig::default());
    // The number of bodies and the measured or predicted seconds of a step by all pairs.
    let mut direct: Option<(usize, f64)> = None;
    for (done, &n) in sizes.iter().enumerate() {
        let third =
            |third: f64, part: f64| (done as f64 + (third + part) / 3.0) / sizes.len() as f64;
        if !session.progress(third(0.0, 0.0), &format!("N = {n}, a step by all pairs")) {
            break;
        }
        let predicted = direct.map(|(before, secs)| secs * (n as f64 / before as f64).powi(2));
        let secs = match predicted {
            Some(secs) if secs > session.sizes.sample_secs => Some(secs),
            _ => step_secs(session, Method::Direct, &rules[0], &Cloud::Plummer.bodies(n))?
                .and_then(|secs| secs.into_iter().reduce(f64::min))
                .or(predicted),
        };
        direct = secs.map(|secs| (n, secs)).or(direct);
        let rules = Rules { figure: &N, n, rules: &rules, x: number_of_bodies };
        if !rules.errors(session, &|part| third(1.0, part))?
            || !rules.times(session, secs, &|part| third(2.0, part))?
        {
            break;
        }
    }
    Ok(())
}

/// A record with its facts about the tree.
pub(super) type Row<'r> = (&'r Record, &'r TreeFacts);

pub(super) fn rows<'r>(
    records: &'r [Record],
    figure: &'static str,
) -> impl Iterator<Item = Row<'r>> + Clone {
    of(records, figure, Kind::Tree).filter_map(|record| Some((record, record.tree.as_ref()?)))
}

pub(super) fn size((_, facts): Row<'_>) -> String {
    format!("{} bodies", short(facts.bodies as f64))
}

fn rule((_, facts): Row<'_>) -> String {
    facts.rule_in_words()
}

/// The error that this fraction of the bodies exceeds, against `x`.
fn exceeded(part: f64, x: fn(&TreeFacts) -> f64) -> impl Fn(Row<'_>) -> Option<CurvePoint> {
    move |(_, facts)| {
        Some(CurvePoint::at(x(facts), facts.error_of(part).filter(|error| *error > 0.0)?))
    }
}

/// Milliseconds of a whole step, against `x`; records with errors have times of forces.
fn step_millis(x: fn(&TreeFacts) -> f64) -> impl Fn(Row<'_>) -> Option<CurvePoint> {
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
        let places = observed.map(|(part, error)| CurvePoint::at(*error, *part)).collect();
        Curve::measured(facts.rule_in_words(), places, number % GREY)
    };
    let plot = |n: &u64| {
        let of_size = own.clone().map(|(_, facts)| facts).filter(|facts| facts.bodies == *n);
        let curves = of_size.enumerate().map(distribution).collect();
        let title = format!("Errors of accelerations, {} bodies", short(*n as f64));
        let y = Axis::decades("part of the bodies with a larger one");
        Plot::lines(title, Axis::decades("relative error"), y, curves)
    };
    let mut plots: Vec<Plot> = sizes.iter().map(plot).collect();
    // A summary of the curves over the number of bodies.
    let medians = curves(own.clone(), rule, exceeded(0.5, number_of_bodies));
    let y = Axis::decades("relative error that half of the bodies exceed");
    let x = Axis::decades("number of bodies N");
    plots.extend(filled([Plot::lines("Median errors", x, y, medians)]));
    plots
}

fn theta_plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, THETA.name);
    let theta = |facts: &TreeFacts| facts.parameter;
    let plot =
        |title: &str, y: &str, mut curves: Vec<Curve>, paper: &dyn Fn(&Curve) -> Option<Curve>| {
            let x = Axis::linear("opening angle theta").marked(&curves);
            curves.extend(curves.first().and_then(paper));
            Plot::lines(title, x, Axis::decades(y), curves)
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
        let places = vec![CurvePoint::at(THETA_OF_OCTGRAV, 1000.0)];
        Some(Curve::measured("Octgrav, 10⁶ bodies, forces (2010)", places, GREY))
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
        let x = Axis::decades("number of bodies N").marked(&curves);
        Plot::lines(title, x, Axis::decades(y), curves)
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
