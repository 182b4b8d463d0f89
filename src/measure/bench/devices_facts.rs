//! What a record of several devices tells beyond its times.

use serde::{Deserialize, Serialize};

/// How many devices, and what sharing the bodies cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicesFacts {
    /// How many shared the bodies.
    pub devices: u32,
    /// The part of a step that the first one spent waiting for the others and copying, 0 to 1.
    pub exchanging: f64,
    /// How many times as long a step on one device takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
}
