//! The score: whole steps at three numbers of bodies, with the kernel that the program chooses.

use super::curves::{RATE, by_series, filled, of, rate};
use super::{Figure, Measure};
use crate::error::Result;
use crate::measure::bench::score::FIGURE;
use crate::measure::bench::steps::measure_sizes;
use crate::measure::plot::{Axis, Plot};
use crate::measure::{Kind, Record, Session};

pub(super) const SCORE: Figure = Figure {
    name: FIGURE,
    title: "The score",
    about: "Whole steps, force and leapfrog, of 1,024, 16,384 and 262,144 bodies of one mass by the kernel that the program takes \
            by itself (tuned, where it was tuned). The score is the geometric mean of the three rates in 10^9 \
            interactions per second; with 20 flops an interaction it is also a number of GFLOP/s. A size whose step takes \
            over 60 s leaves it blank.",
    measure: Measure::Own(measure),
    plots,
    concludes: &[],
};

/// If a step takes longer, the score is left blank.
const MOST_SECS: f64 = 60.0;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let (sizes, known) = (session.sizes.score, session.known.clone());
    let blank = session.on_adapter(SCORE.name, "whole steps", Kind::Steps);
    let mut records = Vec::new();
    let mut going = |part: f64, doing: &str| session.progress(part, doing);
    let sized = measure_sizes(&gpu, &known, &blank, sizes, MOST_SECS, &mut records, &mut going);
    let measured = pollster::block_on(sized);
    session.records.append(&mut records);
    measured.map(|_| ())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let curves = by_series(of(records, SCORE.name, Kind::Steps), rate);
    let (x, y) = (Axis::powers("number of bodies N"), Axis::fitting(RATE, &curves));
    filled([Plot::lines("Whole steps at the sizes of the score", x, y, curves)])
}
