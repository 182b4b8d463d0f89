//! The figure's two plots.

use super::super::{Curve, Place, marks, values};
use super::{FIGURE, StepMode};
use crate::measure::bench::figures::tree::exactly;
use crate::measure::plot::{Axis, Lines, Look, Plot};
use crate::measure::{DevicesFacts, Kind, Record};

pub(super) fn plots(records: &[Record]) -> Vec<Plot> {
    let own = || {
        let own = records.iter().filter(|r| r.figure == FIGURE.name && r.kind == Kind::Devices);
        own.filter_map(|record| Some((record, record.devices.as_ref()?)))
    };
    let curves = |look: Look, y: &dyn Fn(&Record, &DevicesFacts) -> Option<f64>| {
        let mut curves: Vec<Curve> = Vec::new();
        for (record, facts) in own().filter(|(_, facts)| facts.devices > 1) {
            let name = match look {
                Look::Measured => record.series.clone(),
                _ => format!("{}, by the model", record.series),
            };
            let known = curves.iter().position(|curve| curve.name == name);
            let index = known.unwrap_or_else(|| {
                curves.push(Curve { name, places: Vec::new(), look, colour: curves.len() });
                curves.len() - 1
            });
            curves[index].places.extend(y(record, facts).map(|y| exactly(record.x, y)));
        }
        // Not every curve has a model.
        curves.retain(|curve| !curve.places.is_empty());
        for curve in &mut curves {
            curve.places.sort_by(|a: &Place, b: &Place| a.x.total_cmp(&b.x));
        }
        curves
    };
    let mut speed_up = curves(Look::Measured, &|_, facts| facts.speed_up);
    let alone = |of: &Record| {
        let is_it = |(record, facts): &(&Record, &DevicesFacts)| {
            facts.devices == 1 && record.x == of.x && StepMode::of(record) == StepMode::of(of)
        };
        own().find(is_it)?.0.summary()
    };
    speed_up.extend(curves(Look::Predicted, &|record, _| {
        Some(alone(record)?.median / (record.work / record.predicted_per_sec?))
    }));
    let exchanging = curves(Look::Measured, &|_, facts| Some(100.0 * facts.exchanging));
    let plot = |title: &str, y: &str, curves: Vec<Curve>| {
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::decades("number of bodies N").with_marks(marks(&curves)),
            y: Axis::fitting(y, values(&curves)),
            curves,
        })
    };
    if speed_up.is_empty() {
        return Vec::new();
    }
    vec![
        plot("Speed-up by several devices", "time on one / time on all", speed_up),
        plot("Time spent in exchanges", "part of a step, %", exchanging),
    ]
}
