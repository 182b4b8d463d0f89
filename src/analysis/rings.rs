//! Surface density and motions of disks in rings.

use std::f64::consts::PI;

use glam::DVec3;

use super::shells::{MOST, sorted_into};
use super::{Group, GroupMembers, check_finite};
use crate::bodies::Bodies;
use crate::diagnostics::radii_of_parts;
use crate::error::{Error, Result};
use crate::math::{sum_of, sum_vec_of};

/// Concentric rings of equal width in the plane of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Rings {
    /// The common centre.
    pub centre: DVec3,
    /// Velocity of the centre.
    pub velocity: DVec3,
    /// Axis of the disk, of length 1.
    pub axis: DVec3,
    /// Their edges from 0, one more than rings.
    pub edges: Vec<f64>,
}

/// What one ring holds. Cylindrical coordinates (R, phi, z) are about the axis; phi runs with the
/// spin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    /// Inner edge, which belongs to the ring.
    pub inner: f64,
    /// Outer edge, which does not, except for the last ring.
    pub outer: f64,
    /// Number of bodies.
    pub count: usize,
    /// Their mass.
    pub mass: f64,
    /// Mass over the area between the edges, at any height.
    pub surface_density: f64,
    /// Mean rotation <v_phi>.
    pub rotation: f64,
    /// Dispersion of v_R about its mean.
    pub sigma_radial: f64,
    /// Dispersion of v_phi about its mean.
    pub sigma_azimuthal: f64,
    /// Dispersion of v_z about its mean.
    pub sigma_vertical: f64,
    /// Root mean square of z.
    pub thickness: f64,
}

impl Ring {
    /// The middle of the edges.
    pub fn radius(&self) -> f64 {
        0.5 * (self.inner + self.outer)
    }
}

impl Rings {
    /// `count` rings out to radius `outer`, in the plane normal to the angular momentum of `group`
    /// about its centre (normal to z, if there is none). `outer` of `None`: the radius of 98 % of
    /// its mass.
    ///
    /// # Errors
    /// [`Error::Body`] for bodies that are not valid; [`Error::Value`] unless `count` is 1 to
    /// 100,000 and `outer` is finite and positive.
    pub fn about(bodies: &Bodies, group: &Group, outer: Option<f64>, count: usize) -> Result<Self> {
        bodies.validate()?;
        let Group { centre, velocity, .. } = *group;
        check_finite("the centre of the rings", centre)?;
        check_finite("the velocity of the centre", velocity)?;
        if !(1..=MOST).contains(&count) {
            return Err(Error::value("the number of rings", count, format!("1 to {MOST}")));
        }
        let members = GroupMembers::of(bodies, group.component);
        let spin = sum_vec_of(members.list.len(), |k| {
            let i = members.list[k];
            let offset = bodies.position[i] - centre;
            offset.cross(bodies.velocity[i] - velocity) * members.weight(k)
        });
        let axis = spin.try_normalize().unwrap_or(DVec3::Z);
        let outer = outer.unwrap_or_else(|| {
            let distance = |place| height(place, centre, axis).1;
            radii_of_parts(bodies, &members.list, distance, &[0.98])[0]
        });
        if !(outer > 0.0 && outer.is_finite()) {
            let allowed = "finite and above 0, as the bodies of a disk have";
            return Err(Error::value("the outer radius of the rings", outer, allowed));
        }
        let edges = (0..=count).map(|k| outer * k as f64 / count as f64).collect();
        Ok(Self { centre, velocity, axis, edges })
    }

    /// What each ring holds of a component, or of all bodies.
    ///
    /// # Errors
    /// [`Error::Body`] for bodies that are not valid.
    pub fn profile(&self, bodies: &Bodies, component: Option<u8>) -> Result<Vec<Ring>> {
        bodies.validate()?;
        let members = GroupMembers::of(bodies, component);
        let radius = |i: usize| height(bodies.position[i], self.centre, self.axis).1;
        let (_, rings) = sorted_into(&members, &self.edges, radius);
        let rings = rings.into_iter().enumerate();
        Ok(rings.map(|(k, list)| self.ring(k, &GroupMembers::listed(bodies, list))).collect())
    }

    fn ring(&self, k: usize, held: &GroupMembers) -> Ring {
        let bodies = held.bodies;
        let n = held.list.len();
        let (inner, outer) = (self.edges[k], self.edges[k + 1]);
        let mass = sum_of(n, |k| bodies.mass[held.list[k]]);
        let total = sum_of(n, |k| held.weight(k)).max(f64::MIN_POSITIVE);
        // Along R, phi and z.
        let moving = |k: usize| {
            let i = held.list[k];
            let (z, _) = height(bodies.position[i], self.centre, self.axis);
            let offset = bodies.position[i] - self.centre;
            let outwards = (offset - self.axis * z).normalize_or_zero();
            let v = bodies.velocity[i] - self.velocity;
            DVec3::new(v.dot(outwards), v.dot(self.axis.cross(outwards)), v.dot(self.axis))
        };
        let mean = sum_vec_of(n, |k| moving(k) * held.weight(k)) / total;
        let squared = |v: DVec3| v * v;
        let square = sum_vec_of(n, |k| squared(moving(k) - mean) * held.weight(k)) / total;
        let z = |k: usize| height(bodies.position[held.list[k]], self.centre, self.axis).0;
        Ring {
            inner,
            outer,
            count: n,
            mass,
            surface_density: mass / (PI * (outer * outer - inner * inner)),
            rotation: mean.y,
            sigma_radial: square.x.sqrt(),
            sigma_azimuthal: square.y.sqrt(),
            sigma_vertical: square.z.sqrt(),
            thickness: (sum_of(n, |k| z(k) * z(k) * held.weight(k)) / total).sqrt(),
        }
    }
}

/// The height of `place` above the plane, and its distance from the axis.
fn height(place: DVec3, centre: DVec3, axis: DVec3) -> (f64, f64) {
    let offset = place - centre;
    let z = offset.dot(axis);
    (z, (offset - axis * z).length())
}
