//! Sapporo2, figure 4: the cost of jerk and snap.

use super::{Figure, derivatives_of, grouped, marks, millis, values};
use crate::error::Result;
use crate::forces::Order;
use crate::measure::bench::session::DirectPoint;
use crate::measure::plot::{Axis, Lines, Look, Place, Plot};
use crate::measure::{Record, Session, Sizes};

pub(super) const FIGURE: Figure = Figure {
    name: "order",
    title: "Acceleration, jerk, snap (Sapporo2, figure 4)",
    about: "What an integrator of order 4 pays for the jerk, and one of order 6 for the snap as well: all on \
            all, from host to host, in each tier. The ratios say how much longer the steps of the higher order \
            must be to be worth it. At small N the copies and the launch cost the same whatever is computed, \
            and the ratios are near 1.",
    measure,
    plots,
};

const ORDERS: [Order; 3] = [Order::Acceleration, Order::Jerk, Order::Snap];

fn measure(session: &mut Session<'_>) -> Result<()> {
    let sizes = Sizes::powers(256, session.sizes.largest, 2);
    let tiers = session.tiers(FIGURE.name)?;
    let mut points = Vec::new();
    for &n in &sizes {
        for &who in &tiers {
            points.extend(ORDERS.iter().map(|&order| DirectPoint {
                series: format!("{}, {}", who.name(), order.name()),
                x: n as f64,
                sinks: n,
                sources: n,
                who,
                order,
                potential: false,
                resend: true,
            }));
        }
    }
    session.sweep_direct(FIGURE.name, &points, session.sizes.figure_secs)
}

/// The highest derivative of a record, for the legend.
fn order_of(record: &Record) -> String {
    match record.direct.as_ref().map(|direct| direct.order.as_str()) {
        Some("jerk") => "with jerk".to_owned(),
        Some("snap") => "with jerk and snap".to_owned(),
        _ => "acceleration alone".to_owned(),
    }
}

fn tier_of(record: &Record) -> String {
    record.direct.as_ref().map_or(String::new(), |direct| direct.tier())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = derivatives_of(records, FIGURE.name);
    let mut tiers: Vec<String> = Vec::new();
    for tier in own.clone().map(tier_of) {
        // A foreign file may contain any number of them; only six are drawn.
        if !tiers.contains(&tier) && tiers.len() < 6 {
            tiers.push(tier);
        }
    }
    let mut plots = Vec::new();
    for tier in &tiers {
        let of_tier = own.clone().filter(|record| tier_of(record) == *tier);
        let curves = grouped(of_tier, Look::Measured, order_of, millis);
        plots.push(Plot::Lines(Lines {
            title: format!("Time of all on all, {tier}"),
            x: Axis::powers("number of bodies N").with_marks(marks(&curves)),
            y: Axis::fitting("time per evaluation, ms", values(&curves)),
            curves,
        }));
    }
    let median = |r: &Record| r.summary().map(|summary| summary.median);
    for (order, title) in [("jerk", "Time with jerk"), ("snap", "Time with jerk and snap")] {
        let with = own.clone().filter(|r| r.direct.as_ref().is_some_and(|d| d.order == order));
        let curves = grouped(with, Look::Measured, tier_of, |record| {
            let alone = own.clone().find(|r| {
                let plain = r.direct.as_ref().is_some_and(|d| d.order == "acceleration");
                plain && r.x == record.x && tier_of(r) == tier_of(record)
            })?;
            let y = median(record)? / median(alone)?;
            Some(Place { x: record.x, y, range: (y, y) })
        });
        if values(&curves).next().is_some() {
            plots.push(Plot::Lines(Lines {
                title: format!("{title} / time of accelerations alone"),
                x: Axis::powers("number of bodies N").with_marks(marks(&curves)),
                y: Axis::linear("times as long"),
                curves,
            }));
        }
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;
    use crate::measure::{DirectFacts, Kind};

    #[test]
    fn ratios_are_those_of_the_same_tier_and_number() {
        let at = |tier: &str, order: &str, n: f64, secs: f64| {
            let mut record = example();
            (record.figure, record.kind) = (FIGURE.name.to_owned(), Kind::Derivatives);
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
        let plots = plots(&records);
        assert_eq!(plots.len(), 3, "two tiers and one ratio");
        let Plot::Lines(ratios) = &plots[2] else { panic!("curves were expected") };
        let found: Vec<(&str, f64)> = ratios
            .curves
            .iter()
            .flat_map(|c| c.places.iter().map(|p| (c.name.as_str(), p.y)))
            .collect();
        assert_eq!(found, [("gpu single", 2.0), ("gpu double", 1.5)]);
    }
}
