//! The fields of a record about forces with derivatives and about runs on individual steps.

use serde::{Deserialize, Serialize};

use super::record::first_fault;
use crate::forces::{Order, Precision};
use crate::integrate;

/// Which forces were timed, and their errors against f64.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms_jerk: Option<f64>,
    /// Rms relative error of the snaps, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms_snap: Option<f64>,
}

/// A run on individual steps: settings and result.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta6: Option<f64>,
    /// The longest step.
    pub dt_max: f64,
    /// The time at which the run ends; it begins at 0.
    pub until: f64,
    /// The result; missing if the run was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

#[cfg(test)]
mod tests {
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
