//! Bodies for checking trees: typical ones, and ones that trees have failed on.

use std::f64::consts::TAU;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::forces::tree::PointMass;

/// A distribution of bodies. Masses add up to 1; numbers are f32 values, the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// A Plummer sphere of scale length 1 out to radius 20.
    Plummer,
    /// A thin exponential disk of scale length 1 with a tenth of its mass in a small bulge.
    Disk,
    /// A Plummer sphere of scale length 1, a hundred lengths from the origin.
    FarAway,
    /// Two Plummer spheres of scale length 1, a thousand lengths apart.
    TwoClusters,
    /// All bodies at one position.
    OnePlace,
}

impl Cloud {
    /// All clouds with their names.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Plummer, "Plummer sphere"),
        (Self::Disk, "disk"),
        (Self::FarAway, "far from the origin"),
        (Self::TwoClusters, "two clusters"),
        (Self::OnePlace, "one place"),
    ];

    /// Its name for display.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(cloud, _)| *cloud == self).map_or("", |(_, name)| name)
    }

    /// `n` bodies, with masses that differ by up to a factor of three.
    pub fn places(self, n: usize) -> Vec<PointMass> {
        let of = |i: usize| {
            let [x, y, z] = self.position(i, n).map(|x| x as f32);
            let heavy = 0.5 + part(i, std::f64::consts::SQRT_2);
            [x, y, z, (heavy / n as f64) as f32]
        };
        (0..n).map(of).collect()
    }

    /// The same bodies, at rest.
    pub fn bodies(self, n: usize) -> Bodies {
        let mut bodies = Bodies::with_capacity(n);
        for [x, y, z, mass] in self.places(n) {
            bodies.push(mass.into(), DVec3::new(x.into(), y.into(), z.into()), DVec3::ZERO, 0);
        }
        bodies
    }

    fn position(self, i: usize, n: usize) -> [f64; 3] {
        match self {
            Self::Plummer => plummer(i),
            Self::Disk if i.is_multiple_of(10) => plummer(i).map(|x| 0.1 * x),
            Self::Disk => disk(i),
            Self::FarAway => {
                let [x, y, z] = plummer(i);
                [x + 80.0, y - 60.0, z + 10.0]
            }
            Self::TwoClusters => {
                let [x, y, z] = plummer(i);
                [if i < n / 2 { x } else { x + 1000.0 }, y, z]
            }
            Self::OnePlace => [0.3, 0.2, 0.1],
        }
    }
}

/// Evenly distributed numbers between 0 and 1 that never repeat (M. Roberts 2018).
fn part(i: usize, step: f64) -> f64 {
    ((i + 1) as f64 * step).fract()
}

/// Three numbers between 0 and 1 that fill the unit cube evenly.
fn even(i: usize) -> [f64; 3] {
    [0.819_172_513_4, 0.671_043_606_7, 0.549_700_477_9].map(|step| part(i, step))
}

fn plummer(i: usize) -> [f64; 3] {
    let [mass, height, turn] = even(i);
    let mass = mass.clamp(1e-7, 0.996);
    let radius = 1.0 / (1.0 / libm::cbrt(mass * mass) - 1.0).sqrt();
    let z = 2.0 * height - 1.0;
    let (sin, cos) = libm::sincos(TAU * turn);
    let across = (1.0 - z * z).sqrt();
    [radius * across * cos, radius * across * sin, radius * z]
}

fn disk(i: usize) -> [f64; 3] {
    let [mass, height, turn] = even(i);
    let radius = -libm::log(1.0 - mass.min(0.9999));
    let (sin, cos) = libm::sincos(TAU * turn);
    // Vertical profile sech^2, with a thickness of a twentieth of the scale length.
    let z = 0.025 * libm::log(height.max(1e-9) / (1.0 - height).max(1e-9));
    [radius * cos, radius * sin, z]
}
