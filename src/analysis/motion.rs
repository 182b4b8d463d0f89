//! Mean motion and velocity dispersion about a centre.

use glam::DVec3;

use super::GroupMembers;
use crate::math::sum_of;

/// Motions of bodies about a centre, weighted by mass (by number, if none has any). Bodies exactly
/// at the centre have no direction and are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionStatistics {
    /// Mean radial velocity, outwards.
    pub radial: f64,
    /// Dispersion of the radial velocity about its mean.
    pub sigma_r: f64,
    /// Root mean square of one tangential component: sqrt(<v_t^2> / 2). It includes rotation.
    pub sigma_t: f64,
}

impl MotionStatistics {
    /// Dispersion in one dimension: sqrt((sigma_r^2 + 2 sigma_t^2) / 3).
    pub fn sigma(&self) -> f64 {
        ((self.sigma_r * self.sigma_r + 2.0 * self.sigma_t * self.sigma_t) / 3.0).sqrt()
    }

    /// Anisotropy 1 - sigma_t^2 / sigma_r^2 (Binney and Tremaine 2008, equation 4.61): 1 for radial
    /// orbits, 0 for isotropic ones, negative for tangential ones. NaN if nothing moves.
    pub fn beta(&self) -> f64 {
        1.0 - (self.sigma_t * self.sigma_t) / (self.sigma_r * self.sigma_r)
    }
}

impl GroupMembers<'_> {
    /// Their motions about `centre`, relative to `velocity`.
    pub(super) fn motion(&self, centre: DVec3, velocity: DVec3) -> MotionStatistics {
        // The weight, the radial velocity and the square of the tangential one.
        let of = |k: usize| {
            let i = self.list[k];
            let offset = self.bodies.position[i] - centre;
            let v = self.bodies.velocity[i] - velocity;
            match offset.try_normalize() {
                None => [0.0; 3],
                Some(outwards) => {
                    let radial = v.dot(outwards);
                    [self.weight(k), radial, (v - outwards * radial).length_squared()]
                }
            }
        };
        let n = self.list.len();
        let total = sum_of(n, |k| of(k)[0]);
        if !(total > 0.0) {
            return MotionStatistics { radial: 0.0, sigma_r: 0.0, sigma_t: 0.0 };
        }
        let mean = |value: &(dyn Fn([f64; 3]) -> f64 + Sync)| {
            let weighted = |k: usize| {
                let entry = of(k);
                entry[0] * value(entry)
            };
            sum_of(n, weighted) / total
        };
        let radial = mean(&|[_, radial, _]| radial);
        let sigma_r = mean(&|[_, v, _]| (v - radial) * (v - radial)).sqrt();
        MotionStatistics {
            radial,
            sigma_r,
            sigma_t: (mean(&|[.., tangential]| tangential) / 2.0).sqrt(),
        }
    }
}
