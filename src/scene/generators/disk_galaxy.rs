//! One disk galaxy in equilibrium.

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::galaxy::{Disk, Galaxy, Spheroid};
use crate::scene::{Generator, Parameter, Portion, Values};

pub(crate) const BULGE_MASS: Parameter =
    Parameter::real("bulge_mass", 0.33, [0.0, 5.0]).help("mass of the bulge, in disk masses");
pub(crate) const HALO_MASS: Parameter =
    Parameter::real("halo_mass", 4.0, [0.0, 50.0]).help("mass of the halo, in disk masses");
pub(crate) const HALO_BODIES: Parameter = Parameter::real("halo_bodies", 0.5, [0.0, 0.95])
    .help("share of the bodies that make up the halo");
pub(crate) const TOOMRE_Q: Parameter = Parameter::real("toomre_q", 1.5, [0.8, 5.0])
    .help("lowest Toomre Q of the disk; arms grow near 1, a hot disk above 2 stays smooth");
pub(crate) const GAS: Parameter = Parameter::real("gas", 0.0, [0.0, 0.9]).help("share of the disk that is drawn as gas: bodies without pressure or shocks in a thinner, colder layer");

/// Described by the summary; see the module `galaxy` for sources.
pub(crate) static GENERATOR: Generator = Generator {
    name: "disk-galaxy",
    summary: "one disk galaxy in equilibrium: exponential disk, bulge and halo; disk mass and scale length 1",
    parameters: &[
        Parameter::n(20_000, 10),
        TOOMRE_Q,
        Parameter::scale("disk_height", 0.2, [0.01, 0.5])
            .help("sech^2 scale height, in disk scale lengths"),
        GAS,
        BULGE_MASS,
        Parameter::real("bulge_bodies", 0.0, [0.0, 0.95])
            .help("share of the bodies that make up the bulge; 0 gives all stars the same mass"),
        Parameter::scale("bulge_scale", 0.4, [0.05, 2.0]).help("scale length of the bulge"),
        HALO_MASS,
        Parameter::scale("halo_scale", 5.0, [0.3, 30.0]).help("scale length of the halo"),
        Parameter::scale("halo_cutoff", 7.0, [1.0, 200.0])
            .help("radius where the halo's density begins to fall like a Gaussian"),
        HALO_BODIES,
        Parameter::softening(0.15),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let bulge_bodies = values.real("bulge_bodies");
    let has_halo = values.real("halo_mass") > 0.0;
    let most = 0.96 - if has_halo { values.real("halo_bodies") } else { 0.0 };
    if bulge_bodies > most {
        let allowed = format!("at most {most:.2}, which with halo_bodies leaves some for the disk");
        return Err(Error::value("scene parameter 'bulge_bodies'", bulge_bodies, allowed));
    }
    let shape = Shape {
        disk_height: values.real("disk_height"),
        bulge_scale: values.real("bulge_scale"),
        bulge_bodies,
        halo_scale: values.real("halo_scale"),
        halo_cutoff: values.real("halo_cutoff"),
    };
    let galaxy = galaxy(values, values.count("n"), &shape, values.real("softening"));
    let mut bodies = galaxy.build(seed, portion)?;
    portion.recentre(&mut bodies)?;
    Ok(bodies)
}

/// Parameters of a galaxy that only `disk-galaxy` has, in scale lengths of the disk.
pub(crate) struct Shape {
    pub disk_height: f64,
    pub bulge_scale: f64,
    /// The bulge's fraction of all bodies; with 0, all stars have the same mass.
    pub bulge_bodies: f64,
    pub halo_scale: f64,
    pub halo_cutoff: f64,
}

/// A galaxy of `n` bodies with a disk of mass and scale length 1: `halo_bodies` of them in the
/// halo, the others shared between disk and bulge so that all stars have the same mass, unless the
/// bulge sets its own fraction. `gas` is the fraction of the disk, by mass and number, that is gas.
pub(crate) fn galaxy(values: &Values, n: usize, shape: &Shape, softening: f64) -> Galaxy {
    let disk = Disk {
        mass: 1.0,
        scale: 1.0,
        height: shape.disk_height,
        toomre_q: values.real("toomre_q"),
    };
    // The softened force cannot hold a cusp together within the softening length.
    let core = softening;
    // An uncut bulge would have a fifth of its mass beyond ten scale lengths, spread through the
    // disk.
    let (mass, scale) = (values.real("bulge_mass"), shape.bulge_scale);
    let bulge = Spheroid { mass, scale, core, cutoff: 8.0 * scale };
    let (mass, scale) = (values.real("halo_mass"), shape.halo_scale);
    let halo = Spheroid { mass, scale, core, cutoff: shape.halo_cutoff };
    let at_least_one =
        |mass: f64, count: f64| if mass > 0.0 { count.round().max(1.0) as usize } else { 0 };
    let halo_count = at_least_one(halo.mass, n as f64 * values.real("halo_bodies"));
    let stars = (n - halo_count) as f64;
    let bulge_count = match shape.bulge_bodies > 0.0 {
        true => n as f64 * shape.bulge_bodies,
        false => stars * bulge.mass / (bulge.mass + disk.mass),
    };
    let bulge_count = at_least_one(bulge.mass, bulge_count).min(n - halo_count - 1);
    let disk_count = n - halo_count - bulge_count;
    Galaxy {
        disk: (disk, disk_count),
        gas: (disk_count as f64 * values.real("gas")).round() as usize,
        bulge: (bulge, bulge_count),
        halo: (halo, halo_count),
        softening,
    }
}
