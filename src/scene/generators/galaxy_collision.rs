//! Two colliding disk galaxies.

use super::disk_galaxy::{BULGE_MASS, GAS, HALO_BODIES, HALO_MASS, Shape, TOOMRE_Q, galaxy};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::compose::{name_components, on_orbit, scale};
use crate::scene::rotation::Rotation;
use crate::scene::{Generator, Orbit, Parameter, Portion, Values};

/// Two galaxies of the kind of `disk-galaxy`, on an orbit as of two point masses (Toomre & Toomre
/// 1972). The second has the same surface density: its lengths scale with the square root of its
/// mass. The orbit lies in the xy plane, with its pericentre in the positive x direction from the
/// first galaxy.
pub(crate) static GENERATOR: Generator = Generator {
    name: "galaxy-collision",
    summary: "two disk galaxies with bulge and halo meet, throw out tidal arms and merge",
    parameters: &[
        Parameter::n(24_000, 20),
        Parameter::scale("mass_ratio", 1.0, [0.05, 1.0])
            .help("mass of the second galaxy in units of the first"),
        Parameter::scale("pericentre", 2.5, [0.1, 30.0])
            .help("smallest distance of the orbit as of two points, in disk scale lengths"),
        Parameter::scale("separation", 16.0, [1.0, 200.0]).help("distance at the start"),
        Parameter::real("eccentricity", 1.0, [0.0, 2.0]).help("of the orbit: 1 is a parabola"),
        Parameter::real("inclination_1", 60.0, [0.0, 180.0]).help(
            "between the first disk and the orbit, degrees; 0 turns with the orbit, 180 against it",
        ),
        Parameter::real("argument_1", -30.0, [-180.0, 180.0])
            .help("from the first disk's line of nodes to the pericentre, degrees"),
        Parameter::real("inclination_2", 60.0, [0.0, 180.0])
            .help("between the second disk and the orbit, degrees"),
        Parameter::real("argument_2", -30.0, [-180.0, 180.0])
            .help("from the second disk's line of nodes to the pericentre, degrees"),
        TOOMRE_Q,
        GAS,
        BULGE_MASS,
        HALO_MASS,
        HALO_BODIES,
        Parameter::softening(0.15),
    ],
    build,
};

/// The shape of both galaxies.
const SHAPE: Shape = Shape {
    disk_height: 0.2,
    bulge_scale: 0.4,
    bulge_bodies: 0.0,
    halo_scale: 5.0,
    halo_cutoff: 7.0,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let n = values.count("n");
    let ratio = values.real("mass_ratio");
    let orbit = Orbit {
        eccentricity: values.real("eccentricity"),
        pericentre: values.real("pericentre"),
        separation: values.real("separation"),
    };
    // Bodies of equal masses in both galaxies, but at least ten bodies in each.
    let second_count = (n as f64 * ratio / (1.0 + ratio)).round().clamp(10.0, n as f64 - 10.0);
    let second_count = second_count as usize;

    let first_count = n - second_count;
    let disk =
        |part: std::ops::Range<usize>, mass: f64, which: u64, inclination: &str, node: f64| {
            let length = mass.sqrt();
            let galaxy = galaxy(values, part.len(), &SHAPE, values.real("softening") / length);
            let mut bodies = galaxy.build(
                // The second galaxy gets another seed, or it would be a copy of the first.
                seed.wrapping_add(which.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                &portion.of_part(&part),
            )?;
            scale(&mut bodies, length, mass);
            Rotation::new(0.0, values.real(inclination), node).turn_bodies(&mut bodies);
            name_components(&mut bodies, |name| format!("{name} {}", which + 1));
            Ok::<_, Error>(bodies)
        };
    let nodes = [-values.real("argument_1"), 180.0 - values.real("argument_2")];
    let (first, second) = portion.both(
        || disk(0..first_count, 1.0, 0, "inclination_1", nodes[0]),
        || disk(first_count..n, ratio, 1, "inclination_2", nodes[1]),
    );
    on_orbit(first?, second?, &orbit, portion)
}
