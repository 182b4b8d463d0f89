//! Octgrav, figures 5 (middle and right) and 7: errors, times and speed-up against the number of
//! bodies.

use super::tree::{curves, errors, exactly, in_grey, octgrav, rows, sphere, step_secs, times};
use super::{Curve, Figure, marks};
use crate::error::Result;
use crate::forces::Method;
use crate::forces::tree::TreeConfig;
use crate::measure::plot::{Axis, Lines, Look, Plot};
use crate::measure::{Record, Session, TreeFacts};

pub(super) const FIGURE: Figure = Figure {
    name: "tree-n",
    title: "The tree over the number of bodies (Octgrav, figures 5 and 7)",
    about: "Errors, time of a whole step and how many times as long one by all pairs takes, by Octgrav's rule with quadrupoles \
            and by the usual one, on Plummer spheres. Where a step by all pairs would take too long its time is foreseen from \
            a smaller number, as N². In grey what the paper says: about a second for the forces of a million bodies \
            at 0.5, errors that double when N grows a hundredfold, a speed-up that grows as N / log N.",
    measure,
    plots,
};

/// Octgrav's preferred angle.
const THETA: f64 = 0.5;

fn bodies(facts: &TreeFacts) -> f64 {
    facts.bodies as f64
}

fn measure(session: &mut Session<'_>) -> Result<()> {
    let (sizes, thetas) = (session.sizes.tree_n, session.sizes.tree_thetas);
    let middle = thetas.contains(&THETA).then_some(THETA).into_iter();
    let chosen = [thetas[0]].into_iter().chain(middle).chain(thetas.last().copied());
    let mut rules: Vec<TreeConfig> = chosen.map(octgrav).collect();
    rules.dedup();
    rules.push(TreeConfig::default());
    // The number of bodies and the measured or predicted seconds of a step by all pairs.
    let mut direct: Option<(usize, f64)> = None;
    for (done, &n) in sizes.iter().enumerate() {
        let third =
            |third: f64, part: f64| (done as f64 + (third + part) / 3.0) / sizes.len() as f64;
        if !session.progress(third(0.0, 0.0), &format!("N = {n}, a step by all pairs")) {
            break;
        }
        let foreseen = direct.map(|(before, secs)| secs * (n as f64 / before as f64).powi(2));
        let secs = match foreseen {
            Some(secs) if secs > session.sizes.sample_secs => Some(secs),
            _ => step_secs(session, Method::Direct, &rules[0], &sphere(n))?
                .and_then(|secs| secs.into_iter().reduce(f64::min))
                .or(foreseen),
        };
        direct = secs.map(|secs| (n, secs)).or(direct);
        let (first, second) = (|part| third(1.0, part), |part| third(2.0, part));
        if !errors(session, FIGURE.name, n, &rules, &first, bodies)?
            || !times(session, FIGURE.name, n, &rules, secs, &second, bodies)?
        {
            break;
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = rows(records, FIGURE.name);
    let rule = |facts: &TreeFacts| facts.rule_in_words();
    let exceeded = |part: f64| {
        curves(own.clone(), rule, |_, facts| {
            Some(exactly(bodies(facts), facts.error_of(part).filter(|error| *error > 0.0)?))
        })
    };
    let millis = curves(own.clone(), rule, |record, facts| {
        let secs = record.summary().filter(|_| facts.errors.is_empty())?.median;
        Some(exactly(bodies(facts), secs * 1e3))
    });
    let speed_up =
        curves(own.clone(), rule, |_, facts| Some(exactly(bodies(facts), facts.speed_up?)));
    let doubling = |n: f64| n.powf(2f64.log(100.0));
    let n_log_n = |n: f64| n / n.ln();
    let with = |mut curves: Vec<Curve>, name: &str, law: &dyn Fn(f64) -> f64| {
        curves.extend(law_through_last(&curves, name, law));
        curves
    };
    let octgrav = vec![exactly(1e6, 1000.0)];
    let mut times = with(millis, "as N log N", &|n| n * n.ln());
    if !times.is_empty() {
        times.push(in_grey("Octgrav, theta 0.5, forces (2010)", octgrav, Look::Measured));
    }
    let doubles = "doubled by a hundredfold N (Octgrav)";
    let sets = [
        (
            "Errors that half of the bodies exceed",
            "relative error",
            with(exceeded(0.5), doubles, &doubling),
        ),
        (
            "Errors that one body in a hundred exceeds",
            "relative error",
            with(exceeded(0.01), doubles, &doubling),
        ),
        ("Time of a whole step", "time per step, ms", times),
        (
            "Speed-up over all pairs",
            "time by all pairs / time by the tree",
            with(speed_up, "as N / log N (Octgrav)", &n_log_n),
        ),
    ];
    let plot = |(title, y, curves): (&str, &str, Vec<Curve>)| {
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::decades("number of bodies N").with_marks(marks(&curves)),
            y: Axis::decades(y),
            curves,
        })
    };
    sets.into_iter().filter(|(.., curves)| !curves.is_empty()).map(plot).collect()
}

/// A growth law through the last point of the first curve, in grey.
fn law_through_last(curves: &[Curve], name: &str, law: &dyn Fn(f64) -> f64) -> Option<Curve> {
    let first = curves.first()?;
    let last = *first.places.last()?;
    let at = |place: &super::Place| exactly(place.x, last.y * law(place.x) / law(last.x));
    Some(in_grey(name, first.places.iter().map(at).collect(), Look::Predicted))
}
