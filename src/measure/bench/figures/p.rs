//! GPU Gems 3, figure 31-7: performance as the block size varies.

use super::table::CHAPTER;
use super::{Figure, RATE, marks, of, rates_and_model};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Axis, Lines, Plot, short};
use crate::measure::{Candidate, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "p",
    title: "Block size (GPU Gems 3, figure 31-7)",
    about: "p is the number of threads of a workgroup and of sources in its tile. A larger tile reads \
            less memory, N²/p in all; but at small N a large p leaves too few workgroups for the \
            compute units, and at small p a workgroup has too few threads to hide what it waits for; with \
            fewer threads than a subgroup has, lanes idle. One sink per thread, q = 1, u = 4, no slices.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    if session.gpu.is_none() {
        return Ok(());
    }
    let mut points = Vec::new();
    for n in session.sizes.chapter {
        for p in [16, 32, 64, 128, 256, 512, 1024] {
            points.push(Point {
                series: format!("N = {}", short(n as f64)),
                x: f64::from(p),
                sinks: n,
                sources: n,
                candidate: Candidate::Kernel(KernelConfig { p, ..CHAPTER }),
            });
        }
    }
    session.sweep(FIGURE.name, &points)
}

/// A plot for each number of bodies: on a common axis the smallest would be a line along the
/// bottom.
fn plots(records: &[Record]) -> Vec<Plot> {
    let mut names: Vec<&str> = Vec::new();
    for record in of(records, FIGURE.name) {
        if !names.contains(&record.series.as_str()) {
            names.push(&record.series);
        }
    }
    let plot = |name: &&str| {
        let own = of(records, FIGURE.name).filter(|record| record.series == *name);
        let curves = rates_and_model(own);
        Plot::Lines(Lines {
            title: format!("Rate against the block size, {name}"),
            x: Axis::powers("threads per workgroup and sources per tile, p")
                .with_marks(marks(&curves)),
            y: Axis::linear(RATE),
            curves,
        })
    };
    names.iter().map(plot).collect()
}
