//! The standard table: an adapter's rates at commonly compared numbers of bodies.

use super::{Figure, RATE, of, rates_and_model, values};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::measure::plot::{Axis, Lines, Plot};
use crate::measure::{Candidate, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "table",
    title: "The standard table",
    about: "Rates of all on all at the numbers of bodies that people compare. The default kernel is \
            what the engine takes by itself; the chapter's kernel is that of GPU Gems 3 (p = 256, one \
            sink per thread, four interactions unrolled); untiled leaves workgroup memory out. Broken \
            lines are what the arithmetic model predicts from the ceilings of this adapter. GFLOP/s \
            count 20 flops per interaction, as the chapter does.",
    measure,
    plots,
};

/// The kernel that the engine chooses by default.
pub(super) const DEFAULT: &str = "default kernel";
/// The series of the kernel shape fixed by options.
pub(super) const ASKED: &str = "as asked";
/// The user's own kernel.
const OWN: &str = "own kernel";
/// The CPU engine.
pub(super) const CPU: &str = "cpu engine";

/// The kernel of GPU Gems 3: p = 256, one sink per thread, four interactions unrolled.
pub(super) const CHAPTER: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(256) };

fn measure(session: &mut Session<'_>) -> Result<()> {
    let mut sizes = session.sizes.chapter.to_vec();
    let more = [16_384, 65_536, 262_144, 1 << 20, session.sizes.largest];
    for n in more.into_iter().filter(|n| *n <= session.sizes.largest) {
        if !sizes.contains(&n) {
            sizes.push(n);
        }
    }
    let points = rates(session, &sizes, true);
    session.sweep(FIGURE.name, &points)
}

/// The points of a figure of rates against N.
pub(super) fn rates(session: &Session<'_>, sizes: &[usize], with_untiled: bool) -> Vec<Point> {
    let mut points = Vec::new();
    for &n in sizes {
        let mut add = |series: &str, candidate| {
            let series = series.to_owned();
            points.push(Point { series, x: n as f64, sinks: n, sources: n, candidate });
        };
        if let Some(default) = session.default_kernel(n, n) {
            add(DEFAULT, Candidate::Kernel(default));
            add("the chapter's kernel", Candidate::Kernel(CHAPTER));
            // Not simply the default with a flag changed: kernels without tiles cannot have rows of
            // threads.
            let other = KernelRequest {
                untiled: !default.untiled,
                tiled: default.untiled,
                ..KernelRequest::NONE
            };
            if with_untiled && let Some(other) = session.kernel(&other, n, n) {
                let name = if other.untiled { "default, untiled" } else { "default, but tiled" };
                add(name, Candidate::Kernel(other));
            }
        }
        if !session.asked.fixes_nothing()
            && let Some(asked) = session.kernel(&session.asked, n, n)
        {
            add(if asked.own { OWN } else { ASKED }, Candidate::Kernel(asked));
        }
        add(CPU, Candidate::Cpu);
    }
    points
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let curves = rates_and_model(of(records, FIGURE.name));
    vec![Plot::Lines(Lines {
        title: "Rate against the number of bodies".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values(&curves)),
        curves,
    })]
}
