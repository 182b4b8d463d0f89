//! The figures: what each measures and how it is shown. Each has a file and a line in [`FIGURES`].

use super::plot::{Curve, Look, Place, Plot};
use super::{Kind, Record, Session};
use crate::error::{Error, Result};

mod blocks;
mod ceilings;
mod conclusions;
mod crossover;
mod devices;
mod fill;
mod instructions;
mod n;
mod order;
mod p;
mod precision;
mod q;
mod roofline;
mod rule;
mod score;
mod sinks;
mod table;
mod transfer;
mod tree;
mod tree_bonsai;
mod tree_error;
mod tree_n;
mod tree_parts;
mod tree_rates;
mod tree_theta;
mod unroll;

pub use conclusions::conclusions;

/// A figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name, on the command line and in its records.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// How to read it: a paragraph.
    pub about: &'static str,
    /// Measures it; adds records to the session.
    pub measure: fn(&mut Session<'_>) -> Result<()>,
    /// Draws it, from all records of a file.
    pub plots: fn(&[Record]) -> Vec<Plot>,
}

/// All figures, in the order of the report.
pub const FIGURES: &[Figure] = &[
    table::FIGURE,
    score::FIGURE,
    n::FIGURE,
    unroll::FIGURE,
    p::FIGURE,
    q::FIGURE,
    sinks::FIGURE,
    fill::FIGURE,
    transfer::FIGURE,
    crossover::FIGURE,
    precision::FIGURE,
    order::FIGURE,
    blocks::FIGURE,
    ceilings::FIGURE,
    roofline::FIGURE,
    instructions::FIGURE,
    rule::FIGURE,
    tree_error::FIGURE,
    tree_theta::FIGURE,
    tree_n::FIGURE,
    tree_parts::FIGURE,
    tree_rates::FIGURE,
    tree_bonsai::FIGURE,
    devices::FIGURE,
];

/// Figures that take minutes on any adapter: measured only if asked for by name.
const LONG: &[&str] = &[rule::FIGURE.name, blocks::FIGURE.name];

/// The figures that a name stands for: one, or with `all` every one except those that take long.
///
/// Errors: [`Error::Unknown`] with the known names.
pub fn named(name: &str) -> Result<Vec<Figure>> {
    if name == "all" {
        let short = FIGURES.iter().filter(|figure| !LONG.contains(&figure.name));
        return Ok(short.copied().collect());
    }
    let found = FIGURES.iter().find(|figure| figure.name == name);
    found.map(|figure| vec![*figure]).ok_or_else(|| Error::Unknown {
        kind: "figure",
        name: name.to_owned(),
        known: FIGURES.iter().map(|f| f.name).chain(["all"]).collect::<Vec<_>>().join(", "),
    })
}

/// The measured records of a figure.
fn of<'r>(records: &'r [Record], figure: &'static str) -> impl Iterator<Item = &'r Record> + Clone {
    records.iter().filter(move |r| r.figure == figure && r.kind == Kind::Forces)
}

/// A figure's records of forces with derivatives.
fn derivatives_of<'r>(
    records: &'r [Record],
    figure: &'static str,
) -> impl Iterator<Item = &'r Record> + Clone {
    records.iter().filter(move |r| r.figure == figure && r.kind == Kind::Derivatives)
}

/// GFLOP/s of forces with jerk and potential, at 60 flops per interaction.
fn gflops_with_jerk(record: &Record) -> Option<Place> {
    let Place { x, y, range: (low, high) } = rate(record)?;
    let flops = FLOPS_WITH_JERK;
    Some(Place { x, y: flops * y, range: (flops * low, flops * high) })
}

/// Rate in 10^9 interactions per second, with its quartiles.
fn rate(record: &Record) -> Option<Place> {
    let summary = record.summary()?;
    let of = |secs: f64| record.work / secs / 1e9;
    let range = (of(summary.upper), of(summary.lower));
    Some(Place { x: record.x, y: of(summary.median), range })
}

/// Milliseconds per evaluation, with their quartiles.
fn millis(record: &Record) -> Option<Place> {
    let summary = record.summary()?;
    let range = (summary.lower * 1e3, summary.upper * 1e3);
    Some(Place { x: record.x, y: summary.median * 1e3, range })
}

/// The model's rate in G/s.
fn predicted(record: &Record) -> Option<Place> {
    let y = record.predicted_per_sec? / 1e9;
    Some(Place { x: record.x, y, range: (y, y) })
}

/// One curve per series, in the order in which series first appear, with colours numbered from
/// `first_colour`.
fn curves<'r>(
    records: impl Iterator<Item = &'r Record>,
    look: Look,
    place: fn(&Record) -> Option<Place>,
) -> Vec<Curve> {
    grouped(records, look, |record| record.series.clone(), place)
}

/// Groups records into curves with new names.
fn grouped<'r>(
    records: impl Iterator<Item = &'r Record>,
    look: Look,
    name: impl Fn(&Record) -> String,
    place: impl Fn(&Record) -> Option<Place>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for record in records {
        let name = name(record);
        let known = curves.iter().position(|curve| curve.name == name);
        let index = known.unwrap_or_else(|| {
            // The CPU engine is grey in all figures.
            let colour = if name == table::CPU || name == CPU_F64 { GREY } else { curves.len() };
            curves.push(Curve { name, places: Vec::new(), look, colour });
            curves.len() - 1
        });
        curves[index].places.extend(place(record));
    }
    for curve in &mut curves {
        curve.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves
}

/// Curves of the rates, each followed by the model's prediction.
fn rates_and_model<'r>(records: impl Iterator<Item = &'r Record> + Clone) -> Vec<Curve> {
    let measured = curves(records.clone(), Look::Measured, rate);
    let mut all = measured.clone();
    for mut curve in curves(records, Look::Predicted, predicted) {
        let twin = measured.iter().find(|twin| twin.name == curve.name);
        if let (Some(twin), false) = (twin, curve.places.is_empty()) {
            curve.colour = twin.colour;
            curve.name = MODEL.to_owned();
            all.push(curve);
        }
    }
    all
}

/// Curves divided by their first values; curves that begin elsewhere than at `from` are left out.
fn gains(curves: &[Curve], from: f64) -> Vec<Curve> {
    let begins = |curve: &&Curve| curve.places.first().is_some_and(|first| first.x == from);
    let of = |curve: &Curve| {
        let first = curve.places[0].y;
        let place = |place: &Place| {
            let (low, high) = place.range;
            Place { x: place.x, y: place.y / first, range: (low / first, high / first) }
        };
        Curve { places: curve.places.iter().map(place).collect(), ..curve.clone() }
    };
    curves.iter().filter(begins).map(of).collect()
}

/// The gain of the GeForce 8800 GTX according to the chapter's text: from 1 at the first place to
/// this value at the other. Its figures do not give numbers.
fn chapters_gain(name: &str, from: f64, to: (f64, f64)) -> Curve {
    let place = |x: f64, y: f64| Place { x, y, range: (y, y) };
    let places = vec![place(from, 1.0), place(to.0, to.1)];
    Curve { name: format!("the chapter's G80{name}"), places, look: Look::Predicted, colour: GREY }
}

/// All values of some curves, for [`super::plot::Axis::fitting`].
fn values(curves: &[Curve]) -> impl Iterator<Item = f64> + '_ {
    curves.iter().flat_map(|curve| curve.places.iter().map(|place| place.y))
}

/// The x values of some curves in order, each once, for the axis marks.
fn marks(curves: &[Curve]) -> Vec<f64> {
    let mut xs: Vec<f64> =
        curves.iter().flat_map(|curve| curve.places.iter().map(|place| place.x)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

/// The series of the CPU engine in f64.
const CPU_F64: &str = "cpu double";

/// Flops per interaction with jerk and potential, by the convention of GRAPE codes (Kirin's thesis,
/// equation 4.1).
pub const FLOPS_WITH_JERK: f64 = 60.0;

/// Number of the neutral colour.
const GREY: usize = 7;

/// Name of all curves predicted by the model; the colour tells which curve each belongs to.
const MODEL: &str = "by the model, same colour";

/// Label of the vertical axis of rates.
const RATE: &str = "rate, 10⁹ interactions/s (times 20: GFLOP/s)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn names_are_distinct_and_unknown_ones_are_told_what_there_is() {
        for (i, figure) in FIGURES.iter().enumerate() {
            assert!(FIGURES[..i].iter().all(|other| other.name != figure.name));
            assert_eq!(named(figure.name).unwrap()[0].name, figure.name);
            assert!(figure.about.len() > 80, "{} should say how to read it", figure.name);
        }
        assert_eq!(named("all").unwrap().len(), FIGURES.len() - LONG.len());
        let long = |name: &str| name == "rule" || name == "blocks";
        assert!(named("all").unwrap().iter().all(|figure| !long(figure.name)));
        let error = named("rooflin").unwrap_err().to_string();
        assert!(error.contains("rooflin") && error.contains("roofline") && error.contains("all"));
    }

    #[test]
    fn figures_without_records_draw_nothing_and_do_not_panic() {
        for figure in FIGURES {
            for plot in (figure.plots)(&[]) {
                assert!(plot.svg().contains("</svg>"));
            }
        }
    }

    #[test]
    fn records_become_curves_in_order() {
        let at = |series: &str, x: f64| {
            let mut record = example();
            (record.series, record.x) = (series.to_owned(), x);
            record
        };
        let records = [at("b", 2.0), at("a", 1.0), at("b", 1.0)];
        let found = rates_and_model(of(&records, "n"));
        let names: Vec<_> = found.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["b", "a", MODEL, MODEL]);
        assert_eq!(found[0].places.iter().map(|p| p.x).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!((found[0].colour, found[2].colour, found[3].colour), (0, 0, found[1].colour));
        assert!((found[0].places[0].y - 4096.0 * 4096.0 / 1.1e-3 / 1e9).abs() < 1e-9);
        assert_eq!(marks(&found), [1.0, 2.0]);
    }
}
