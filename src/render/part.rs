//! Statistics of one component for a look, and percentiles.

use glam::DVec3;

use super::framing::{median, quantile};
use crate::bodies::{Bodies, Role};
use crate::diagnostics::neighbour_distance;

/// Statistics of one component for a look.
#[derive(Debug)]
pub(super) struct Part {
    /// The role of its bodies.
    pub role: Role,
    /// Number of its bodies.
    pub count: usize,
    /// Median distance of its bodies from their centre.
    pub radius: f64,
    /// Typical distance to the eighth neighbour.
    pub spacing: f64,
    /// Their mean mass.
    pub mean_mass: f64,
    /// Positions of a few thousand of them.
    pub points: Vec<DVec3>,
}

impl Part {
    /// Measures the bodies of that component.
    pub fn measure(bodies: &Bodies, component: u8, role: Role) -> Self {
        let members: Vec<usize> = bodies.of_component(component).collect();
        // A sample of 16384 gives the median to a percent; a million bodies need not be sorted.
        let stride = members.len().div_ceil(16_384).max(1);
        let points: Vec<DVec3> =
            members.iter().step_by(stride).map(|&i| bodies.position[i]).collect();
        let mass: f64 = members.iter().map(|&i| bodies.mass[i]).sum();
        Self {
            role,
            count: members.len(),
            radius: if points.len() > 1 { median_radius(&points) } else { 0.0 },
            spacing: neighbour_distance(&points, 8, 0.5)
                * libm::cbrt(points.len() as f64 / members.len().max(1) as f64),
            mean_mass: mass / members.len().max(1) as f64,
            points,
        }
    }
}

/// Median distance from the median point, or 1 where that is 0 or not finite.
pub(super) fn median_radius(points: &[DVec3]) -> f64 {
    let centre = median(points);
    let radius = quantile(&mut points.iter().map(|p| p.distance(centre)).collect::<Vec<_>>(), 0.5);
    if radius > 0.0 && radius.is_finite() { radius } else { 1.0 }
}

/// 2nd and 98th percentile of the values above 0, never equal; `None` if there are none.
pub(super) fn percentiles(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).collect();
    if values.is_empty() {
        return None;
    }
    let [least, most] = [0.02, 0.98].map(|fraction| quantile(&mut values, fraction));
    Some(if most > 1.001 * least { [least, most] } else { [0.5 * least, 2.0 * least] })
}
