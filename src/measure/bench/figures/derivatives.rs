//! Figures of forces with derivatives through the host's interface: the cost of precision and of
//! order, and of few active sinks.

use super::Figure;
use super::curves::{
    CPU, CPU_F64, OVER_N, by_series, curves, distinct, filled, gflops_with_jerk, median, micros,
    millis, of, plot,
};
use super::kernels::CHAPTER;
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::forces::{Order, Precision};
use crate::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis, short};
use crate::measure::{
    BenchSession, BenchSizes, Candidate, DerivativesCase, EngineTier, FigurePoint, Record,
    RecordKind,
};
use crate::sim::EngineKind;

pub(super) const PRECISION: Figure = Figure::own("precision", measure_precision, precision_plots);

fn measure_precision(session: &mut BenchSession<'_>) -> Result<()> {
    let tiers = session.tiers(PRECISION.name)?;
    let mut points = Vec::new();
    for n in BenchSizes::powers(256, session.sizes.largest, 1) {
        points.extend(tiers.iter().map(|&tier| {
            let forces =
                DerivativesCase { tier, order: Order::Jerk, potential: true, resend: true };
            FigurePoint::all_on_all(tier.name(), n, forces)
        }));
    }
    session.sweep(PRECISION.name, &points, session.sizes.figure_secs)
}

fn precision_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, PRECISION.name, RecordKind::Derivatives);
    let errors = |of: fn(&Record) -> Option<f64>| {
        by_series(own.clone(), move |r| Some(CurvePoint::at(r.x, of(r)?)))
    };
    let mut times = by_series(own.clone(), millis);
    // Proportional to N^2 through the last point of a device's first curve.
    let first = times.iter().find(|curve| curve.name != CPU_F64).or(times.first());
    let law =
        |curve: &Curve| curve.law("as N²", curve.colour, |x, last| last.y * (x / last.x).powi(2));
    times.extend(first.and_then(law).filter(|law| law.points.len() > 1));
    let plot = |title: &str, y: &str, curves| plot(title, PlotAxis::powers(OVER_N), y, curves);
    let rates = by_series(own.clone(), gflops_with_jerk);
    let jerks = errors(|r| r.direct.as_ref()?.rms_jerk);
    filled([
        plot("Time of all on all with jerk", "time per evaluation, ms", times),
        plot("Rate with jerk, 60 flops per interaction", "GFLOP/s", rates),
        plot("Errors of the accelerations", "rms relative error", errors(|r| r.rms_error)),
        plot("Errors of the jerks", "rms relative error", jerks),
    ])
}

pub(super) const ORDER: Figure = Figure::own("order", measure_order, order_plots);

fn measure_order(session: &mut BenchSession<'_>) -> Result<()> {
    let tiers = session.tiers(ORDER.name)?;
    let mut points = Vec::new();
    for n in BenchSizes::powers(256, session.sizes.largest, 2) {
        for &tier in &tiers {
            points.extend([Order::Acceleration, Order::Jerk, Order::Snap].map(|order| {
                let forces = DerivativesCase { tier, order, potential: false, resend: true };
                FigurePoint::all_on_all(format!("{}, {}", tier.name(), order.name()), n, forces)
            }));
        }
    }
    session.sweep(ORDER.name, &points, session.sizes.figure_secs)
}

/// The highest derivative of a record.
fn order_of(record: &Record) -> &str {
    record.direct.as_ref().map_or("", |direct| &direct.order)
}

fn tier_of(record: &Record) -> String {
    record.direct.as_ref().map_or(String::new(), |direct| direct.tier())
}

fn order_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, ORDER.name, RecordKind::Derivatives);
    let mut plots = Vec::new();
    for tier in distinct(own.clone().map(tier_of)) {
        let of_tier = own.clone().filter(|record| tier_of(record) == tier);
        let name = |record: &Record| match order_of(record) {
            "jerk" => "with jerk".to_owned(),
            "snap" => "with jerk and snap".to_owned(),
            _ => "acceleration alone".to_owned(),
        };
        let (title, y) = (format!("Time of all on all, {tier}"), "time per evaluation, ms");
        plots.push(plot(title, PlotAxis::powers(OVER_N), y, curves(of_tier, name, millis)));
    }
    for (order, title) in [("jerk", "Time with jerk"), ("snap", "Time with jerk and snap")] {
        let with = own.clone().filter(|record| order_of(record) == order);
        let curves = curves(with, tier_of, |record| {
            let is_plain = |other: &&Record| {
                order_of(other) == "acceleration"
                    && other.x == record.x
                    && tier_of(other) == tier_of(record)
            };
            let alone = own.clone().find(is_plain)?;
            Some(CurvePoint::at(record.x, median(record)? / median(alone)?))
        });
        let title = format!("{title} / time of accelerations alone");
        let x = PlotAxis::powers(OVER_N).marked(&curves);
        plots.push(Plot::lines(title, x, PlotAxis::linear("times as long"), curves));
    }
    filled(plots)
}

pub(super) const SINKS: Figure = Figure::own("sinks", measure_sinks, sinks_plots);

const FEW_SINKS: [usize; 16] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 129, 160, 192, 224, 256];

/// Labelled on the axis.
const LABELLED: [f64; 9] = [1.0, 32.0, 64.0, 96.0, 128.0, 160.0, 192.0, 224.0, 256.0];

/// Prefixes of the series: time for few sinks, and from one sink on; rate over the size of the
/// block, and over N.
const AGAINST_SINKS: &str = "few sinks";
const FROM_ONE: &str = "from one sink on";
const AGAINST_BLOCK: &str = "block of n";
const AGAINST_N: &str = "128 sinks";

fn measure_sinks(session: &mut BenchSession<'_>) -> Result<()> {
    let (sources, secs) = (session.sizes.sources, session.sizes.figure_secs);
    let mut points = Vec::new();
    for sinks in FEW_SINKS {
        let p = (sinks.next_power_of_two() as u32).clamp(16, 256);
        let flat = KernelConfig { p, ..CHAPTER };
        let split = KernelConfig { q: 256 / p, ..flat };
        for (series, config) in [
            ("one thread per sink", flat),
            ("rows split (q)", split),
            ("64 slices (s)", KernelConfig { s: 64, ..flat }),
            ("both", KernelConfig { s: 64, ..split }),
        ] {
            points.push(FigurePoint::new(series, sinks, sources, config));
        }
        points.push(FigurePoint::new(CPU, sinks, sources, Candidate::Cpu));
    }
    session.sweep(SINKS.name, &points, secs)?;
    if session.is_stopped() {
        return Ok(());
    }
    let tiers = session.tiers(SINKS.name)?;
    // Each has its own time limit, so that slow points of one do not use up the time of the next.
    for points in with_jerk(&tiers, sources) {
        session.sweep(SINKS.name, &points, secs / 2.0)?;
    }
    Ok(())
}

fn with_jerk(tiers: &[EngineTier], sources: usize) -> [Vec<FigurePoint>; 4] {
    let point = |series: String, tier: EngineTier, sinks: usize, sources: usize| {
        let forces = DerivativesCase { tier, order: Order::Jerk, potential: true, resend: false };
        FigurePoint::new(series, sinks, sources, forces)
    };
    let [mut few, mut from_one, mut blocks, mut over_n] = [const { Vec::new() }; 4];
    for sinks in FEW_SINKS {
        few.extend(
            tiers.iter().map(|&tier| {
                point(format!("{AGAINST_SINKS}, {}", tier.name()), tier, sinks, sources)
            }),
        );
    }
    // The defaults of integrators: double-single on a GPU, double on the CPU.
    let is_default = |tier: &&EngineTier| {
        tier.kind != EngineKind::Gpu || tier.precision == Precision::DoubleSingle
    };
    for &tier in tiers.iter().filter(is_default) {
        let name = tier.name();
        for n in [sources / 8, sources, 4 * sources] {
            let series = format!("{FROM_ONE}, {name}, N = {}", short(n as f64));
            let sinks = BenchSizes::powers(1, n.min(16_384), 2).into_iter();
            from_one.extend(sinks.map(|sinks| point(series.clone(), tier, sinks, n)));
        }
        for n in [sources / 128, sources / 16, sources] {
            let series = format!("{AGAINST_BLOCK}, N = {}, {name}", short(n as f64));
            let sinks = BenchSizes::powers(128, n.min(8192), 1).into_iter();
            blocks.extend(sinks.map(|sinks| point(series.clone(), tier, sinks, n)));
        }
        for n in BenchSizes::powers(256, 8 * sources, 1) {
            let series = format!("{AGAINST_N}, {name}");
            over_n.push(point(series, tier, 128, n).at(n as f64));
        }
    }
    [few, from_one, blocks, over_n]
}

fn sinks_plots(records: &[Record]) -> Vec<Plot> {
    let kernels = of(records, SINKS.name, RecordKind::Forces);
    let sources = kernels.clone().map(|record| record.sources).max().unwrap_or(0);
    let title = format!("Time against the number of sinks, {} sources", short(sources as f64));
    let mut plots = vec![over_few_sinks(title, by_series(kernels, millis))];
    let direct = of(records, SINKS.name, RecordKind::Derivatives);
    let own = |what: &'static str| direct.clone().filter(move |r| r.series.starts_with(what));
    // The title already contains the prefix of the series.
    let rest = |what: &'static str, point: fn(&Record) -> Option<CurvePoint>| {
        let name = |record: &Record| {
            let series = record.series.strip_prefix(what).unwrap_or_default();
            series.trim_start_matches(", ").to_owned()
        };
        curves(own(what), name, point)
    };
    let sources = own(AGAINST_SINKS).map(|record| record.sources).max().unwrap_or(0);
    let title = format!("Time with jerk, {} sources, from host to host", short(sources as f64));
    plots.push(over_few_sinks(title, rest(AGAINST_SINKS, millis)));
    let tier_of = |record: &Record| record.series.split(", ").nth(1).unwrap_or_default().to_owned();
    for tier in distinct(own(FROM_ONE).map(tier_of)) {
        let of_tier = own(FROM_ONE).filter(|record| tier_of(record) == tier);
        plots.push(from_one_sink(&tier, of_tier));
    }
    for (what, title, x) in [
        (AGAINST_BLOCK, "Rate with jerk, blocks of n among N", "bodies in the block, n"),
        (AGAINST_N, "Rate with jerk, blocks of 128", OVER_N),
    ] {
        let y = "GFLOP/s, 60 flops per interaction";
        plots.push(plot(title, PlotAxis::powers(x), y, rest(what, gflops_with_jerk)));
    }
    filled(plots)
}

fn over_few_sinks(title: String, curves: Vec<Curve>) -> Plot {
    let x = PlotAxis::linear("number of sinks").with_marks(LABELLED.to_vec());
    Plot::lines(title, x, PlotAxis::fitting("time per evaluation, ms", &curves), curves)
}

/// Numbers of sinks of [`SAPPORO2`].
const SAPPORO2_SINKS: [f64; 6] = [1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

/// Microseconds of Sapporo2 (version of 2021, ported to CUDA 13 without other changes) on an NVIDIA
/// H200, driver 580.159.04, 2026-11-21, by number of sources: medians including transfers of
/// g6_set_ti with a new time and both halves with jerk, potential and nearest neighbour in
/// double-single, with the fastest of 2, 4, 8 and 16 blocks per multiprocessor. A Plummer sphere,
/// eps = 1/256.
const SAPPORO2: [(u64, [f64; 6]); 3] = [
    (16_384, [46.1, 55.4, 65.2, 77.8, 190.0, 639.0]),
    (131_072, [62.4, 64.4, 74.7, 136.0, 415.0, 1525.0]),
    (524_288, [99.3, 104.0, 157.0, 365.0, 1251.0, 4788.0]),
];

/// From one sink to a large block, with three numbers of sources: the time of an evaluation here,
/// and of Sapporo2's calls.
fn from_one_sink<'r>(tier: &str, own: impl Iterator<Item = &'r Record> + Clone) -> Plot {
    let name = |record: &Record| format!("N = {}", short(record.sources as f64));
    let mut curves = curves(own.clone(), name, micros);
    for (sources, times) in SAPPORO2 {
        // Sapporo2's times are comparable only for the same number of sources, and not with the
        // CPU's.
        if own.clone().any(|r| r.sources == sources && !r.device.is_cpu()) {
            let points = SAPPORO2_SINKS.into_iter().zip(times).map(|(x, y)| CurvePoint::at(x, y));
            let name = "Sapporo2's calls for the same, each with prediction";
            curves.push(Curve::measured(name, points.collect(), GREY));
        }
    }
    let title = format!("Time with jerk from one sink on, {tier}, from host to host");
    let x = PlotAxis::powers("number of sinks").marked(&curves);
    Plot::lines(title, x, PlotAxis::decades("time per evaluation, µs"), curves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::DirectFacts;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn ratios_are_those_of_the_same_tier_and_number() {
        let at = |tier: &str, order: &str, n: f64, secs: f64| {
            let mut record = example();
            (record.figure, record.kind) = (ORDER.name.to_owned(), RecordKind::Derivatives);
            (record.x, record.samples) = (n, vec![secs]);
            record.direct = Some(DirectFacts {
                engine: "gpu".to_owned(),
                precision: tier.to_owned(),
                order: order.to_owned(),
                potential: false,
                rms_jerk: None,
                rms_snap: None,
            });
            record
        };
        let records = [
            at("single", "acceleration", 256.0, 1.0),
            at("single", "jerk", 256.0, 2.0),
            at("double", "acceleration", 256.0, 10.0),
            at("double", "jerk", 256.0, 15.0),
            at("double", "jerk", 1024.0, 99.0),
        ];
        let plots = order_plots(&records);
        assert_eq!(plots.len(), 3, "two tiers and one ratio");
        let Plot::Lines(ratios) = &plots[2] else { panic!("curves were expected") };
        let found: Vec<(&str, f64)> = ratios
            .curves
            .iter()
            .flat_map(|c| c.points.iter().map(|p| (c.name.as_str(), p.y)))
            .collect();
        assert_eq!(found, [("gpu single", 2.0), ("gpu double", 1.5)]);
    }
}
