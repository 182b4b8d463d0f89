//! GPU Gems 3, figure 31-5: performance increases with loop unrolling.

use super::table::CHAPTER;
use super::{Figure, RATE, chapters_gain, gains, marks, of, rate, rates_and_model};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Axis, Lines, Look, Plot};
use crate::measure::{Candidate, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "unroll",
    title: "Loop unrolling (GPU Gems 3, figure 31-5)",
    about: "Writing out u interactions per turn of the inner loop shares the loop's counting and \
            branching among them; with r sinks per thread the loop is shared by r as well. Much of it takes registers \
            and room in the instruction cache. With r sinks per thread the sources are cut into s = r slices, so that all \
            have the same number of workgroups. WGSL has no unroll hint: here the text itself is repeated.",
    measure,
    plots,
};

const UNTILED: &str = "untiled, r = 1";

fn measure(session: &mut Session<'_>) -> Result<()> {
    let n = session.sizes.many;
    if session.gpu.is_none() {
        return Ok(());
    }
    let mut points = Vec::new();
    for &u in session.sizes.unroll {
        let with = |r, untiled| KernelConfig { r, u, s: r, untiled, ..CHAPTER };
        for (series, config) in [
            ("r = 1", with(1, false)),
            ("r = 2", with(2, false)),
            ("r = 4", with(4, false)),
            (UNTILED, with(1, true)),
        ] {
            let (series, candidate) = (series.to_owned(), Candidate::Kernel(config));
            points.push(Point { series, x: f64::from(u), sinks: n, sources: n, candidate });
        }
    }
    session.sweep(FIGURE.name, &points)
}

/// The chapter's text on unrolling by four: from 163 to more than 200 GFLOP/s.
const G80: (f64, f64) = (4.0, 200.0 / 163.0);

fn plots(records: &[Record]) -> Vec<Plot> {
    let found = of(records, FIGURE.name);
    let n = found.clone().map(|record| record.sinks).max().unwrap_or(0);
    // Earlier records have one slice, and so fewer workgroups for larger r.
    let is_even = |record: &Record| record.kernel.is_some_and(|kernel| kernel.s == kernel.r);
    let slices = if found.clone().all(is_even) { "r" } else { "1" };
    let curves = rates_and_model(found.clone());
    let mut won = gains(&super::curves(found, Look::Measured, rate), 1.0);
    let n = super::super::plot::short(n as f64);
    let marks_of_u = marks(&curves);
    let mut plots = vec![Plot::Lines(Lines {
        title: format!("Rate against unrolling, N = {n}, p = 256, s = {slices}"),
        x: Axis::powers("interactions written out per turn of the loop, u")
            .with_marks(marks_of_u.clone()),
        y: Axis::linear(RATE),
        curves,
    })];
    if !won.is_empty() {
        won.push(chapters_gain(", 16k bodies", 1.0, G80));
        plots.push(Plot::Lines(Lines {
            title: format!("What unrolling wins over a plain loop, N = {n}"),
            x: Axis::powers("interactions written out per turn of the loop, u")
                .with_marks(marks_of_u),
            y: Axis::linear("rate / rate with u = 1"),
            curves: won,
        }));
    }
    plots
}
