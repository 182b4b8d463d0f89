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
use motion::Motion;
pub(crate) use spheroid::Spheroid;
use spheroid::{Profile, interpolate, radial_grid};

use super::Portion;
use super::drawing::Streams;
use crate::bodies::{Bodies, Component, Role, for_all};
use crate::error::Result;

/// Number of radii in the tables.
const NODES: usize = 500;
/// Height of the gas, in that of the disk it belongs to, and its Toomre's Q in the disk's: a thin,
/// cold layer.
const GAS_HEIGHT: f64 = 0.4;
const GAS_Q: f64 = 0.7;
/// The lowest Q of gas: below it the gas would clump at once.
const LEAST_GAS_Q: f64 = 0.8;

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
    /// Makes the bodies of a portion: components `disk`, `gas`, `bulge` and `halo` (each only if it
    /// has bodies), spinning about +z, each with its centre of mass at rest at the origin.
    ///
    /// # Errors
    /// Another process is gone.
    pub fn build(&self, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
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

        let layer_motion = |layer: Disk, count: usize| {
            let inward = |r| -interpolate(&radii, &spheres.slope, r);
            (count > 0).then(|| Motion::new(layer, self.softening, inward))
        };
        let gas_layer = Disk {
            height: GAS_HEIGHT * disk.height,
            toomre_q: (GAS_Q * disk.toomre_q).max(LEAST_GAS_Q),
            ..disk
        };
        let gas = self.gas.min(disk_bodies);
        let layers = || {
            let stars = || layer_motion(disk, disk_bodies - gas);
            rayon::join(stars, || layer_motion(gas_layer, gas))
        };
        let sphere = |k: usize| {
            (spheroids[k].1 > 0).then(|| Sphere {
                radii: &radii,
                profile: &profiles[k],
                distribution: Distribution::new(&profiles[k], &total),
                axial: axial_factor(&radii, &profiles[k], &disks, &share, &spheres),
            })
        };
        let ((stars, gas_motion), (bulge, halo)) =
            rayon::join(layers, || rayon::join(|| sphere(0), || sphere(1)));

        let gas_mass = disk.mass * gas as f64 / disk_bodies.max(1) as f64;
        let mut bodies =
            Bodies::zeroed(portion.rows(disk_bodies + self.bulge.1 + self.halo.1).len());
        bodies.components.clear();
        let (mut first, mut filled) = (0, 0);
        let mut add = |name: &str, role, mass, count, fill: &dyn Fn(usize, Motions)| {
            let component = Component::new(name, role);
            let part = portion.of_part(&(first..first + count));
            let result = add(&mut bodies, filled, (component, mass, count), &part, fill);
            first += count;
            filled += part.rows(count).len();
            result
        };
        // Each part has its own streams of random numbers.
        if let Some(motion) = &stars {
            let mass = disk.mass - gas_mass;
            let fill = |first, own: Motions| draw_disk(motion, (first, own), seed, 0);
            add("disk", Role::Disk, mass, disk_bodies - gas, &fill)?;
        }
        if let Some(motion) = &gas_motion {
            let fill = |first, own: Motions| draw_disk(motion, (first, own), seed, 3);
            add("gas", Role::Gas, gas_mass, gas, &fill)?;
        }
        if let Some(sphere) = &bulge {
            let (mass, count) = (self.bulge.0.mass, self.bulge.1);
            add("bulge", Role::Bulge, mass, count, &|first, own| {
                sphere.draw((first, own), seed, 1)
            })?;
        }
        if let Some(sphere) = &halo {
            let (mass, count) = (self.halo.0.mass, self.halo.1);
            add("halo", Role::Halo, mass, count, &|first, own| sphere.draw((first, own), seed, 2))?;
        }
        Ok(bodies)
    }
}

/// Positions and velocities to fill.
type Motions<'a> = (&'a mut [DVec3], &'a mut [DVec3]);

/// Fills the positions and velocities of a disk from body `first` on.
fn draw_disk(motion: &Motion, (first, motions): (usize, Motions), seed: u64, part: u32) {
    let (streams, even) = Streams::with_even(seed, part);
    streams.fill_motions(first, motions, |k, stream| [motion.body(even.point(k).0, stream)]);
}

/// A sphere in the field of a galaxy.
struct Sphere<'a> {
    radii: &'a [f64],
    profile: &'a Profile,
    distribution: Distribution,
    /// See [`axial_factor`].
    axial: Vec<f64>,
}

impl Sphere<'_> {
    /// Fills the positions and velocities from body `first` on, evenly in radii and speeds. Each
    /// body has a partner at the opposite point with the opposite velocity. Without it a halo of
    /// few bodies would be off centre by its radius over sqrt(n), and recentring it would shift its
    /// cusp away from the bulge's.
    fn draw(&self, (first, motions): (usize, Motions), seed: u64, part: u32) {
        let (streams, even) = Streams::with_even(seed, part);
        streams.fill_motions(first, motions, |k, stream| {
            let [place, motion] = [stream.direction(), stream.direction()];
            let (mass_fraction, speed_fraction) = even.point(k);
            let r = self.profile.radius_of(self.radii, mass_fraction);
            let position = place * r;
            let speed = self.distribution.speed(self.radii, r, speed_fraction);
            let axial = interpolate(self.radii, &self.axial, position.length());
            let across = (0.5 * (3.0 - axial)).sqrt();
            let velocity = motion * speed * DVec3::new(across, across, axial.sqrt());
            [(position, velocity), (-position, -velocity)]
        });
    }
}

/// Makes the bodies from `filled` on this portion of a recentred component, of `count` bodies of
/// equal mass in all.
fn add(
    bodies: &mut Bodies,
    filled: usize,
    (component, mass, count): (Component, f64, usize),
    portion: &Portion<'_>,
    fill: &dyn Fn(usize, Motions),
) -> Result<()> {
    let index = bodies.components.len() as u8;
    bodies.components.push(component);
    let rows = portion.rows(count);
    let own = filled..filled + rows.len();
    let (x, v) = (&mut bodies.position[own.clone()], &mut bodies.velocity[own.clone()]);
    fill(rows.start, (&mut *x, &mut *v));
    let [position, velocity] = portion.means(x, v, count)?;
    for_all(x, |x| *x -= position);
    for_all(v, |v| *v -= velocity);
    for_all(&mut bodies.mass[own.clone()], |m| *m = mass / count as f64);
    for_all(&mut bodies.component[own], |c| *c = index);
    Ok(())
}
