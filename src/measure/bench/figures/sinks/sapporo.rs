//! From one sink to a large block, with three numbers of sources: the time of an evaluation here,
//! and of Sapporo2's calls.

use super::super::{GREY, derivatives_of, grouped, marks};
use super::FIGURE;
use crate::measure::bench::session::{DirectPoint, EngineTier};
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot, short};
use crate::measure::{Record, Sizes};

/// Prefix of the series' names.
const SERIES: &str = "from one sink on";

/// Numbers of sinks of [`SAPPORO2`].
const SINKS: [f64; 6] = [1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

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

/// The points of `who`, around the usual number of sources.
pub(super) fn points(who: EngineTier, sources: usize) -> Vec<DirectPoint> {
    let mut points = Vec::new();
    for n in [sources / 8, sources, 4 * sources] {
        for sinks in Sizes::powers(1, n.min(16_384), 2) {
            points.push(DirectPoint {
                series: format!("{SERIES}, {}, N = {}", who.name(), short(n as f64)),
                x: sinks as f64,
                sinks,
                sources: n,
                who,
                order: crate::forces::Order::Jerk,
                potential: true,
                resend: false,
            });
        }
    }
    points
}

/// One plot for each precision that was measured.
pub(super) fn plots(records: &[Record]) -> Vec<Plot> {
    let own = || derivatives_of(records, FIGURE.name).filter(|r| r.series.starts_with(SERIES));
    let mut tiers: Vec<String> = Vec::new();
    for tier in own().map(tier_of) {
        if !tiers.contains(&tier) {
            tiers.push(tier);
        }
    }
    tiers.iter().map(|tier| plot(tier, own().filter(|record| tier_of(record) == *tier))).collect()
}

fn tier_of(record: &Record) -> String {
    record.series.split(", ").nth(1).unwrap_or_default().to_owned()
}

fn plot<'r>(tier: &str, own: impl Iterator<Item = &'r Record> + Clone) -> Plot {
    let micros = |record: &Record| {
        let summary = record.summary()?;
        let range = (summary.lower * 1e6, summary.upper * 1e6);
        Some(Place { x: record.x, y: summary.median * 1e6, range })
    };
    let name = |record: &Record| format!("N = {}", short(record.sources as f64));
    let mut curves = grouped(own.clone(), Look::Measured, name, micros);
    for (sources, times) in SAPPORO2 {
        // Sapporo2's times are comparable only for the same number of sources, and not with the
        // CPU's.
        if own.clone().any(|r| r.sources == sources && !r.device.is_cpu()) {
            let place = |(&x, &y): (&f64, &f64)| Place { x, y, range: (y, y) };
            curves.push(Curve {
                name: "Sapporo2's calls for the same, each with prediction".to_owned(),
                places: SINKS.iter().zip(&times).map(place).collect(),
                look: Look::Measured,
                colour: GREY,
            });
        }
    }
    Plot::Lines(Lines {
        title: format!("Time with jerk from one sink on, {tier}, from host to host"),
        x: Axis::powers("number of sinks").with_marks(marks(&curves)),
        y: Axis::decades("time per evaluation, µs"),
        curves,
    })
}
