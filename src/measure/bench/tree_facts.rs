//! The fields of a record about a tree, except its times.

use serde::{Deserialize, Serialize};

use crate::forces::tree::gpu::WalkCounts;
use crate::forces::tree::{MultipoleOrder, Opening, TreeConfig};
use crate::measure::ErrorDistribution;
use crate::measure::bench::record::{first_fault, rounded};

/// Fractions of all sinks, in descending order, for which errors are recorded.
const PARTS: [f64; 25] = [
    1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03,
    0.02, 0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001,
];

/// Which tree, and its errors if they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeFacts {
    /// `gpu` or `cpu`.
    pub engine: String,
    /// `acceleration`, `radius`, `bonsai`, `octgrav`.
    pub rule: String,
    /// Its alpha or theta.
    pub parameter: f64,
    /// Multipoles: 1 or 2.
    pub moments: u32,
    /// Number of bodies.
    pub bodies: u64,
    /// Fractions of the sinks in descending order, each with the relative error that this fraction
    /// reaches or exceeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<(f64, f64)>,
    /// The time of a step by all pairs divided by that of the tree, if measured or predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
    /// What the walk met, if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<WalkFacts>,
}

/// What the walk of all groups met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkFacts {
    /// Groups of sinks.
    pub groups: u64,
    /// Turns of their walks, each of up to 32 cells.
    pub turns: u64,
    /// Cells that were tested.
    pub tested: u64,
    /// Tiles of up to 32 bodies.
    pub body_tiles: u64,
    /// Tiles of up to 32 cells.
    pub cell_tiles: u64,
    /// Far cells, each expanded for one group.
    pub far_cells: u64,
}

impl WalkFacts {
    /// The facts from a probe's counts.
    pub fn of(counts: &WalkCounts) -> Self {
        let WalkCounts { groups, turns, looked_at, tiles, far_cells, .. } = *counts;
        let [body_tiles, cell_tiles] = tiles;
        Self { groups, turns, tested: looked_at, body_tiles, cell_tiles, far_cells }
    }
}

impl TreeFacts {
    /// The facts of a tree over this many bodies.
    pub fn new(engine: &str, config: &TreeConfig, bodies: usize) -> Self {
        let (rule, parameter) = match config.opening {
            Opening::Acceleration { alpha } => ("acceleration", alpha),
            Opening::Radius { theta } => ("radius", theta),
            Opening::Bonsai { theta } => ("bonsai", theta),
            Opening::Octgrav { theta } => ("octgrav", theta),
        };
        Self {
            engine: engine.to_owned(),
            rule: rule.to_owned(),
            parameter,
            moments: if config.moments == MultipoleOrder::Quadrupole { 2 } else { 1 },
            bodies: bodies as u64,
            errors: Vec::new(),
            speed_up: None,
            walk: None,
        }
    }

    /// Adds these errors.
    #[must_use]
    pub fn with_errors(self, found: &ErrorDistribution) -> Self {
        let error = |part: f64| (part, rounded(found.quantile(1.0 - part)));
        let errors = PARTS.map(error).into_iter().filter(|(_, error)| error.is_finite());
        Self { errors: errors.collect(), ..self }
    }

    /// The error that this fraction of the sinks exceeds.
    pub fn error_of(&self, part: f64) -> Option<f64> {
        self.errors.iter().find(|(other, _)| *other == part).map(|(_, error)| *error)
    }

    /// Describes the rule: `octgrav 0.5`, with a note if with monopoles.
    pub fn rule_in_words(&self) -> String {
        let monopoles = if self.moments == 1 { ", monopoles" } else { "" };
        format!("{} {}{monopoles}", self.rule, self.parameter)
    }

    /// The first impossible value, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        let good = |x: &f64| x.is_finite() && *x >= 0.0 && *x < 1e30;
        let part = |(part, error): &(f64, f64)| *part > 0.0 && *part <= 1.0 && good(error);
        let rules = ["acceleration", "radius", "bonsai", "octgrav"];
        let are_errors = self.errors.len() <= 1000 && self.errors.iter().all(part);
        let is_in_range = self.parameter > 0.0 && self.parameter <= 1.0;
        let is_valid = [1, 2].contains(&self.moments) && self.bodies > 0;
        first_fault(&[
            (!["gpu", "cpu"].contains(&self.engine.as_str()), "its engine has no tree"),
            (!rules.contains(&self.rule.as_str()), "its opening rule is unknown"),
            (!is_in_range, "its alpha or theta is out of range"),
            (!is_valid, "its moments or number of bodies are invalid"),
            (!are_errors || !self.speed_up.iter().all(good), "its errors are invalid"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn errors_are_stored_by_exceeding_fraction() {
        let right = vec![DVec3::X; 1000];
        let found: Vec<DVec3> =
            (1..=1000).map(|i| DVec3::new(1.0, f64::from(i) * 1e-6, 0.0)).collect();
        let errors = ErrorDistribution::of(&found, &right);
        let facts = TreeFacts::new("cpu", &TreeConfig::default(), 1000).with_errors(&errors);
        let near =
            |part: f64, error: f64| (facts.error_of(part).unwrap() / error - 1.0).abs() < 0.01;
        assert!(near(0.5, 5e-4) && near(0.01, 9.9e-4) && near(0.001, 9.99e-4));
        assert_eq!((facts.error_of(0.123), facts.fault()), (None, None));
        assert_eq!(facts.rule_in_words(), "acceleration 0.003");
        let bad = TreeFacts { rule: "wish".to_owned(), ..facts.clone() };
        assert!(bad.fault().unwrap().contains("rule"));
        let bad = TreeFacts { errors: vec![(2.0, 1e-3)], ..facts };
        assert!(bad.fault().unwrap().contains("errors"));
    }
}
