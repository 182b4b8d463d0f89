//! The fields of a record about one kind of measurement: a driver's compiler, forces with
//! derivatives, runs, trees, several devices.

use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::record::{first_fault, rounded};
use crate::forces::tree::gpu::WalkCounts;
use crate::forces::tree::{Opening, TreeConfig};
use crate::forces::{Order, Precision};
use crate::inspect::{CompilerReport, RoomLimit};
use crate::integrate;
use crate::measure::ErrorDistribution;

/// Numbers of a [`CompilerReport`]; `None` if the driver does not provide them.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompiledFacts {
    /// Machine instructions per interaction in the loop over the sources.
    pub per_interaction: Option<f64>,
    /// Vector instructions per interaction.
    pub vector_per_interaction: Option<f64>,
    /// Registers per thread.
    pub registers: Option<u64>,
    /// Registers spilled to memory.
    pub spilled: Option<u64>,
    /// Bytes of workgroup memory.
    pub workgroup_memory: Option<u64>,
    /// Threads per subgroup; 0 if not reported.
    pub subgroup_size: u32,
    /// Subgroups that fit one SIMD unit at once: the occupancy.
    pub subgroups_per_simd: Option<u64>,
    /// The computed limit on their number.
    pub limited_by: Option<RoomLimit>,
}

impl CompiledFacts {
    /// The numbers of a report.
    pub fn of(report: &CompilerReport) -> Self {
        let inner = report.inner_loop.as_ref();
        Self {
            per_interaction: report.per_interaction(),
            vector_per_interaction: inner.map(|inner| inner.vector_per_interaction()),
            registers: report.registers(),
            spilled: report.spilled(),
            workgroup_memory: report.workgroup_memory(),
            subgroup_size: report.subgroup_size,
            subgroups_per_simd: report.subgroups_per_simd(),
            limited_by: report.room(report.variant.config.threads()).map(|room| room.limit),
        }
    }

    /// The first impossible value, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        let counts = [self.per_interaction, self.vector_per_interaction];
        let sound = |x: &f64| x.is_finite() && *x >= 0.0 && *x < 1e9;
        (!counts.iter().flatten().all(sound))
            .then(|| "its instructions per interaction are not a count".to_owned())
    }
}

// The fields of a record about several devices, except its times.

/// The number of devices, and the cost of sharing the bodies.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicesFacts {
    /// Number of devices that shared the bodies.
    pub devices: u32,
    /// The fraction of a step that the first device spent waiting for the others and copying, 0 to
    /// 1, of the median sample. (Two records of 2026-11-27 have more, since a stop of the machine
    /// counted in the mean of exchanges and not in the median step.)
    pub exchanging: f64,
    /// The time of a step on one device divided by this one.
    pub speed_up: Option<f64>,
    /// The most bytes that were allocated on a device.
    pub memory: Option<u64>,
}

// The fields of a record about forces with derivatives and about runs on individual steps.

/// Which forces were timed, and their errors against f64.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectFacts {
    /// `gpu`, `cpu` or `reference`.
    pub engine: String,
    /// The precision, as in [`Precision::name`].
    pub precision: String,
    /// The highest derivative, as in [`Order::name`].
    pub order: String,
    /// Whether potentials were computed.
    pub potential: bool,
    /// Rms relative error of the jerks, if there are any.
    pub rms_jerk: Option<f64>,
    /// Rms relative error of the snaps, if there are any.
    pub rms_snap: Option<f64>,
}

/// A run on individual steps: settings and result.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// Name of the integrator.
    pub integrator: String,
    /// `gpu`, `cpu` or `reference`.
    pub engine: String,
    /// The precision, as in [`Precision::name`].
    pub precision: String,
    /// Whether the bodies lived on the engine's device rather than on the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resident: bool,
    /// Plummer softening length.
    pub softening: f64,
    /// Aarseth's accuracy parameter.
    pub eta: f64,
    /// Accuracy parameter of the sixth-order criterion, if there is one.
    pub eta6: Option<f64>,
    /// The longest step.
    pub dt_max: f64,
    /// The time at which the run ends; it begins at 0.
    pub until: f64,
    /// The result; missing if the run was skipped.
    pub outcome: Option<RunOutcome>,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOutcome {
    /// |E - E0| / |E0|, both energies computed in f64 from synchronised bodies.
    pub energy_error: f64,
    /// Blocks taken.
    pub blocks: u64,
    /// Number of individual steps.
    pub body_steps: u64,
}

impl RunOutcome {
    /// Mean number of bodies per block.
    pub fn mean_active(&self) -> f64 {
        self.body_steps as f64 / self.blocks.max(1) as f64
    }
}

impl DirectFacts {
    /// Formats engine and precision: `gpu double-single`.
    pub fn tier(&self) -> String {
        format!("{} {}", self.engine, self.precision)
    }

    /// The first impossible value, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        let orders = [Order::Acceleration, Order::Jerk, Order::Snap].map(Order::name);
        let errors = [self.rms_jerk, self.rms_snap];
        first_fault(&[
            (!orders.contains(&self.order.as_str()), "its order is unknown"),
            (!errors.iter().flatten().all(is_size), "an rms error is negative or not finite"),
        ])
        .or_else(|| fault_of_tier(&self.engine, &self.precision))
    }
}

/// The fault of an engine and a precision.
fn fault_of_tier(engine: &str, precision: &str) -> Option<String> {
    first_fault(&[
        (!["gpu", "cpu", "reference"].contains(&engine), "its engine is unknown"),
        (Precision::from_name(precision).is_err(), "its precision is unknown"),
    ])
}

/// Whether a number is a size.
fn is_size(x: &f64) -> bool {
    x.is_finite() && *x >= 0.0
}

impl RunFacts {
    /// Formats engine and precision: `gpu double-single`, with a note if bodies live on the device.
    pub fn tier(&self) -> String {
        let note = if self.resident { ", bodies there" } else { "" };
        format!("{} {}{note}", self.engine, self.precision)
    }

    /// The first impossible value, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        let positive = [Some(self.eta), self.eta6, Some(self.dt_max), Some(self.until)];
        let are_positive = positive.iter().flatten().all(|x| is_size(x) && *x > 0.0);
        let is_error = |outcome: RunOutcome| is_size(&outcome.energy_error);
        first_fault(&[
            (integrate::find(&self.integrator).is_err(), "its integrator is unknown"),
            (
                !is_size(&self.softening) || !are_positive,
                "its softening, accuracy or time is out of range",
            ),
            (!self.outcome.is_none_or(is_error), "its energy error is negative or not finite"),
        ])
        .or_else(|| fault_of_tier(&self.engine, &self.precision))
    }
}

#[cfg(test)]
impl RunFacts {
    /// A valid one, for tests.
    pub(super) fn example() -> Self {
        Self {
            integrator: "hermite4".to_owned(),
            engine: "cpu".to_owned(),
            precision: "double".to_owned(),
            resident: false,
            softening: 0.0,
            eta: 0.01,
            eta6: None,
            dt_max: 0.0625,
            until: 0.25,
            outcome: Some(RunOutcome { energy_error: 1.5e-9, blocks: 100, body_steps: 1234 }),
        }
    }
}

// The fields of a record about a tree, except its times.

/// Fractions of all sinks, in descending order, for which errors are recorded.
const PARTS: [f64; 25] = [
    1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03,
    0.02, 0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001,
];

/// Which tree, and its errors if they were measured.
#[skip_serializing_none]
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
    pub speed_up: Option<f64>,
    /// What the walk met, if it was counted.
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
        Self {
            engine: engine.to_owned(),
            rule: config.opening.name().to_owned(),
            parameter: config.opening.parameter(),
            moments: config.moments as u32 + 1,
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
        let is_known = Opening::ALL.iter().any(|rule| rule.name() == self.rule);
        let are_errors = self.errors.len() <= 1000 && self.errors.iter().all(part);
        let is_in_range = self.parameter > 0.0 && self.parameter <= 1.0;
        let is_valid = [1, 2].contains(&self.moments) && self.bodies > 0;
        first_fault(&[
            (!["gpu", "cpu"].contains(&self.engine.as_str()), "its engine has no tree"),
            (!is_known, "its opening rule is unknown"),
            (!is_in_range, "its alpha or theta is out of range"),
            (!is_valid, "its moments or number of bodies are invalid"),
            (!are_errors || !self.speed_up.iter().all(good), "its errors are invalid"),
        ])
    }
}

#[cfg(test)]
mod direct_facts_tests {
    use super::*;

    #[test]
    fn impossible_values_are_reported() {
        let direct = DirectFacts {
            engine: "gpu".to_owned(),
            precision: "double-single".to_owned(),
            order: "jerk".to_owned(),
            potential: true,
            rms_jerk: Some(1e-7),
            rms_snap: None,
        };
        assert_eq!((direct.fault(), direct.tier().as_str()), (None, "gpu double-single"));
        let bad = DirectFacts { order: "crackle".to_owned(), ..direct.clone() };
        assert!(bad.fault().unwrap().contains("order"));
        let bad = DirectFacts { rms_jerk: Some(f64::NAN), ..direct };
        assert!(bad.fault().unwrap().contains("rms"));
        let run = RunFacts::example();
        assert_eq!(run.outcome.map(|outcome| outcome.mean_active()), Some(12.34));
        assert_eq!(run.fault(), None);
        assert!(RunFacts { eta: 0.0, ..run.clone() }.fault().unwrap().contains("accuracy"));
        assert!(
            RunFacts { engine: "abacus".to_owned(), ..run }.fault().unwrap().contains("engine")
        );
    }
}

#[cfg(test)]
mod tree_facts_tests {
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
