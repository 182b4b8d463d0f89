//! Pictures and films: shaders, CPU and device renderers compared, and written files.

mod adding;
mod cameras;
mod diagram;
mod films;
mod gpu;
mod maps;
mod medium;
mod pictures;
mod resolution;
mod shaders;
mod smooth;
mod streaks;
mod targets;
mod thinning;

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};

/// Two small galaxies with bulges and a halo; deterministic.
fn two_galaxies(n: usize) -> Bodies {
    let mut bodies = Bodies {
        components: vec![
            Component::new("disk 1", Role::Disk),
            Component::new("bulge 1", Role::Bulge),
            Component::new("disk 2", Role::Disk),
            Component::new("halo", Role::Halo),
        ],
        ..Bodies::default()
    };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..n {
        let component = [0, 0, 1, 2, 2, 2, 3][i % 7];
        let (reach, height) = [(1.0, 0.05), (0.2, 0.2), (0.8, 0.05), (4.0, 4.0)][component];
        let radius = -reach * libm::log(1.0 - 0.98 * chance());
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * chance());
        let centre = if component == 2 { DVec3::new(3.0, 1.0, 0.0) } else { DVec3::ZERO };
        let position = DVec3::new(radius * cos, radius * sin, height * (chance() - 0.5));
        let speed = DVec3::new(-sin, cos, 0.0) / (0.3 + radius).sqrt();
        bodies.push(1.0 + chance(), centre + position, speed, component as u8);
    }
    bodies
}
