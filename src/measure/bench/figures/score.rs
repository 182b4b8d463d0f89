//! The score: whole steps at three numbers of bodies, with the kernel that the program chooses.

use super::{Figure, RATE};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelRequest, Masses};
use crate::measure::bench::score::{FIGURE as NAME, SIZES};
use crate::measure::bench::steps::{each_of, measure_steps, too_long};
use crate::measure::plot::{Axis, Curve, Lines, Look, Plot};
use crate::measure::{Kind, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: NAME,
    title: "The score",
    about: "Whole steps, force and leapfrog, of 1,024, 16,384 and 262,144 bodies of one mass by the kernel that the program takes \
            by itself (tuned, where it was tuned). The score is the geometric mean of the three rates in 10^9 \
            interactions per second; with 20 flops an interaction it is also a number of GFLOP/s. A size whose step takes \
            over 60 s leaves it blank.",
    measure,
    plots,
};

/// If a step takes longer, the score is left blank.
const MOST_SECS: f64 = 60.0;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let mut each: Option<f64> = None;
    for (done, n) in session.sizes.score.into_iter().enumerate() {
        let config = session.known.resolve(&KernelRequest::NONE, &gpu, n, Masses::InBlocks)?;
        let record = session.step_record(FIGURE.name, "whole steps", n, config);
        if let Some(left_out) = too_long(&record, each, MOST_SECS) {
            session.records.push(left_out);
            continue;
        }
        let mut going = |within: f64, doing: &str| {
            session.progress((done as f64 + within) / SIZES.len() as f64, doing)
        };
        let measured = pollster::block_on(measure_steps(&gpu, config, record, &mut going))?;
        let Some(measured) = measured else { return Ok(()) };
        each = each_of(&measured);
        session.records.push(measured);
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = records.iter().filter(|r| r.figure == FIGURE.name && r.kind == Kind::Steps);
    let places: Vec<_> = own.filter_map(super::rate).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let values: Vec<f64> = places.iter().map(|place| place.y).collect();
    let name = "whole steps".to_owned();
    vec![Plot::Lines(Lines {
        title: "Whole steps at the sizes of the score".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values.into_iter()),
        curves: vec![Curve { name, places, look: Look::Measured, colour: 0 }],
    })]
}
