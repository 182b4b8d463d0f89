//! GPU Gems 3, figure 31-8: performance with several threads per body.

use super::table::CHAPTER;
use super::{Figure, RATE, of, rates_and_model, values};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Axis, Lines, Plot};
use crate::measure::{Candidate, Point, Record, Session, Sizes};

pub(super) const FIGURE: Figure = Figure {
    name: "q",
    title: "Several threads per body (GPU Gems 3, figure 31-8)",
    about: "With few bodies there are too few threads. Splitting each sink's row of sources among q \
            threads of the same workgroup (p x q stays 256) gives more of them; on the chapter's GPU two \
            threads won 44 % at N = 1024. Splitting the sources into s slices with workgroups of their \
            own, as Sapporo does, does the same at the price of a second pass over the partial sums.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    if session.gpu.is_none() {
        return Ok(());
    }
    let [least, _, most] = session.sizes.chapter;
    let mut points = Vec::new();
    for n in Sizes::powers(least / 4, most, 1) {
        let mut add = |series: String, config| {
            let candidate = Candidate::Kernel(config);
            points.push(Point { series, x: n as f64, sinks: n, sources: n, candidate });
        };
        for q in [1, 2, 4, 8, 16] {
            let threads = if q == 1 { "1 thread".to_owned() } else { format!("{q} threads") };
            add(format!("{threads} per body"), KernelConfig { p: 256 / q, q, ..CHAPTER });
        }
        add("1 thread, 16 slices".to_owned(), KernelConfig { p: 64, s: 16, ..CHAPTER });
    }
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let curves = rates_and_model(of(records, FIGURE.name));
    vec![Plot::Lines(Lines {
        title: "Rate with several threads per body, p x q = 256".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values(&curves)),
        curves,
    })]
}
