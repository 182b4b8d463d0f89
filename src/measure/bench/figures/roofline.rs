//! The roofline: rate against flops per byte, with kernels on it (Williams, Waterman and Patterson
//! 2009).

use super::ceilings::ceilings_of;
use super::curves::{curves, gflops, of};
use super::kernels::CHAPTER;
use super::{Figure, FigurePlan};
use crate::forces::direct::FLOPS;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Curve, CurvePoint, Plot, PlotAxis};
use crate::measure::{Ceiling, FigurePoint, Record, RecordKind};

pub(super) const ROOFLINE: Figure = Figure::kernels("roofline", roofline_points, roofline_plots);

fn roofline_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let n = plan.sizes.many;
    let untiled = KernelConfig { untiled: true, ..CHAPTER };
    let kernels = [
        ("untiled, r = 1", untiled),
        ("untiled, r = 4", KernelConfig { r: 4, ..untiled }),
        ("p = 16, r = 1", KernelConfig { p: 16, ..CHAPTER }),
        ("p = 256, r = 1", CHAPTER),
        ("p = 256, r = 4", KernelConfig { r: 4, ..CHAPTER }),
    ];
    let point =
        |(series, config)| FigurePoint::all_on_all(series, n, config).at(intensity(&config));
    kernels.map(point).to_vec()
}

/// Flops per byte requested from storage.
fn intensity(config: &KernelConfig) -> f64 {
    let interactions_per_source = if config.untiled { config.r } else { config.p * config.r };
    FLOPS * f64::from(interactions_per_source) / 16.0
}

/// Formats a bandwidth: `35.2 GB/s`, `4.61 TB/s`.
fn bandwidth(bytes_per_sec: f64) -> String {
    let (size, unit) = if bytes_per_sec < 1e12 { (1e9, "GB/s") } else { (1e12, "TB/s") };
    let value = bytes_per_sec / size;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

fn roofline_plots(records: &[Record]) -> Vec<Plot> {
    // The name includes what a kernel requests from storage: caches may serve more of it than
    // memory could.
    let named = |record: &Record| {
        let bytes = record.per_sec().map_or(0.0, |rate| FLOPS * rate / record.x);
        format!("{}: {}", record.series, bandwidth(bytes))
    };
    let mut curves = curves(of(records, ROOFLINE.name, RecordKind::Forces), named, gflops);
    if curves.is_empty() {
        return Vec::new();
    }
    if let Some(ceilings) = ceilings_of(records) {
        let (least, most) = (1.0, 4096.0);
        let peak = 2.0 * ceilings.get(Ceiling::Fma) / 1e9;
        let bytes = ceilings.get(Ceiling::Storage) / 1e9;
        let pair = FLOPS * ceilings.get(Ceiling::Pair) / 1e9;
        let meet = |roof: f64| (roof / bytes).clamp(least, most);
        let mut roof = |name: &str, from: (f64, f64), to: (f64, f64), colour| {
            let points = [from, to].map(|(x, y)| CurvePoint::at(x, y)).to_vec();
            curves.push(Curve::predicted(name, points, colour));
        };
        let storage = format!("storage: {}", bandwidth(ceilings.get(Ceiling::Storage)));
        roof(&storage, (least, bytes * least), (meet(peak), bytes * meet(peak)), 5);
        roof("multiply-adds", (meet(peak), peak), (most, peak), 7);
        roof("pair function in registers", (meet(pair), pair), (most, pair), 6);
    }
    let x = PlotAxis::powers("flops per byte requested from storage");
    let y = PlotAxis::decades("rate, GFLOP/s at 20 flops per interaction");
    vec![Plot::lines("Roofline of the adapter, and kernels on it", x, y, curves)]
}
