//! Plummer's sphere in equilibrium.

use std::f64::consts::PI;
use std::ops::Range;

use rayon::prelude::*;

use crate::bodies::{Bodies, for_all};
use crate::error::Result;
use crate::scene::drawing::{BLOCK, Streams};
use crate::scene::rng::{Even, Stream};
use crate::scene::standard::to_standard_units;
use crate::scene::{Generator, Parameter, Portion, Values};

/// Plummer's model by the recipe of Aarseth, Henon & Wielen (1974, appendix), in standard units: M
/// = 1, W = -1/2, K = 1/4, so E = -1/4 and 2K/|W| = 1 (Heggie & Mathieu 1986).
///
/// W is that of the shells on which the bodies lie; the graininess of n bodies changes it by about
/// 1/n. Radii end at ten virial radii, beyond which an unbounded sphere has 0.5 % of its mass.
pub(crate) static GENERATOR: Generator = Generator {
    name: "plummer",
    summary: "a star cluster in equilibrium: Plummer's sphere in standard units, M = 1 and E = -1/4",
    parameters: &[Parameter::n(8_192, 2)],
    build,
};

/// Outer radius in units of Plummer's length, which is 3 pi / 16 of the virial radius.
const EDGE: f64 = 10.0 * 16.0 / (3.0 * PI);

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let n = values.count("n");
    let (streams, even) = Streams::with_even(seed, 0);
    let rows = portion.rows(n);
    let mut bodies = Bodies::zeroed(rows.len());
    for_all(&mut bodies.mass, |mass| *mass = 1.0 / n as f64);
    {
        // Those of a whole first block: its stream is drawn from the beginning.
        let first = rows.start / BLOCK * BLOCK;
        let radii = radii(&even, first..rows.end);
        let motions = (&mut bodies.position[..], &mut bodies.velocity[..]);
        streams.fill_motions(rows.start, motions, |k, stream| {
            let r = radii[k - first];
            let escape = (2.0 / (1.0 + r * r).sqrt()).sqrt();
            let speed = escape * draw_speed(stream);
            [(stream.direction() * r, stream.direction() * speed)]
        });
    }
    bodies.components[0].name = "stars".into();
    portion.recentre(&mut bodies)?;
    to_standard_units(&mut bodies, portion)?;
    Ok(bodies)
}

/// Numbers `rows` of the radii within the edge.
fn radii(even: &Even, rows: Range<usize>) -> Vec<f64> {
    /// How many are computed at once.
    const PIECE: usize = 1 << 20;
    // M(r) = r^3 (1 + r^2)^(-3/2), solved for r.
    let radius = |k: usize| {
        let u = even.point(k).0;
        1.0 / (1.0 / libm::cbrt(u * u) - 1.0).sqrt()
    };
    let mut own = Vec::with_capacity(rows.len());
    let (mut found, mut tried) = (0, 0);
    while found < rows.end {
        let more = PIECE.min(rows.end - found);
        let made = (tried..tried + more).into_par_iter().map(radius);
        let made: Vec<f64> = made.filter(|r| *r > 0.0 && *r <= EDGE).collect();
        own.extend_from_slice(&made[rows.start.saturating_sub(found).min(made.len())..]);
        found += made.len();
        tried += more;
    }
    own
}

/// A speed in units of the escape speed, drawn from the density q^2 (1 - q^2)^(7/2), which is
/// always below 0.1.
fn draw_speed(stream: &mut Stream) -> f64 {
    loop {
        let q = stream.uniform();
        let rest = 1.0 - q * q;
        if 0.1 * stream.uniform() < q * q * rest * rest * rest * rest.sqrt() {
            return q;
        }
    }
}
