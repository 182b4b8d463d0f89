//! Sapporo2, figure 2: the time that few active sinks take.

use super::table::{CHAPTER, CPU};
use super::{Figure, curves, millis, of, values};
use crate::error::Result;
use crate::force::KernelConfig;
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Candidate, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "sinks",
    title: "Few active sinks (Sapporo2, figure 2)",
    about: "Integrators with individual time steps ask for the forces on a few bodies at a time. With \
            one thread per sink most of a device then idles, and one sink takes as long as a \
            workgroup full of them: the curve is flat. Splitting rows (p x q = 256) and cutting the \
            sources into slices fill it. Steps in a curve are where one more workgroup or subgroup \
            begins. After Bédorf, Gaburov and Portegies Zwart (2015).",
    measure,
    plots,
};

const SINKS: [usize; 16] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 129, 160, 192, 224, 256];

fn measure(session: &mut Session<'_>) -> Result<()> {
    let sources = session.sizes.sources;
    let gpu = session.gpu.is_some();
    let mut points = Vec::new();
    for sinks in SINKS {
        let mut add = |series: &str, candidate| {
            let series = series.to_owned();
            points.push(Point { series, x: sinks as f64, sinks, sources, candidate });
        };
        if gpu {
            let p = (sinks.next_power_of_two() as u32).clamp(16, 256);
            let flat = KernelConfig { p, ..CHAPTER };
            let split = KernelConfig { q: 256 / p, ..flat };
            let slices = 64;
            add("one thread per sink", Candidate::Kernel(flat));
            add("rows split (q)", Candidate::Kernel(split));
            add("64 slices (s)", Candidate::Kernel(KernelConfig { s: slices, ..flat }));
            add("both", Candidate::Kernel(KernelConfig { s: slices, ..split }));
        }
        add(CPU, Candidate::Cpu);
    }
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let found = of(records, FIGURE.name);
    let sources = found.clone().map(|record| record.sources).max().unwrap_or(0);
    let curves = curves(found, Look::Measured, millis);
    vec![Plot::Lines(Lines {
        title: format!("Time against the number of sinks, {} sources", short(sources as f64)),
        x: Axis::linear("number of sinks")
            .with_marks(vec![1.0, 32.0, 64.0, 96.0, 128.0, 160.0, 192.0, 224.0, 256.0]),
        y: Axis::fitting("time per evaluation, ms", values(&curves)),
        curves,
    })]
}
