//! Octgrav, figure 7 (left and middle): the parts of a force evaluation's time.

use super::tree::{curves, exactly, on_device, rows, sphere};
use super::{Figure, marks};
use crate::error::{Error, Result};
use crate::forces::tree::TreeConfig;
use crate::forces::tree::gpu::{Part, Stage, WalkShape};
use crate::measure::plot::{Axis, Lines, Plot};
use crate::measure::{Cloud, Record, Session, Timer, TreeStepTimer, TreeTimer};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-parts",
    title: "What a force evaluation by the tree is made of (Octgrav, figure 7)",
    about: "Time of keys and the cube, their sort, cells, moments, groups of sinks, and the walk with its forces, on Plummer \
            spheres with the usual opening rule, each part in a pass of its own; \"whole\" is all of them in one, and \"step\" a whole step of a run, with leapfrog. \
            On a graphics adapter alone.",
    measure,
    plots,
};

/// The parts by name, in the order in which they run.
const PARTS: [(&str, Part); 7] = [
    ("keys", Part::Build(Stage::Keys)),
    ("sort", Part::Build(Stage::Sort)),
    ("cells", Part::Build(Stage::Cells)),
    ("moments", Part::Build(Stage::Moments)),
    ("groups", Part::Build(Stage::Groups)),
    ("walk and forces", Part::Walk),
    ("balance", Part::Balance),
];

/// A step of a run, shown among the parts.
const STEP: &str = "step";

/// Warm-up evaluations, because an idle device is slow at first.
const WARMING: usize = 3;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let sizes = session.sizes.tree_n;
    for (done, &n) in sizes.iter().enumerate() {
        let part = done as f64 / sizes.len() as f64;
        if !session.progress(part, &format!("N = {n}, the tree's parts")) {
            break;
        }
        let config = TreeConfig::default();
        let mut timer = match TreeTimer::new(&gpu, &config, &Cloud::Plummer.places(n), 0.01) {
            Ok(timer) => timer,
            Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
            // Out of memory, as would be all larger sizes.
            Err(_) => break,
        };
        let (mut parts, mut whole) = (Vec::new(), Vec::new());
        for round in 0..WARMING + session.sizes.rounds.0 {
            let (times, secs) = (timer.parts()?, timer.whole()?);
            if round >= WARMING {
                parts.push(times);
                whole.push(secs);
            }
        }
        let of = |part: Part| parts.iter().map(|times| times.of(part)).collect::<Vec<f64>>();
        let all = PARTS.iter().map(|(name, part)| (*name, of(*part)));
        let mut all: Vec<_> = all.chain([("whole", whole)]).collect();
        let method = timer.stopwatch().method().name();
        drop(timer);
        let mut steps = TreeStepTimer::new(&gpu, sphere(n), 0.01, config);
        all.push((STEP, steps.time(&WalkShape::DEFAULT, session.sizes.rounds.0)?));
        for (name, samples) in all {
            let method = if name == STEP { steps.method().name() } else { method };
            let mut record = on_device(session, FIGURE.name, name, &config, n, method);
            record.set_samples(&samples);
            session.records.push(record);
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    // One curve per part, which is the record's series.
    let mut lines = Vec::new();
    for name in PARTS.iter().map(|(name, _)| *name).chain(["whole", STEP]) {
        let own = rows(records, FIGURE.name).filter(|(record, _)| record.series == name);
        let millis = |record: &Record, n: f64| Some(exactly(n, record.summary()?.median * 1e3));
        let curve =
            curves(own, |_| name.to_owned(), |record, facts| millis(record, facts.bodies as f64));
        lines.extend(curve);
    }
    for (colour, curve) in lines.iter_mut().enumerate() {
        curve.colour = colour % super::GREY;
    }
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Plot::Lines(Lines {
        title: "Time of each part".to_owned(),
        x: Axis::decades("number of bodies N").with_marks(marks(&lines)),
        y: Axis::decades("time per evaluation, ms"),
        curves: lines,
    })]
}
