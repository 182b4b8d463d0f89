//! One disk galaxy in equilibrium.

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::galaxy::{Disk, Galaxy, Spheroid};
use crate::scene::{Generator, Parameter, Values};

pub(crate) const BULGE_MASS: Parameter =
    Parameter::real("bulge_mass", 0.33, 0.0, 5.0, "mass of the bulge, in disk masses");
pub(crate) const HALO_MASS: Parameter =
    Parameter::real("halo_mass", 4.0, 0.0, 50.0, "mass of the halo, in disk masses");
pub(crate) const HALO_BODIES: Parameter =
    Parameter::real("halo_bodies", 0.5, 0.0, 0.95, "share of the bodies that make up the halo");
pub(crate) const TOOMRE_Q: Parameter = Parameter::real(
    "toomre_q",
    1.5,
    0.8,
    5.0,
    "lowest Toomre Q of the disk; arms grow near 1, a hot disk above 2 stays smooth",
);
pub(crate) const GAS: Parameter = Parameter::real(
    "gas",
    0.0,
    0.0,
    0.9,
    "share of the disk that is drawn as gas: bodies without pressure or shocks in a thinner, colder layer",
);

/// Described by the summary; see the module `galaxy` for sources.
pub(crate) static GENERATOR: Generator = Generator {
    name: "disk-galaxy",
    summary: "one disk galaxy in equilibrium: exponential disk, bulge and halo; disk mass and scale length 1",
    parameters: &[
        Parameter::n(20_000, 10),
        TOOMRE_Q,
        Parameter::scale(
            "disk_height",
            0.2,
            0.01,
            0.5,
            "sech^2 scale height, in disk scale lengths",
        ),
        GAS,
        BULGE_MASS,
        Parameter::real(
            "bulge_bodies",
            0.0,
            0.0,
            0.95,
            "share of the bodies that make up the bulge; 0 gives all stars the same mass",
        ),
        Parameter::scale("bulge_scale", 0.4, 0.05, 2.0, "scale length of the bulge"),
        HALO_MASS,
        Parameter::scale("halo_scale", 5.0, 0.3, 30.0, "scale length of the halo"),
        Parameter::scale(
            "halo_cutoff",
            7.0,
            1.0,
            200.0,
            "radius where the halo's density begins to fall like a Gaussian",
        ),
        HALO_BODIES,
        Parameter::softening(0.15),
    ],
    build,
};

fn build(values: &Values, seed: u64) -> Result<Bodies> {
    let halo = Halo {
        mass: values.real("halo_mass"),
        scale: values.real("halo_scale"),
        cutoff: values.real("halo_cutoff"),
    };
    let bulge = Bulge {
        mass: values.real("bulge_mass"),
        scale: values.real("bulge_scale"),
        bodies: values.real("bulge_bodies"),
    };
    let halo_bodies = if halo.mass > 0.0 { values.real("halo_bodies") } else { 0.0 };
    if bulge.bodies > 0.96 - halo_bodies {
        let allowed = format!(
            "at most {:.2}, which with halo_bodies leaves some for the disk",
            0.96 - halo_bodies
        );
        return Err(Error::value("scene parameter 'bulge_bodies'", bulge.bodies, allowed));
    }
    let disk = Disk {
        mass: 1.0,
        scale: 1.0,
        height: values.real("disk_height"),
        toomre_q: values.real("toomre_q"),
    };
    let n = values.count("n");
    let mut bodies = galaxy(
        n,
        (disk, values.real("gas")),
        bulge,
        halo,
        values.real("halo_bodies"),
        values.real("softening"),
    )
    .build(seed);
    bodies.recentre();
    Ok(bodies)
}

/// Parameters of a halo.
pub(crate) struct Halo {
    pub mass: f64,
    pub scale: f64,
    pub cutoff: f64,
}

/// Parameters of a bulge.
pub(crate) struct Bulge {
    pub mass: f64,
    pub scale: f64,
    /// Its fraction of all bodies; with 0, all stars have the same mass.
    pub bodies: f64,
}

/// A galaxy of `n` bodies: `halo_bodies` of them in the halo, the others shared between disk and
/// bulge so that all stars have the same mass, unless the bulge sets its own fraction. `gas` is the
/// fraction of the disk, by mass and number, that is gas.
pub(crate) fn galaxy(
    n: usize,
    (disk, gas): (Disk, f64),
    bulge: Bulge,
    halo: Halo,
    halo_bodies: f64,
    softening: f64,
) -> Galaxy {
    let at_least_one =
        |mass: f64, count: f64| if mass > 0.0 { count.round().max(1.0) as usize } else { 0 };
    let halo_count = at_least_one(halo.mass, n as f64 * halo_bodies);
    let stars = (n - halo_count) as f64;
    let bulge_count = match bulge.bodies > 0.0 {
        true => n as f64 * bulge.bodies,
        false => stars * bulge.mass / (bulge.mass + disk.mass),
    };
    let bulge_count = at_least_one(bulge.mass, bulge_count).min(n - halo_count - 1);
    // The softened force cannot hold a cusp together within the softening length.
    let core = softening;
    // An uncut bulge would have a fifth of its mass beyond ten scale lengths, spread through the
    // disk.
    let bulge = Spheroid { mass: bulge.mass, scale: bulge.scale, core, cutoff: 8.0 * bulge.scale };
    let halo = Spheroid { mass: halo.mass, scale: halo.scale, core, cutoff: halo.cutoff };
    let disk_count = n - halo_count - bulge_count;
    Galaxy {
        disk: (disk, disk_count),
        gas: (disk_count as f64 * gas).round() as usize,
        bulge: (bulge, bulge_count),
        halo: (halo, halo_count),
        softening,
    }
}
