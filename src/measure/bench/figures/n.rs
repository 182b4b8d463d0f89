//! GPU Gems 3, figure 31-6: performance increases as N grows.

use super::table::rates;
use super::{Figure, GREY, RATE, of, rates_and_model, values};
use crate::error::Result;
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot};
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

/// The rate of the GeForce 8800 GTX according to the chapter's text: 10 billion interactions per
/// second, more than 200 GFLOP/s, with many bodies. Its curves are not given as numbers.
const G80: f64 = 10.0;
const G80_FROM: f64 = 16_384.0;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let first = session.sizes.chapter[0] / 4;
    let sizes = Sizes::powers(first, session.sizes.largest, 1);
    let points = rates(session, &sizes, false);
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let mut curves = rates_and_model(of(records, FIGURE.name));
    let x = |record: &Record| record.x;
    let from = of(records, FIGURE.name).map(x).fold(f64::INFINITY, f64::min).max(G80_FROM);
    let to = of(records, FIGURE.name).map(x).fold(0.0, f64::max);
    if from < to {
        let place = |x| Place { x, y: G80, range: (G80, G80) };
        let (name, look) = ("the chapter's G80".to_owned(), Look::Predicted);
        curves.push(Curve { name, places: vec![place(from), place(to)], look, colour: GREY });
    }
    vec![Plot::Lines(Lines {
        title: "Rate as N grows".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values(&curves)),
        curves,
    })]
}
