//! Whole steps with the tree against their error, compared with Bonsai.

use web_time::Instant;

use super::tree::{Problem, curves, exactly, in_grey, rows, sphere};
use super::{Curve, Figure};
use crate::error::{Error, Result};
use crate::forces::tree::gpu::WalkShape;
use crate::forces::tree::{Opening, TreeConfig};
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Record, Session, Timer, TreeFacts, TreeStepTimer};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-bonsai",
    title: "Whole steps by the tree against their error, beside Bonsai",
    about: "Time of a whole step with a new tree, leapfrog and all, on Plummer spheres, by the usual rule with three alphas and by \
            Bonsai's rule with theta 0.75 and 0.5; the error is the rms over 4,096 sinks against all pairs in f64. In grey the steps of \
            Bonsai itself on an NVIDIA H200 (driver 580, its main branch built for CUDA 13, without density sums, mean of 20 steps \
            by CUDA events), at the errors that its rule has here. On a graphics adapter alone.",
    measure,
    plots,
};

/// Numbers of bodies, with milliseconds of a whole step of Bonsai for each of [`THETAS`].
const BONSAI: [(usize, [f64; 2]); 3] =
    [(262_144, [2.54, 3.97]), (1_048_576, [6.18, 11.14]), (4_194_304, [22.7, 42.8])];
/// Its opening angles: the default, and a careful one.
const THETAS: [f64; 2] = [0.75, 0.5];
/// Duration of the warm-up steps, as a fraction of the second that a sample may take.
const WARMING_SECS: f64 = 0.8;
const ALPHAS: [f64; 3] = [0.013, 0.003, 0.0008];

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let openings: Vec<Opening> = ALPHAS
        .map(|alpha| Opening::Acceleration { alpha })
        .into_iter()
        .chain(THETAS.map(|theta| Opening::Bonsai { theta }))
        .collect();
    // With reduced sizes, as in the other figures of the tree, nothing is drawn in grey.
    let most = session.sizes.tree_n.last().copied().unwrap_or(0);
    let mut sizes: Vec<usize> = BONSAI.iter().map(|(n, _)| *n).filter(|n| *n <= 2 * most).collect();
    if sizes.is_empty() {
        sizes.push(most.max(1));
    }
    for (done, &n) in sizes.iter().enumerate() {
        let part =
            |k: usize| (done as f64 + k as f64 / (openings.len() + 1) as f64) / sizes.len() as f64;
        if !session.progress(part(0), &format!("N = {n}, all pairs in f64")) {
            return Ok(());
        }
        let problem = Problem::new(n)?;
        for (k, &opening) in openings.iter().enumerate() {
            let config = TreeConfig { opening, ..TreeConfig::default() };
            if !session.progress(part(k + 1), &format!("N = {n}, {config}")) {
                return Ok(());
            }
            let mut record = match problem.record(session, FIGURE.name, &config) {
                Ok(record) => record,
                Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
                // Out of memory, as would be all larger sizes.
                Err(_) => return Ok(()),
            };
            let mut steps = TreeStepTimer::new(&gpu, sphere(n), 0.01, config);
            // The device's clock dropped while the host compiled and compared.
            let begun = Instant::now();
            while begun.elapsed().as_secs_f64() < WARMING_SECS * session.sizes.sample_secs.min(1.0)
            {
                steps.sample(&WalkShape::DEFAULT)?;
            }
            let samples = steps.time(&WalkShape::DEFAULT, session.sizes.rounds.0)?;
            (record.x, record.work) = (n as f64, n as f64);
            record.method = steps.method().name().to_owned();
            record.set_samples(&samples);
            session.records.push(record);
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, FIGURE.name);
    let place = |record: &Record| {
        Some(exactly(record.rms_error.filter(|rms| *rms > 0.0)?, record.summary()?.median * 1e3))
    };
    let by = |is_bonsai: bool, who: &str| {
        let of =
            own.clone().filter(move |(_, facts)| facts.rule.starts_with("bonsai") == is_bonsai);
        curves(
            of,
            |facts| format!("{} bodies, {who}", short(facts.bodies as f64)),
            |record, _| place(record),
        )
    };
    let mut lines: Vec<Curve> = by(false, "acceleration");
    lines.extend(by(true, "Bonsai's rule"));
    if lines.is_empty() {
        return Vec::new();
    }
    for (colour, curve) in lines.iter_mut().enumerate() {
        curve.colour = colour % super::GREY;
    }
    for (n, millis) in BONSAI {
        // Placed at the errors that its rule has here.
        let error = |theta: f64| {
            let is_it = |(record, facts): &(&Record, &TreeFacts)| {
                facts.bodies == n as u64
                    && facts.rule == "bonsai"
                    && facts.parameter == theta
                    && record.rms_error.is_some()
            };
            own.clone().find(is_it).and_then(|(record, _)| record.rms_error)
        };
        let places = THETAS.into_iter().zip(millis);
        let places: Vec<_> =
            places.filter_map(|(theta, millis)| Some(exactly(error(theta)?, millis))).collect();
        if !places.is_empty() {
            lines.push(in_grey(
                &format!("{} bodies, Bonsai", short(n as f64)),
                places,
                Look::Measured,
            ));
        }
    }
    vec![Plot::Lines(Lines {
        title: "Time of a whole step against its error".to_owned(),
        x: Axis::decades("rms error of an acceleration"),
        y: Axis::decades("time per step, ms"),
        curves: lines,
    })]
}
