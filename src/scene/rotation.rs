//! Rotating bodies, with angles in degrees and the same bits on every platform.

use glam::DVec3;

use crate::bodies::{Bodies, for_all};

/// A rotation matrix from `libm`'s sines, since the platforms' own differ in the last bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    rows: [DVec3; 3],
}

impl Rotation {
    /// Rotates first by `spin` about the z axis, then by `tilt` about the x axis, then by `node`
    /// about the z axis; degrees. The old z axis then has inclination `tilt`, and the line on which
    /// the old xy plane rises through the new one has azimuth `node`.
    pub fn new(spin: f64, tilt: f64, node: f64) -> Self {
        let (ss, cs) = sine_cosine(spin);
        let (st, ct) = sine_cosine(tilt);
        let (sn, cn) = sine_cosine(node);
        Self {
            rows: [
                DVec3::new(cn * cs - sn * ct * ss, -cn * ss - sn * ct * cs, sn * st),
                DVec3::new(sn * cs + cn * ct * ss, -sn * ss + cn * ct * cs, -cn * st),
                DVec3::new(st * ss, st * cs, ct),
            ],
        }
    }

    /// The rotated vector.
    pub fn turn(&self, v: DVec3) -> DVec3 {
        DVec3::new(self.rows[0].dot(v), self.rows[1].dot(v), self.rows[2].dot(v))
    }

    /// Rotates positions and velocities of all bodies about the origin.
    pub fn turn_bodies(&self, bodies: &mut Bodies) {
        for_all(&mut bodies.position, |x| *x = self.turn(*x));
        for_all(&mut bodies.velocity, |v| *v = self.turn(*v));
    }
}

/// Sine and cosine of an angle in degrees, exact at multiples of 90 degrees.
fn sine_cosine(degrees: f64) -> (f64, f64) {
    let quarter_turns = degrees / 90.0;
    if quarter_turns == quarter_turns.floor() {
        return match quarter_turns.rem_euclid(4.0) as u8 {
            0 => (0.0, 1.0),
            1 => (1.0, 0.0),
            2 => (0.0, -1.0),
            _ => (-1.0, 0.0),
        };
    }
    let radians = degrees * (std::f64::consts::PI / 180.0);
    (libm::sin(radians), libm::cos(radians))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_tilts_axis_and_preserves_lengths() {
        let rotation = Rotation::new(25.0, 60.0, 90.0);
        let axis = rotation.turn(DVec3::Z);
        assert!((axis - DVec3::new(0.75_f64.sqrt(), 0.0, 0.5)).length() < 1e-15);
        let turned = rotation.turn(DVec3::new(1.0, 2.0, 3.0));
        assert!((turned.length_squared() - 14.0).abs() < 1e-14);
        // The node: a point of the old plane that rises through the new one there.
        let node = Rotation::new(0.0, 60.0, 30.0).turn(DVec3::X);
        assert!((node - DVec3::new(0.75_f64.sqrt(), 0.5, 0.0)).length() < 1e-15);
    }

    #[test]
    fn right_angles_are_exact() {
        assert_eq!(Rotation::new(0.0, 180.0, 0.0).turn(DVec3::Y), -DVec3::Y);
        assert_eq!(Rotation::new(-90.0, 0.0, 0.0).turn(DVec3::X), -DVec3::Y);
    }
}
