//! Origin and units of points: f32 coordinates are relative to a position within the picture.

use glam::DVec3;

use super::style::ColourBy;
use crate::frame::Frame;

/// The units of points' f32 numbers, in world units. All units are powers of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Origin of positions.
    pub origin: DVec3,
    /// One unit of positions.
    pub length: f64,
    /// One unit of masses, times `gravity`.
    pub mass: f64,
    /// The factor by which points' masses are larger than those of bodies: G for bodies on a
    /// device.
    pub gravity: f64,
    /// One unit of velocities.
    pub speed: f64,
    /// One unit of accelerations.
    pub acceleration: f64,
}

impl Scale {
    /// Numbers in world units.
    pub const PLAIN: Self = Self {
        origin: DVec3::ZERO,
        length: 1.0,
        mass: 1.0,
        gravity: 1.0,
        speed: 1.0,
        acceleration: 1.0,
    };

    /// The scale of bodies on a device, which carry G m as mass.
    pub fn on_device(frame: &Frame, gravitational_constant: f64) -> Self {
        Self { gravity: gravitational_constant, ..Self::from(frame) }
    }

    /// One unit of the quantity that colours show, except for densities and maps of mass, which
    /// have their own.
    pub fn value(&self, colour_by: ColourBy) -> f64 {
        match colour_by {
            ColourBy::Acceleration => self.acceleration,
            by if by.shows_velocities() => self.speed,
            _ => 1.0,
        }
    }

    /// The mass of a point, from that of its body.
    pub fn mass_of(&self, mass: f64) -> f64 {
        mass * self.gravity / self.mass
    }

    /// 1 / [`Scale::mass_of`], or 0 if that is not above 0.
    pub fn inverse_mass(&self, mass: f64) -> f64 {
        if mass * self.gravity > 0.0 { self.mass / (mass * self.gravity) } else { 0.0 }
    }

    /// A position in f32.
    pub fn position(&self, position: DVec3) -> [f32; 3] {
        crate::frame::narrow((position - self.origin) / self.length)
    }
}

impl From<&Frame> for Scale {
    fn from(frame: &Frame) -> Self {
        Self {
            origin: frame.origin.into(),
            length: frame.length,
            mass: frame.mass,
            gravity: 1.0,
            speed: frame.velocity_unit(),
            acceleration: frame.acceleration_unit(),
        }
    }
}
