//! Octgrav, figure 8: how well the walk uses the device.

use super::roofline::ceilings_of;
use super::tree::{curves, exactly, in_grey, octgrav, on_device, rows};
use super::{Curve, Figure, marks};
use crate::error::{Error, Result};
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Ceiling, Cloud, Kind, Record, Session, TreeFacts, TreeTimer};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-rates",
    title: "How well the walk uses the device (Octgrav, figure 8)",
    about: "What the two lists of the walk and the walk itself reach over the opening angle, by Octgrav's rule with \
            quadrupoles on Plummer spheres. A list's time is what the walk is faster by without most of it; what hides behind \
            other work counts for nothing, so that a rate may stand above its roof where little is on the list. GFLOP/s by the \
            paper's count, 38 flops for a body and 70 for a cell; GB/s of the cells that groups look at, in what is left of \
            the walk without both lists; and issue slots of the whole walk: 13 for a body, 32 for a cell, 60 for a cell looked \
            at. Roofs are the adapter's own ceilings, grey is what the paper says of an 8800 Ultra. On a graphics adapter alone.",
    measure,
    plots,
};

/// Flops of an interaction with a body and with a cell, as counted in the paper's third footnote.
const FLOPS: [f64; 2] = [38.0, 70.0];
/// FP32 instructions of these interactions here, and of testing a cell.
const SLOTS: [f64; 3] = [13.0, 32.0, 60.0];
/// Bytes that a group reads of a cell it tests; Octgrav's rule needs its box too.
const BYTES_OF_A_CELL: f64 = 64.0;

const BODIES: &str = "list of bodies";
const CELLS: &str = "list of cells";
const REST: &str = "walk";
const WHOLE: &str = "whole";

/// Warm-up walks.
const WARMING: usize = 2;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    session.ceilings()?;
    let (sizes, thetas) = (session.sizes.tree, session.sizes.tree_thetas);
    for (done, n) in sizes.into_iter().enumerate() {
        let places = Cloud::Plummer.places(n);
        for (k, &theta) in thetas.iter().enumerate() {
            let part = (done as f64 + k as f64 / thetas.len() as f64) / sizes.len() as f64;
            if !session.progress(part, &format!("N = {n}, lists at theta {theta}")) {
                return Ok(());
            }
            let config = octgrav(theta);
            let mut timer = match TreeTimer::new(&gpu, &config, &places, 0.01) {
                Ok(timer) => timer,
                Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
                // Out of memory, as would be all larger sizes.
                Err(_) => return Ok(()),
            };
            let samples = timer.walk_samples(WARMING, session.sizes.rounds.0)?;
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
            ];
            for (name, work, samples) in of {
                let mut record = on_device(session, FIGURE.name, name, &config, n, method);
                (record.x, record.work) = (theta, work);
                if work > 0.0 && samples.iter().all(|secs| *secs > 0.0) {
                    record.set_samples(&samples);
                } else {
                    record.kind = Kind::Skipped;
                    record.remark =
                        Some("too little of it to be told from the rest of the walk".to_owned());
                }
                session.records.push(record);
            }
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let ceilings = ceilings_of(records);
    let roof = |ceiling: Ceiling, factor: f64| Some(ceilings?.get(ceiling) * factor / 1e9);
    let size = |facts: &TreeFacts| format!("{} bodies", short(facts.bodies as f64));
    let of = |series: &'static str| {
        let own = rows(records, FIGURE.name).filter(move |(record, _)| record.series == series);
        curves(own, size, |record, facts| Some(exactly(facts.parameter, record.per_sec()? / 1e9)))
    };
    let sets = [
        (
            "Interactions with bodies",
            "GFLOP/s at 38 flops each",
            of(BODIES),
            ("interactions in registers", roof(Ceiling::Pair, FLOPS[0])),
            Some(("Octgrav, both lists (2010)", 100.0)),
        ),
        (
            "Interactions with cells",
            "GFLOP/s at 70 flops each",
            of(CELLS),
            ("32 instructions each", roof(Ceiling::Fma, FLOPS[1] / SLOTS[1])),
            Some(("Octgrav, both lists (2010)", 100.0)),
        ),
        (
            "The walk without its lists",
            "GB/s of cells looked at",
            of(REST),
            ("storage bandwidth", roof(Ceiling::Storage, 1.0)),
            Some(("Octgrav, first walk (2010)", 50.0)),
        ),
        (
            "The whole walk",
            "10⁹ issue slots/s",
            of(WHOLE),
            ("multiply-adds", roof(Ceiling::Fma, 1.0)),
            None,
        ),
    ];
    let plot = |(title, y, mut all, (roof, height), paper): (&str, &str, Vec<Curve>, _, _)| {
        let marks = marks(&all);
        let across = |height: f64| {
            let ends = marks.first().into_iter().chain(marks.last());
            ends.map(|&x| exactly(x, height)).collect::<Vec<_>>()
        };
        if let Some(height) = height {
            let mut curve = in_grey(roof, across(height), Look::Predicted);
            curve.colour = 5;
            all.push(curve);
        }
        if let Some((name, height)) = paper {
            all.push(in_grey(name, across(height), Look::Predicted));
        }
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::linear("opening angle theta").with_marks(marks),
            y: Axis::decades(y),
            curves: all,
        })
    };
    sets.into_iter().filter(|(_, _, all, ..)| !all.is_empty()).map(plot).collect()
}
