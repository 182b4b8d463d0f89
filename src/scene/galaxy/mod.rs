//! A disk galaxy in equilibrium: exponential disk, bulge and halo, all of live bodies.
//!
//! Units: G = 1, and the caller's mass and scale length of the disk. Bulge and halo are drawn from
//! Eddington's distribution functions in the spherically averaged potential of the whole galaxy,
//! then adapted to the flat field of the disk; the disk follows Toomre's Q and the epicyclic
//! approximation.

mod disk;
mod distribution;
mod flattening;
mod monopole;
mod motion;
mod ring;
mod spheroid;

pub(crate) use disk::Disk;
use distribution::Distribution;
use flattening::{axial_factor, axial_share};
use glam::DVec3;
use monopole::Monopole;
use motion::{Chance, Motion};
use rayon::prelude::*;
pub(crate) use spheroid::Spheroid;
use spheroid::{Profile, interpolate, radial_grid};

use super::rng::{Even, Stream};
use crate::bodies::{Bodies, Component, Role};

/// Number of radii in the tables.
const NODES: usize = 500;
/// Height of the gas, in that of the disk it belongs to, and its Toomre's Q in the disk's: a thin,
/// cold layer.
const GAS_HEIGHT: f64 = 0.4;
const GAS_Q: f64 = 0.7;
/// The lowest Q of gas: below it the gas would clump at once.
const LEAST_GAS_Q: f64 = 0.8;
/// Number of bodies whose random numbers are drawn in sequence before all cores make bodies from
/// them.
const BLOCK: usize = 1 << 16;

/// A galaxy and the number of bodies of each part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Galaxy {
    /// The disk, with its number of bodies.
    pub disk: (Disk, usize),
    /// Number of the disk's bodies that are gas: they feel neither pressure nor shocks but lie in a
    /// thinner and colder layer.
    pub gas: usize,
    /// The bulge.
    pub bulge: (Spheroid, usize),
    /// The halo.
    pub halo: (Spheroid, usize),
    /// Softening length for which the velocities are in equilibrium.
    pub softening: f64,
}

impl Galaxy {
    /// Makes the bodies: components `disk`, `gas`, `bulge` and `halo` (each only if it has bodies),
    /// spinning about +z, each with its centre of mass at rest at the origin.
    pub fn build(&self, seed: u64) -> Bodies {
        let (disk, disk_bodies) = self.disk;
        let spheroids = [self.bulge, self.halo];
        let from = 1e-3 * self.bulge.0.scale.min(disk.scale);
        // At this radius exp(-5^2) of the density is left.
        let cutoff = self.halo.0.cutoff.max(self.bulge.0.cutoff).min(1e3 * self.halo.0.scale);
        let radii = radial_grid(from, (5.0 * cutoff).max(10.0 * disk.scale), NODES);
        let profiles = spheroids.map(|(spheroid, _)| Profile::new(&spheroid, &radii));
        let spheres: Vec<f64> =
            (0..NODES).map(|k| profiles[0].enclosed[k] + profiles[1].enclosed[k]).collect();
        let disks: Vec<f64> = radii.iter().map(|&r| disk.enclosed(r)).collect();
        let all: Vec<f64> = spheres.iter().zip(&disks).map(|(a, b)| a + b).collect();
        let [spheres, disks, total] =
            [spheres, disks, all].map(|enclosed| Monopole::new(&radii, &enclosed, self.softening));
        let share = match disk.mass > 0.0 {
            true => axial_share(&disk, self.softening, &radii),
            false => vec![1.0 / 3.0; NODES],
        };

        let count = disk_bodies + self.bulge.1 + self.halo.1;
        let mut bodies = Bodies::with_capacity(count);
        bodies.components.clear();
        // Each part has its own stream of random numbers.
        let layer_drawn = |layer: Disk, count: usize, stream: u64| {
            if count == 0 {
                return Vec::new();
            }
            let inward = |r| -interpolate(&radii, &spheres.slope, r);
            let motion = Motion::new(layer, self.softening, inward);
            draw_disk(&motion, count, &mut Stream::new(seed, stream))
        };
        let gas_layer = Disk {
            height: GAS_HEIGHT * disk.height,
            toomre_q: (GAS_Q * disk.toomre_q).max(LEAST_GAS_Q),
            ..disk
        };
        let gas = self.gas.min(disk_bodies);
        let disk_drawn = || {
            let stars = || layer_drawn(disk, disk_bodies - gas, 0);
            rayon::join(stars, || layer_drawn(gas_layer, gas, 3))
        };
        let spheroid_drawn = |k: usize| {
            let count = spheroids[k].1;
            if count == 0 {
                return Vec::new();
            }
            let distribution = Distribution::new(&profiles[k], &total);
            let factor = axial_factor(&radii, &profiles[k], &disks, &share, &spheres);
            let mut stream = Stream::new(seed, 1 + k as u64);
            let mut drawn = draw(&profiles[k], &distribution, &radii, count, &mut stream);
            drawn.par_iter_mut().for_each(|(position, velocity)| {
                let axial = interpolate(&radii, &factor, position.length());
                let across = (0.5 * (3.0 - axial)).sqrt();
                *velocity *= DVec3::new(across, across, axial.sqrt());
            });
            drawn
        };
        let ((disk_drawn, gas_drawn), (bulge_drawn, halo_drawn)) =
            rayon::join(disk_drawn, || rayon::join(|| spheroid_drawn(0), || spheroid_drawn(1)));
        let gas_mass = disk.mass * gas as f64 / disk_bodies.max(1) as f64;
        for (name, role, mass, drawn) in [
            ("disk", Role::Disk, disk.mass - gas_mass, disk_drawn),
            ("gas", Role::Gas, gas_mass, gas_drawn),
            ("bulge", Role::Bulge, self.bulge.0.mass, bulge_drawn),
            ("halo", Role::Halo, self.halo.0.mass, halo_drawn),
        ] {
            if !drawn.is_empty() {
                add(&mut bodies, name, role, mass, drawn);
            }
        }
        bodies
    }
}

/// `count` positions and velocities of a disk. The random numbers are drawn in sequence; all cores
/// make bodies from them.
fn draw_disk(motion: &Motion, count: usize, stream: &mut Stream) -> Vec<(DVec3, DVec3)> {
    let even = Even::new(stream);
    let mut drawn = Vec::with_capacity(count);
    for first in (0..count).step_by(BLOCK) {
        let block = BLOCK.min(count - first);
        let chances: Vec<Chance> = (0..block).map(|_| Chance::draw(stream)).collect();
        let body = |(k, chance)| motion.body(even.point(first + k).0, chance);
        drawn.par_extend(chances.par_iter().enumerate().map(body));
    }
    drawn
}

/// `count` positions and velocities of an isotropic sphere, on an even grid of radii and speeds.
/// Each body has a partner at the opposite point with the opposite velocity. Without it a halo of
/// few bodies would be off centre by its radius over sqrt(n), and recentring it would shift its
/// cusp away from the bulge's.
fn draw(
    profile: &Profile,
    distribution: &Distribution,
    radii: &[f64],
    count: usize,
    stream: &mut Stream,
) -> Vec<(DVec3, DVec3)> {
    let even = Even::new(stream);
    let pairs = count.div_ceil(2);
    let mut drawn = Vec::with_capacity(pairs);
    for first in (0..pairs).step_by(BLOCK) {
        let block = BLOCK.min(pairs - first);
        let directions: Vec<[DVec3; 2]> =
            (0..block).map(|_| [stream.direction(), stream.direction()]).collect();
        let pair = |(k, [place, motion]): (usize, &[DVec3; 2])| {
            let (mass_fraction, speed_fraction) = even.point(first + k);
            let r = profile.radius_of(radii, mass_fraction);
            let position = *place * r;
            let velocity = *motion * distribution.speed(radii, r, speed_fraction);
            [(position, velocity), (-position, -velocity)]
        };
        drawn.par_extend(directions.par_iter().enumerate().map(pair));
    }
    let mut drawn = drawn.into_flattened();
    drawn.truncate(count);
    drawn
}

/// Adds a recentred component of total mass `mass`, in bodies of equal mass.
fn add(bodies: &mut Bodies, name: &str, role: Role, mass: f64, drawn: Vec<(DVec3, DVec3)>) {
    let count = drawn.len() as f64;
    let position = crate::math::sum_vec(drawn.iter().map(|d| d.0)) / count;
    let velocity = crate::math::sum_vec(drawn.iter().map(|d| d.1)) / count;
    let component = bodies.components.len() as u8;
    bodies.components.push(Component::new(name, role));
    for (x, v) in drawn {
        bodies.push(mass / count, x - position, v - velocity, component);
    }
}
