//! The fields of a record about several devices, except its times.

use serde::{Deserialize, Serialize};

/// The number of devices, and the cost of sharing the bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicesFacts {
    /// Number of devices that shared the bodies.
    pub devices: u32,
    /// The fraction of a step that the first device spent waiting for the others and copying, 0 to
    /// 1.
    pub exchanging: f64,
    /// The time of a step on one device divided by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
}
