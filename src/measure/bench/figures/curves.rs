//! From the records of a figure to curves.

use crate::forces::direct::FLOPS;
use crate::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis};
use crate::measure::{Record, RecordKind, grouped};

/// Flops per interaction with jerk and potential, by the convention of GRAPE codes (Kirin's thesis,
/// equation 4.1).
pub const FLOPS_WITH_JERK: f64 = 60.0;

/// The series of the CPU engine in f32 and in f64: grey in all figures.
pub(super) const CPU: &str = "cpu engine";
pub(super) const CPU_F64: &str = "cpu double";

/// Label of the axis of numbers of bodies.
pub(super) const OVER_N: &str = "number of bodies N";

/// Label of the vertical axis of rates.
pub(super) const RATE: &str = "rate, 10⁹ interactions/s (times 20: GFLOP/s)";

/// Name of all curves predicted by the model; the colour shows which curve each belongs to.
const MODEL: &str = "by the model, same colour";

/// The records of a figure that are of one kind.
pub(super) fn of<'r>(
    records: &'r [Record],
    figure: &'static str,
    kind: RecordKind,
) -> impl Iterator<Item = &'r Record> + Clone {
    records.iter().filter(move |r| r.figure == figure && r.kind == kind)
}

/// One curve for each name, in the order in which names first appear; those without points are
/// left out.
pub(super) fn curves<R: Copy>(
    rows: impl IntoIterator<Item = R>,
    name: impl Fn(R) -> String,
    point: impl Fn(R) -> Option<CurvePoint>,
) -> Vec<Curve> {
    let named = grouped(rows.into_iter().map(|row| (name(row), point(row))));
    let curve = |(number, (name, points)): (usize, (String, Vec<Option<CurvePoint>>))| {
        let mut points: Vec<CurvePoint> = points.into_iter().flatten().collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let colour = if name == CPU || name == CPU_F64 { GREY } else { number };
        (!points.is_empty()).then(|| Curve::measured(name, points, colour))
    };
    named.into_iter().enumerate().filter_map(curve).collect()
}

/// [`curves()`] named by series.
pub(super) fn by_series<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    point: impl Fn(&'r Record) -> Option<CurvePoint>,
) -> Vec<Curve> {
    curves(records, |record: &Record| record.series.clone(), point)
}

/// Curves of the rates, followed by the model's predictions.
pub(super) fn rates_and_model<'r>(
    records: impl IntoIterator<Item = &'r Record> + Clone,
) -> Vec<Curve> {
    let mut all = by_series(records.clone(), rate);
    let predicted =
        |record: &Record| Some(CurvePoint::at(record.x, record.predicted_per_sec? / 1e9));
    for curve in by_series(records, predicted) {
        if let Some(measured) = all.iter().find(|measured| measured.name == curve.name) {
            all.push(Curve::predicted(MODEL, curve.points, measured.colour));
        }
    }
    all
}

/// Colours in the order of the curves, none of them grey.
pub(super) fn recoloured(mut curves: Vec<Curve>) -> Vec<Curve> {
    for (number, curve) in curves.iter_mut().enumerate() {
        curve.colour = number % GREY;
    }
    curves
}

/// Curves divided by their first values; curves that begin elsewhere than at `from` are left out.
pub(super) fn gains(curves: &[Curve], from: f64) -> Vec<Curve> {
    let begins = |curve: &&Curve| curve.points.first().is_some_and(|first| first.x == from);
    let of = |curve: &Curve| {
        let first = curve.points[0].y;
        let point = |point: &CurvePoint| {
            let (low, high) = point.range;
            CurvePoint { x: point.x, y: point.y / first, range: (low / first, high / first) }
        };
        Curve { points: curve.points.iter().map(point).collect(), ..curve.clone() }
    };
    curves.iter().filter(begins).map(of).collect()
}

/// Values in the order in which they first appear, each once. A foreign file may contain any
/// number of them: only six are drawn.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if all.len() < 6 && !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// A plot with a mark at each x of the curves, and a vertical axis that suits their values.
pub(super) fn plot(title: impl Into<String>, x: PlotAxis, y: &str, curves: Vec<Curve>) -> Plot {
    Plot::lines(title, x.marked(&curves), PlotAxis::fitting(y, &curves), curves)
}

/// The plots that have something to show.
pub(super) fn filled(plots: impl IntoIterator<Item = Plot>) -> Vec<Plot> {
    let has_curves = |plot: &Plot| !matches!(plot, Plot::Lines(lines) if lines.curves.is_empty());
    plots.into_iter().filter(has_curves).collect()
}

/// A function of the seconds of a record, with its quartiles.
fn timed(record: &Record, y: impl Fn(f64) -> f64) -> Option<CurvePoint> {
    let summary = record.summary()?;
    let (a, b) = (y(summary.lower), y(summary.upper));
    Some(CurvePoint { x: record.x, y: y(summary.median), range: (a.min(b), a.max(b)) })
}

/// 10^9 interactions per second.
pub(in crate::measure::bench) fn rate(record: &Record) -> Option<CurvePoint> {
    timed(record, |secs| record.work / secs / 1e9)
}

/// GFLOP/s at 20 flops per interaction.
pub(super) fn gflops(record: &Record) -> Option<CurvePoint> {
    timed(record, |secs| FLOPS * record.work / secs / 1e9)
}

/// GFLOP/s with jerk and potential, at 60 flops per interaction.
pub(super) fn gflops_with_jerk(record: &Record) -> Option<CurvePoint> {
    timed(record, |secs| FLOPS_WITH_JERK * (record.work / secs / 1e9))
}

/// Milliseconds.
pub(super) fn millis(record: &Record) -> Option<CurvePoint> {
    timed(record, |secs| secs * 1e3)
}

/// Microseconds.
pub(super) fn micros(record: &Record) -> Option<CurvePoint> {
    timed(record, |secs| secs * 1e6)
}

/// The median in seconds.
pub(super) fn median(record: &Record) -> Option<f64> {
    record.summary().map(|summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn records_become_curves_in_order() {
        let at = |series: &str, x: f64| {
            let mut record = example();
            (record.series, record.x) = (series.to_owned(), x);
            record
        };
        let records = [at("b", 2.0), at("a", 1.0), at("b", 1.0)];
        let found = rates_and_model(of(&records, "n", RecordKind::Forces));
        let names: Vec<_> = found.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["b", "a", MODEL, MODEL]);
        assert_eq!(found[0].points.iter().map(|p| p.x).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!((found[0].colour, found[2].colour, found[3].colour), (0, 0, found[1].colour));
        assert!((found[0].points[0].y - 4096.0 * 4096.0 / 1.1e-3 / 1e9).abs() < 1e-9);
    }
}
