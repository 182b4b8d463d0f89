//! Sapporo2, figure 3, and Kirin's table 4.1: the cost and accuracy of each precision.

use super::{CPU_F64, Figure, derivatives_of, gflops_with_jerk, grouped, marks, millis, values};
use crate::error::Result;
use crate::forces::Order;
use crate::measure::bench::session::DirectPoint;
use crate::measure::plot::{Axis, Lines, Look, Place, Plot};
use crate::measure::{Record, Session, Sizes};

pub(super) const FIGURE: Figure = Figure {
    name: "precision",
    title: "Tiers of precision (Sapporo2, figure 3; kirin, table 4.1)",
    about: "Accelerations, potentials and jerks of all on all, asked from the host, sources sent each time, \
            as an integrator on the host does it. One curve for each tier that holds on the adapter, and the \
            CPU engine in f64. GFLOP/s count 60 flops per interaction, as codes with a GRAPE do. The errors are those \
            of a sample of the sinks against f64: single rounds positions, double-single only the \
            interaction, double nearly nothing.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    let sizes = Sizes::powers(256, session.sizes.largest, 1);
    let tiers = session.tiers(FIGURE.name)?;
    let mut points = Vec::new();
    for &n in &sizes {
        points.extend(tiers.iter().map(|&who| DirectPoint {
            series: who.name(),
            x: n as f64,
            sinks: n,
            sources: n,
            who,
            order: Order::Jerk,
            potential: true,
            resend: true,
        }));
    }
    session.sweep_direct(FIGURE.name, &points, session.sizes.figure_secs)
}

/// A value without a range.
fn exactly(x: f64, y: f64) -> Place {
    Place { x, y, range: (y, y) }
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = derivatives_of(records, FIGURE.name);
    let by_series = |r: &Record| r.series.clone();
    let of_jerk = |r: &Record| Some(exactly(r.x, r.direct.as_ref()?.rms_jerk?));
    let sets = [
        ("Time of all on all with jerk", "time per evaluation, ms", {
            let mut curves = grouped(own.clone(), Look::Measured, by_series, millis);
            curves.extend(scaling(&curves));
            curves
        }),
        (
            "Rate with jerk, 60 flops per interaction",
            "GFLOP/s",
            grouped(own.clone(), Look::Measured, by_series, gflops_with_jerk),
        ),
        (
            "Errors of the accelerations",
            "rms relative error",
            grouped(own.clone(), Look::Measured, by_series, |r| Some(exactly(r.x, r.rms_error?))),
        ),
        (
            "Errors of the jerks",
            "rms relative error",
            grouped(own, Look::Measured, by_series, of_jerk),
        ),
    ];
    let plot = |(title, y, curves): (&str, &str, Vec<_>)| {
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::powers("number of bodies N").with_marks(marks(&curves)),
            y: Axis::fitting(y, values(&curves)),
            curves,
        })
    };
    if sets[0].2.is_empty() { Vec::new() } else { sets.into_iter().map(plot).collect() }
}

/// A line proportional to N^2 through the last point of a device's first curve.
fn scaling(curves: &[super::Curve]) -> Option<super::Curve> {
    let model = curves.iter().find(|c| c.name != CPU_F64).or(curves.first())?;
    let last = *model.places.last()?;
    let places: Vec<Place> =
        model.places.iter().map(|p| exactly(p.x, last.y * (p.x / last.x).powi(2))).collect();
    let (name, look) = ("as N²".to_owned(), Look::Predicted);
    (places.len() > 1).then_some(super::Curve { name, places, look, colour: model.colour })
}
