//! [`State`], what a simulation returns of a time.

use glam::DVec3;

use crate::bodies::Bodies;

/// The bodies and their accelerations at one time.
#[derive(Clone, Debug)]
pub struct State {
    /// Simulated time.
    pub time: f64,
    /// Steps done since the beginning of the run.
    pub steps: u64,
    /// Positions and velocities at that time.
    pub bodies: Bodies,
    /// Accelerations, one per body.
    pub acceleration: Vec<DVec3>,
    /// Softening length of these accelerations.
    pub softening: f64,
}
