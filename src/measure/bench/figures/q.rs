//! GPU Gems 3, figure 31-8: performance with several threads per body.

use super::table::CHAPTER;
use super::{
    Figure, GREY, RATE, chapters_gain, gains, grouped, marks, of, rate, rates_and_model, values,
};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Axis, Lines, Look, Place, Plot, short};
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

/// The gain of two threads per body on the chapter's GPU, and the number of bodies.
const G80: f64 = 1.44;
const G80_BODIES: u64 = 1024;

fn plots(records: &[Record]) -> Vec<Plot> {
    let found = of(records, FIGURE.name);
    let curves = rates_and_model(found.clone());
    // Grouped by number of bodies, against q; records with slices do not belong here.
    let split = found
        .filter(|r| r.kernel.is_some_and(|kernel| kernel.s == 1 && kernel.p * kernel.q == 256));
    let by_size = grouped(
        split,
        Look::Measured,
        |r| format!("{} bodies", short(r.sinks as f64)),
        |r| Some(Place { x: f64::from(r.kernel?.q), ..rate(r)? }),
    );
    let mut won = gains(&by_size, 1.0);
    for (colour, curve) in won.iter_mut().enumerate() {
        curve.colour = colour % GREY;
    }
    let mut plots = vec![Plot::Lines(Lines {
        title: "Rate with several threads per body, p x q = 256".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values(&curves)),
        curves,
    })];
    if !won.is_empty() {
        let name = format!(", {} bodies", short(G80_BODIES as f64));
        won.push(chapters_gain(&name, 1.0, (2.0, G80)));
        plots.push(Plot::Lines(Lines {
            title: "What several threads per body win over one".to_owned(),
            x: Axis::powers("threads per body, q").with_marks(marks(&won)),
            y: Axis::linear("rate / rate with q = 1"),
            curves: won,
        }));
    }
    plots
}
