//! Sapporo2, figure 2: the time that few active sinks take; kirin's figures 4.2 and 4.3: their
//! rate.

mod sapporo;

use super::table::{CHAPTER, CPU};
use super::{Figure, curves, derivatives_of, gflops_with_jerk, grouped, marks, millis, of, values};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::forces::{Order, Precision};
use crate::measure::bench::session::{DirectPoint, EngineTier};
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Candidate, Point, Record, Session, Sizes};
use crate::sim::EngineKind;

pub(super) const FIGURE: Figure = Figure {
    name: "sinks",
    title: "Few active sinks (Sapporo2, figure 2; kirin, figures 4.2 and 4.3)",
    about: "Integrators with individual time steps ask for the forces on a few bodies at a time. With \
            one thread per sink most of a device then idles, and one sink takes as long as a \
            workgroup full of them: the curve is flat. Splitting rows (p x q = 256) and cutting the \
            sources into slices fill it. Steps in a curve are where one more workgroup or subgroup \
            begins. From one sink to a block of 16,384, as a client of the C library calls, Sapporo2's \
            times on an NVIDIA H200 stand beside in grey; they count the prediction of the sources, which \
            takes a few microseconds there. After Bédorf, Gaburov and Portegies Zwart (2015).",
    measure,
    plots,
};

const SINKS: [usize; 16] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 129, 160, 192, 224, 256];

/// Labelled on the axis.
const NUMBERS: [f64; 9] = [1.0, 32.0, 64.0, 96.0, 128.0, 160.0, 192.0, 224.0, 256.0];

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
    session.sweep(FIGURE.name, &points)?;
    if session.is_stopped() {
        return Ok(());
    }
    with_jerk(session)
}

const AGAINST_SINKS: &str = "few sinks";
const AGAINST_BLOCK: &str = "block of n";
const AGAINST_N: &str = "128 sinks";

/// The engine for derivatives: time for few sinks, rate over the size of the block, rate over N.
fn with_jerk(session: &mut Session<'_>) -> Result<()> {
    let sources = session.sizes.sources;
    let tiers = session.tiers(FIGURE.name)?;
    let point = |what: &str, who: EngineTier, x: usize, sinks: usize, sources: usize| DirectPoint {
        series: format!("{what}, {}", who.name()),
        x: x as f64,
        sinks,
        sources,
        who,
        order: Order::Jerk,
        potential: true,
        resend: false,
    };
    let (mut few, mut blocks, mut over_n) = (Vec::new(), Vec::new(), Vec::new());
    let mut from_one = Vec::new();
    for sinks in SINKS {
        few.extend(tiers.iter().map(|&who| point(AGAINST_SINKS, who, sinks, sinks, sources)));
    }
    // The defaults of integrators: double-single on a GPU, double on the CPU.
    let is_usual = |tier: &&EngineTier| {
        tier.kind != EngineKind::Gpu || tier.precision == Precision::DoubleSingle
    };
    for &who in tiers.iter().filter(is_usual) {
        from_one.extend(sapporo::points(who, sources));
        for n in [sources / 128, sources / 16, sources] {
            let what = format!("{AGAINST_BLOCK}, N = {}", short(n as f64));
            for block in Sizes::powers(128, n.min(8192), 1) {
                blocks.push(point(&what, who, block, block, n));
            }
        }
        for n in Sizes::powers(256, 8 * sources, 1) {
            over_n.push(point(AGAINST_N, who, n, 128, n));
        }
    }
    // Each has its own time limit, so that slow points of one do not use up the time of the next.
    let secs = session.sizes.figure_secs / 2.0;
    for points in [few, from_one, blocks, over_n] {
        session.sweep_direct(FIGURE.name, &points, secs)?;
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let found = of(records, FIGURE.name);
    let sources = found.clone().map(|record| record.sources).max().unwrap_or(0);
    let curves = curves(found, Look::Measured, millis);
    let mut plots = vec![Plot::Lines(Lines {
        title: format!("Time against the number of sinks, {} sources", short(sources as f64)),
        x: Axis::linear("number of sinks").with_marks(NUMBERS.to_vec()),
        y: Axis::fitting("time per evaluation, ms", values(&curves)),
        curves,
    })];
    let own = |what: &'static str| {
        let direct = derivatives_of(records, FIGURE.name);
        direct.filter(move |record| record.series.starts_with(what))
    };
    // The title already contains the rest.
    let rest = |what: &'static str| {
        move |record: &Record| {
            let series = record.series.strip_prefix(what).unwrap_or_default();
            series.trim_start_matches(", ").to_owned()
        }
    };
    let few = grouped(own(AGAINST_SINKS), Look::Measured, rest(AGAINST_SINKS), millis);
    let sources = own(AGAINST_SINKS).map(|record| record.sources).max().unwrap_or(0);
    plots.push(Plot::Lines(Lines {
        title: format!("Time with jerk, {} sources, from host to host", short(sources as f64)),
        x: Axis::linear("number of sinks").with_marks(NUMBERS.to_vec()),
        y: Axis::fitting("time per evaluation, ms", values(&few)),
        curves: few,
    }));
    plots.extend(sapporo::plots(records));
    for (what, title, x) in [
        (AGAINST_BLOCK, "Rate with jerk, blocks of n among N", "bodies in the block, n"),
        (AGAINST_N, "Rate with jerk, blocks of 128", "number of bodies N"),
    ] {
        let curves = grouped(own(what), Look::Measured, rest(what), gflops_with_jerk);
        plots.push(Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::powers(x).with_marks(marks(&curves)),
            y: Axis::fitting("GFLOP/s, 60 flops per interaction", values(&curves)),
            curves,
        }));
    }
    plots.retain(|plot| matches!(plot, Plot::Lines(lines) if !lines.curves.is_empty()));
    plots
}
