//! GPU Gems 3, figure 31-6: performance increases as N grows.

use super::table::{DEFAULT, rates};
use super::{Figure, RATE, of, rates_and_model, values};
use crate::error::Result;
use crate::measure::plot::{Axis, Lines, Plot};
use crate::measure::{Record, Session, Sizes};

pub(super) const FIGURE: Figure = Figure {
    name: "n",
    title: "Rate as N grows (GPU Gems 3, figure 31-6)",
    about: "A device needs enough bodies to fill it. At small N the cost of the dispatch and the latency \
            of single threads decide; the default kernel cuts the sources into slices there, which the \
            chapter's kernel does not. At large N the curves lie against the ceiling of the arithmetic. \
            Where the CPU engine's curve is the higher one, the GPU is not worth its launch.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    let first = session.sizes.chapter[0] / 4;
    let sizes = Sizes::powers(first, session.sizes.largest, 1);
    let points = rates(session, &sizes, false);
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let curves = rates_and_model(of(records, FIGURE.name), &[DEFAULT]);
    vec![Plot::Lines(Lines {
        title: "Rate as N grows".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values(&curves)),
        curves,
    })]
}
