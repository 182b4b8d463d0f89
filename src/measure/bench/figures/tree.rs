//! Shared code of the tree's figures: bodies, errors against all pairs in f64, times of steps.

use glam::DVec3;
use web_time::Instant;

use super::GREY;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::tree::{Opening, TreeConfig};
use crate::forces::{
    self, Answers, ForceEngine, Identity, Method, Order, Place as Where, Sinks, Sources, Tools,
    Want,
};
use crate::measure::bench::candidate::plain;
use crate::measure::bench::record::rounded;
use crate::measure::bench::session::EngineTier;
use crate::measure::plot::{Curve, Look, Place};
use crate::measure::{Cloud, ErrorDistribution, Kind, Record, Session, TreeFacts};
use crate::sim::{ASKED_FOR, Choice, EngineKind, Settings, Simulation};

/// Plummer softening for bodies whose scale length is 1.
const SOFTENING: f64 = 0.01;
/// Number of sinks whose forces are compared.
const SINKS: usize = 4096;

/// Octgrav's opening rule.
pub(super) fn octgrav(theta: f64) -> TreeConfig {
    TreeConfig { opening: Opening::Octgrav { theta }, ..TreeConfig::default() }
}

/// The engine that the session measures.
fn kind(session: &Session<'_>) -> EngineKind {
    if session.gpu.is_some() { EngineKind::Gpu } else { EngineKind::Cpu }
}

fn blank(session: &Session<'_>, figure: &str, config: &TreeConfig, n: usize) -> Record {
    let kind = kind(session);
    let precision = forces::Precision::Single;
    let facts = TreeFacts::new(kind.name(), config, n);
    let series = facts.rule_in_words();
    let mut record = session.tier_record(figure, &series, EngineTier { kind, precision });
    record.kind = Kind::Tree;
    (record.sinks, record.sources) = (n as u64, n as u64);
    record.method = "wall clock".to_owned();
    record.tree = Some(facts);
    record
}

/// A record about the tree on the session's adapter, timed by this method.
pub(super) fn on_device(
    session: &Session<'_>,
    figure: &str,
    series: &str,
    config: &TreeConfig,
    n: usize,
    method: &str,
) -> Record {
    let mut record = blank(session, figure, config, n);
    (record.series, record.method) = (series.to_owned(), method.to_owned());
    (record.x, record.work) = (n as f64, n as f64);
    record
}

/// A Plummer sphere of scale length and mass 1, at rest.
pub(super) fn sphere(n: usize) -> Bodies {
    Cloud::Plummer.bodies(n)
}

/// Bodies with some of their accelerations in f64.
pub(super) struct Problem {
    bodies: Bodies,
    index: Vec<usize>,
    right: Vec<DVec3>,
}

impl Problem {
    pub(super) fn new(n: usize) -> Result<Self> {
        let bodies = sphere(n);
        let step = (n / SINKS).max(1);
        let index: Vec<usize> = (0..n).step_by(step).take(SINKS).collect();
        let at: Vec<DVec3> = index.iter().map(|&i| bodies.position[i]).collect();
        let own: Vec<u32> = index.iter().map(|&i| i as u32).collect();
        let mut out = Answers::default();
        CpuDouble::new().evaluate_from(
            &Sources::new(&bodies.position, &bodies.mass),
            &Sinks::new(&at, Identity::Each(&own)),
            SOFTENING,
            &Want::ACCELERATION,
            &mut out,
        )?;
        Ok(Self { bodies, index, right: out.acceleration })
    }

    /// A record of the errors of a tree, and of the time of its forces including transfers.
    pub(super) fn record(
        &self,
        session: &Session<'_>,
        figure: &str,
        config: &TreeConfig,
    ) -> Result<Record> {
        let Bodies { position, mass, .. } = &self.bodies;
        let gpu = session.gpu.as_ref();
        let place = if gpu.is_some() { Where::Gpu } else { Where::Cpu };
        let tools = Tools { gpu, tree: *config, ..Tools::default() };
        let mut engine = forces::make(place, Method::Tree, None, Order::Acceleration, &tools)?;
        let mut out = Answers::default();
        engine.set_sources(&Sources::new(position, mass))?;
        let sinks = Sinks::new(position, Identity::Offset(0));
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &Want::ACCELERATION, &mut out)?;
        let secs = begun.elapsed().as_secs_f64();
        let found: Vec<DVec3> = self.index.iter().map(|&i| out.acceleration[i]).collect();
        let errors = ErrorDistribution::of(&found, &self.right);
        let mut record = blank(session, figure, config, position.len());
        record.tree = record.tree.map(|facts| facts.with_errors(&errors));
        record.rms_error = Some(rounded(errors.rms())).filter(|rms| rms.is_finite());
        record.work = engine.interactions(self.index.len()).max(1) as f64;
        record.set_samples(&[secs]);
        Ok(record)
    }
}

/// Records errors of all `rules` with `n` bodies; failures are recorded as skipped, with the
/// reason. Returns false once the user wants to stop.
pub(super) fn errors(
    session: &mut Session<'_>,
    figure: &str,
    n: usize,
    rules: &[TreeConfig],
    part: &dyn Fn(f64) -> f64,
    x: fn(&TreeFacts) -> f64,
) -> Result<bool> {
    if !session.progress(part(0.0), &format!("N = {n}, all pairs in f64")) {
        return Ok(false);
    }
    let problem = Problem::new(n)?;
    for (k, rule) in rules.iter().enumerate() {
        if !session.progress(part(k as f64 / rules.len() as f64), &format!("N = {n}, {rule}")) {
            return Ok(false);
        }
        let mut record = match problem.record(session, figure, rule) {
            Ok(record) => record,
            Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
            Err(error) => skipped(blank(session, figure, rule, n), &error.to_string()),
        };
        record.x = record.tree.as_ref().map_or(0.0, x);
        session.records.push(record);
    }
    Ok(true)
}

/// A record without samples.
fn skipped(mut record: Record, reason: &str) -> Record {
    record.kind = Kind::Skipped;
    record.remark = Some(plain(reason));
    record
}

/// Several samples of seconds per step with `method`, as runs take them; `None` if one exceeds the
/// limit.
pub(super) fn step_secs(
    session: &Session<'_>,
    method: Method,
    config: &TreeConfig,
    bodies: &Bodies,
) -> Result<Option<Vec<f64>>> {
    let kind = kind(session);
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

/// Records times of steps with all `rules` and `n` bodies; `direct_secs` is that of a step by all
/// pairs.
pub(super) fn times(
    session: &mut Session<'_>,
    figure: &str,
    n: usize,
    rules: &[TreeConfig],
    direct_secs: Option<f64>,
    part: &dyn Fn(f64) -> f64,
    x: fn(&TreeFacts) -> f64,
) -> Result<bool> {
    let bodies = sphere(n);
    for (k, rule) in rules.iter().enumerate() {
        let doing = format!("N = {n}, steps, {rule}");
        if !session.progress(part(k as f64 / rules.len() as f64), &doing) {
            return Ok(false);
        }
        let mut record = blank(session, figure, rule, n);
        record.work = n as f64;
        record.x = record.tree.as_ref().map_or(0.0, x);
        match step_secs(session, Method::Tree, rule, &bodies) {
            Ok(Some(secs)) => record.set_samples(&secs),
            Ok(None) => record = skipped(record, "one step takes longer than is allowed here"),
            Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
            Err(error) => record = skipped(record, &error.to_string()),
        }
        let median = record.summary().map(|summary| summary.median);
        if let Some(facts) = &mut record.tree {
            facts.speed_up = direct_secs.zip(median).map(|(direct, tree)| rounded(direct / tree));
        }
        session.records.push(record);
    }
    Ok(true)
}

/// A figure's records with their facts about the tree.
pub(super) fn rows<'r>(
    records: &'r [Record],
    figure: &'static str,
) -> impl Iterator<Item = (&'r Record, &'r TreeFacts)> + Clone {
    let own = records.iter().filter(move |r| r.figure == figure && r.kind == Kind::Tree);
    own.filter_map(|record| Some((record, record.tree.as_ref()?)))
}

/// A value without a range.
pub(super) fn exactly(x: f64, y: f64) -> Place {
    Place { x, y, range: (y, y) }
}

/// Curves by name, in the order in which they first appear.
pub(super) fn curves<'r>(
    rows: impl Iterator<Item = (&'r Record, &'r TreeFacts)>,
    name: impl Fn(&TreeFacts) -> String,
    place: impl Fn(&Record, &TreeFacts) -> Option<Place>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (record, facts) in rows {
        let Some(place) = place(record, facts) else { continue };
        let name = name(facts);
        let known = curves.iter().position(|curve| curve.name == name);
        let index = known.unwrap_or_else(|| {
            let (colour, look) = (curves.len() % GREY, Look::Measured);
            curves.push(Curve { name, places: Vec::new(), look, colour });
            curves.len() - 1
        });
        curves[index].places.push(place);
    }
    for curve in &mut curves {
        curve.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves
}

/// Published values, in grey.
pub(super) fn in_grey(name: &str, places: Vec<Place>, look: Look) -> Curve {
    Curve { name: name.to_owned(), places, look, colour: GREY }
}
