//! Octgrav, figures 5 (left) and 6: errors and times against the opening angle.

use super::tree::{curves, errors, exactly, in_grey, octgrav, rows, times};
use super::{Figure, marks};
use crate::error::Result;
use crate::forces::tree::TreeConfig;
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Record, Session, TreeFacts};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-theta",
    title: "The tree over the opening angle (Octgrav, figures 5 and 6)",
    about: "What the opening angle costs and what it gives, by Octgrav's rule with quadrupoles on a Plummer sphere: the \
            error that half of the bodies exceed, that which one in a hundred exceeds, and the time of a whole step, tree and \
            all. In grey what the paper says: errors grow as theta to the fourth, and the forces of a million bodies at 0.5 take \
            about a second (8800 Ultra, tree built on the host).",
    measure,
    plots,
};

fn theta(facts: &TreeFacts) -> f64 {
    facts.parameter
}

fn measure(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree, session.sizes.tree_thetas);
    let rules: Vec<TreeConfig> = thetas.iter().map(|&theta| octgrav(theta)).collect();
    for (done, n) in sizes.into_iter().enumerate() {
        let half = |half: f64, part: f64| (done as f64 + 0.5 * (half + part)) / sizes.len() as f64;
        let (first, second) = (|part| half(0.0, part), |part| half(1.0, part));
        if !errors(session, FIGURE.name, n, &rules, &first, theta)?
            || !times(session, FIGURE.name, n, &rules, None, &second, theta)?
        {
            break;
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, FIGURE.name);
    let size = |facts: &TreeFacts| format!("{} bodies", short(facts.bodies as f64));
    let exceeded = |part: f64| {
        curves(own.clone(), size, |_, facts| {
            let error = facts.error_of(part).filter(|error| *error > 0.0)?;
            Some(exactly(facts.parameter, error))
        })
    };
    let seconds = curves(own.clone(), size, |record, facts| {
        let secs = record.summary().filter(|_| facts.errors.is_empty())?.median;
        Some(exactly(facts.parameter, secs * 1e3))
    });
    let mut sets = vec![
        ("Errors that half of the bodies exceed", "relative error", exceeded(0.5)),
        ("Errors that one body in a hundred exceeds", "relative error", exceeded(0.01)),
        ("Time of a whole step", "time per step, ms", seconds),
    ];
    sets.retain(|(.., curves)| !curves.is_empty());
    let plot = |(title, y, mut curves): (&str, &str, Vec<_>)| {
        let marks = marks(&curves);
        if title.starts_with("Errors") {
            curves.extend(fourth_power(&curves));
        } else {
            let octgrav = vec![exactly(0.5, 1000.0)];
            curves.push(in_grey("Octgrav, 10⁶ bodies, forces (2010)", octgrav, Look::Measured));
        }
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::linear("opening angle theta").with_marks(marks),
            y: Axis::decades(y),
            curves,
        })
    };
    sets.into_iter().map(plot).collect()
}

/// A curve proportional to theta^4 through the last point of the first one.
fn fourth_power(curves: &[super::Curve]) -> Option<super::Curve> {
    let first = curves.first()?;
    let last = *first.places.last()?;
    let at = |place: &super::Place| exactly(place.x, last.y * (place.x / last.x).powi(4));
    Some(in_grey("as theta⁴ (Octgrav)", first.places.iter().map(at).collect(), Look::Predicted))
}
