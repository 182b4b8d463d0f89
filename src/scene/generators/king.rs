//! King's model in equilibrium.

use crate::bodies::{Bodies, for_all};
use crate::error::Result;
use crate::scene::drawing::Streams;
use crate::scene::king::King;
use crate::scene::standard::to_standard_units;
use crate::scene::{Generator, Parameter, Portion, Values};

/// A model of King (1966), which ends at a tidal radius, in standard units as `plummer`. Radii are
/// drawn by inverting the mass, speeds from the distribution function at that radius.
pub(crate) static GENERATOR: Generator = Generator {
    name: "king",
    summary: "a star cluster in equilibrium that ends at a tidal radius: King's model in standard units, M = 1 and E = -1/4",
    parameters: &[
        Parameter::n(8_192, 2),
        Parameter::real("w0", 6.0, [0.1, 12.0])
            .help("depth of the central potential in units of sigma^2: more is more concentrated"),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let n = values.count("n");
    let king = King::new(values.real("w0"));
    let (streams, even) = Streams::with_even(seed, 0);
    let rows = portion.rows(n);
    let mut bodies = Bodies::zeroed(rows.len());
    for_all(&mut bodies.mass, |mass| *mass = 1.0 / n as f64);
    let motions = (&mut bodies.position[..], &mut bodies.velocity[..]);
    streams.fill_motions(rows.start, motions, |k, stream| [king.body(even.point(k).0, stream)]);
    bodies.components[0].name = "stars".into();
    portion.recentre(&mut bodies)?;
    to_standard_units(&mut bodies, portion)?;
    Ok(bodies)
}
