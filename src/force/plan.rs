//! A kernel's shape as files hold it: plans of runs, what tuning found, results of measuring.

use serde::{Deserialize, Serialize};

use super::KernelConfig;
use crate::gpu::Checks;

/// A [`KernelConfig`] in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct KernelPlan {
    pub p: u32,
    pub q: u32,
    pub r: u32,
    pub u: u32,
    pub s: u32,
    pub untiled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_workgroup: bool,
    pub checked: bool,
}

impl From<KernelConfig> for KernelPlan {
    fn from(config: KernelConfig) -> Self {
        let KernelConfig { p, q, r, u, s, untiled, one_workgroup, checks } = config;
        Self { p, q, r, u, s, untiled, one_workgroup, checked: checks == Checks::On }
    }
}

impl From<KernelPlan> for KernelConfig {
    fn from(plan: KernelPlan) -> Self {
        let KernelPlan { p, q, r, u, s, untiled, one_workgroup, checked } = plan;
        let checks = if checked { Checks::On } else { Checks::Off };
        Self { p, q, r, u, s, untiled, one_workgroup, checks }
    }
}
