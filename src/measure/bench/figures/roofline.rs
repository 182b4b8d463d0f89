//! The roofline: rate against flops per byte, with the kernels on it (Williams, Waterman and
//! Patterson 2009).

use super::table::CHAPTER;
use super::{Figure, grouped, of};
use crate::error::Result;
use crate::forces::direct::FLOPS;
use crate::forces::direct::gpu::KernelConfig;
use crate::gpu::DeviceClass;
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot};
use crate::measure::{Candidate, Ceiling, Ceilings, Kind, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "roofline",
    title: "Roofline",
    about: "A kernel's rate in GFLOP/s (20 flops per interaction) against the flops it makes of each byte \
            that it asks of storage. Under the slope memory decides, under the flat roofs arithmetic. An \
            untiled thread asks for 16 bytes per source and r interactions; a tile is asked for once per \
            workgroup, so p and r move a kernel to the right, until memory is no longer in its way. \
            Untiled kernels may stand above the slope: caches serve them, which is why tiling does not \
            pay on every device; beside its name stands what a kernel asks of storage per second. The upper roof counts two flops per multiply-add; the lower one is the \
            pair function with everything in registers.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    let n = session.sizes.many;
    if session.gpu.is_none() {
        return Ok(());
    }
    let untiled = KernelConfig { untiled: true, ..CHAPTER };
    let kernels = [
        ("untiled, r = 1", untiled),
        ("untiled, r = 4", KernelConfig { r: 4, ..untiled }),
        ("p = 16, r = 1", KernelConfig { p: 16, ..CHAPTER }),
        ("p = 256, r = 1", CHAPTER),
        ("p = 256, r = 4", KernelConfig { r: 4, ..CHAPTER }),
    ];
    let points: Vec<Point> = kernels
        .into_iter()
        .map(|(series, config)| {
            let (series, candidate) = (series.to_owned(), Candidate::Kernel(config));
            Point { series, x: intensity(&config), sinks: n, sources: n, candidate }
        })
        .collect();
    session.sweep(FIGURE.name, &points)
}

/// Flops per byte requested from storage.
fn intensity(config: &KernelConfig) -> f64 {
    let interactions_per_source = if config.untiled { config.r } else { config.p * config.r };
    FLOPS * f64::from(interactions_per_source) / 16.0
}

/// The ceilings among some records; `None` if none was measured.
pub(super) fn ceilings_of(records: &[Record]) -> Option<Ceilings> {
    let mut found = records.iter().filter(|r| r.kind == Kind::Ceiling).peekable();
    let in_series = found.peek()?.device.kind == DeviceClass::Software.name();
    let rates = found.filter_map(|r| Some((r.ceiling()?, r.per_sec()?)));
    Some(Ceilings::of(rates).in_series(in_series))
}

/// Formats a bandwidth: `35.2 GB/s`, `4.61 TB/s`.
fn bandwidth(bytes_per_sec: f64) -> String {
    let (size, unit) = if bytes_per_sec < 1e12 { (1e9, "GB/s") } else { (1e12, "TB/s") };
    let value = bytes_per_sec / size;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let gflops = |record: &Record| {
        let summary = record.summary()?;
        let of = |secs: f64| FLOPS * record.work / secs / 1e9;
        let range = (of(summary.upper), of(summary.lower));
        Some(Place { x: record.x, y: of(summary.median), range })
    };
    // The name includes what a kernel requests from storage: caches may serve more of it than
    // memory could.
    let named = |record: &Record| {
        let bytes = record.per_sec().map_or(0.0, |rate| FLOPS * rate / record.x);
        format!("{}: {}", record.series, bandwidth(bytes))
    };
    let mut curves = grouped(of(records, FIGURE.name), Look::Measured, named, gflops);
    if curves.is_empty() {
        return Vec::new();
    }
    if let Some(ceilings) = ceilings_of(records) {
        let place = |x: f64, y: f64| Place { x, y, range: (y, y) };
        let (least, most) = (1.0, 4096.0);
        let peak = 2.0 * ceilings.get(Ceiling::Fma) / 1e9;
        let bytes = ceilings.get(Ceiling::Storage) / 1e9;
        let meet = (peak / bytes).clamp(least, most);
        let mut roof = |name: &str, places: Vec<Place>, colour| {
            let (name, look) = (name.to_owned(), Look::Predicted);
            curves.push(Curve { name, places, look, colour });
        };
        let storage = format!("storage: {}", bandwidth(ceilings.get(Ceiling::Storage)));
        roof(&storage, vec![place(least, bytes * least), place(meet, bytes * meet)], 5);
        roof("multiply-adds", vec![place(meet, peak), place(most, peak)], 7);
        let pair = FLOPS * ceilings.get(Ceiling::Pair) / 1e9;
        let from = (pair / bytes).clamp(least, most);
        roof("pair function in registers", vec![place(from, pair), place(most, pair)], 6);
    }
    vec![Plot::Lines(Lines {
        title: "Roofline of the adapter, and kernels on it".to_owned(),
        x: Axis::powers("flops per byte asked of storage"),
        y: Axis::decades("rate, GFLOP/s at 20 flops per interaction"),
        curves,
    })]
}
