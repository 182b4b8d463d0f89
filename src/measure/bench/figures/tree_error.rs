//! Octgrav, figure 4: the distribution of the errors of accelerations.

use super::Figure;
use super::tree::{curves, errors, exactly, octgrav, rows};
use crate::error::Result;
use crate::forces::tree::TreeConfig;
use crate::measure::plot::{Axis, Curve, Lines, Look, Plot, short};
use crate::measure::{Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-error",
    title: "Errors of the tree (Octgrav, figure 4)",
    about: "The part of the bodies whose acceleration is off by more than so much of itself, for a Plummer sphere with \
            softening 0.01 of its length, against all pairs in f64 on 4,096 of its bodies. Octgrav's opening rule with \
            quadrupoles and theta from 0.2 to 0.7, from left to right, and the usual rule of gravitile beside it. The paper \
            shows the same for 30,000, 100,000 and 1,000,000 bodies, in curves without numbers.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree, session.sizes.tree_thetas);
    let rules: Vec<TreeConfig> =
        thetas.iter().map(|&theta| octgrav(theta)).chain([TreeConfig::default()]).collect();
    for (done, n) in sizes.into_iter().enumerate() {
        let part = |part: f64| (done as f64 + part) / sizes.len() as f64;
        if !errors(session, FIGURE.name, n, &rules, &part, |facts| facts.bodies as f64)? {
            break;
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, FIGURE.name);
    let mut sizes: Vec<u64> = own.clone().map(|(_, facts)| facts.bodies).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // A foreign file may contain any number of them.
    sizes.truncate(6);
    let plot = |n: &u64| {
        let of_size = own.clone().filter(|(_, facts)| facts.bodies == *n);
        let mut all: Vec<Curve> = Vec::new();
        for (_, facts) in of_size {
            let seen = facts.errors.iter().filter(|(_, error)| *error > 0.0);
            let places = seen.map(|(part, error)| exactly(*error, *part)).collect();
            let (name, colour) = (facts.rule_in_words(), all.len() % super::GREY);
            all.push(Curve { name, places, look: Look::Measured, colour });
        }
        Plot::Lines(Lines {
            title: format!("Errors of accelerations, {} bodies", short(*n as f64)),
            x: Axis::decades("relative error"),
            y: Axis::decades("part of the bodies with a larger one"),
            curves: all,
        })
    };
    let mut plots: Vec<Plot> = sizes.iter().map(plot).collect();
    // A summary of the curves over the number of bodies.
    let medians = curves(
        own,
        |facts| facts.rule_in_words(),
        |_, facts| {
            Some(exactly(facts.bodies as f64, facts.error_of(0.5).filter(|error| *error > 0.0)?))
        },
    );
    if !medians.is_empty() {
        plots.push(Plot::Lines(Lines {
            title: "Median errors".to_owned(),
            x: Axis::decades("number of bodies N"),
            y: Axis::decades("relative error that half of the bodies exceed"),
            curves: medians,
        }));
    }
    plots
}
