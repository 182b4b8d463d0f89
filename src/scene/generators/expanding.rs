//! A sphere that flies apart.

use super::drawn;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::{Generator, Parameter, Portion, Values};

/// A uniform sphere of M = R = 1 that expands with v = H r, like the `expand` configuration of
/// NVIDIA's nbody sample. Below the escape speed it comes to rest at radius 1 / (1 - expansion^2)
/// and falls back.
pub(crate) static GENERATOR: Generator = Generator {
    name: "expanding",
    summary: "a uniform sphere that flies apart and, below the speed of escape, falls back",
    parameters: &[
        Parameter::n(16_384, 2),
        Parameter::real("expansion", 0.8, [0.0, 3.0])
            .help("speed at the edge, in units of the speed of escape there"),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    // The escape speed at the edge is sqrt(2 G M / R).
    let rate = values.real("expansion") * 2.0_f64.sqrt();
    drawn(values, seed, portion, |stream| {
        let position = stream.in_ball();
        (position, position * rate)
    })
}
