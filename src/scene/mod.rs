//! Initial conditions: generators in a registry, and scenes that combine them.
//!
//! A [`Generator`] makes bodies from numbers and a seed. A [`Scene`] is a TOML text that names a
//! generator or combines several parts, and adds hints for the run, the camera and the display. The
//! built-in scenes are such texts too. This module opens no files and reads no clock: the caller
//! reads the texts and passes a loader for snapshots.
//!
//! Units: G = 1. The same scene, parameters and seed give the same bits on every platform: all
//! random numbers come from ChaCha, one stream for each block of bodies (`drawing.rs`), all
//! transcendental functions from `libm`, all sums have a fixed order, and nothing depends on
//! threads.

use crate::bodies::Bodies;
use crate::error::{Error, Result};

mod compose;
mod drawing;
mod elements;
mod finer;
mod galaxy;
mod generators;
mod hints;
mod kepler;
mod king;
mod orbit;
mod orbit_text;
mod origin;
mod portion;
mod rng;
mod rotation;
#[allow(clippy::module_inception)]
mod scene;
mod standard;
mod stars;
mod test_bodies;
mod text;
mod values;
mod view_text;

use std::fmt;

pub use elements::{Anomaly, Elements, Size};
pub use hints::{CameraHint, Colouring, IntegratorHints, Keyframe, Moment, RunHints, ViewHints};
pub use orbit::Orbit;
pub use portion::Portion;
pub use scene::{Loader, Scene};
pub use test_bodies::{Spread, test_bodies};
pub use values::{Kind, Parameter, Values};
pub use view_text::{keyframes, path_text, with_keyframes};

/// The largest number of bodies of a scene; more would need over 100 GB on the hosts alone.
/// A browser's page has 4 GB of memory, in which there are several copies of the bodies while they
/// are handed over.
pub const MAX_BODIES: usize = if cfg!(target_arch = "wasm32") { 4_000_000 } else { 1_000_000_000 };

/// Makes bodies from a few numbers.
pub struct Generator {
    /// Its name in scene files and on the command line.
    pub name: &'static str,
    /// What it makes, in one line.
    pub summary: &'static str,
    /// Its parameters, in the order in which they are shown.
    pub parameters: &'static [Parameter],
    /// Makes the bodies of a portion from values within their ranges and a seed, with the centre of
    /// mass of all at rest at the origin.
    pub build: fn(&Values, u64, &Portion<'_>) -> Result<Bodies>,
}

impl fmt::Debug for Generator {
    /// The name: the same text in all processes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generator({})", self.name)
    }
}

impl Generator {
    /// The parameter with this name.
    ///
    /// # Errors
    /// An unknown name, with all known ones.
    pub fn parameter(&self, name: &str) -> Result<&'static Parameter> {
        let none = || format!("none, as {} has no parameters", self.name);
        let known = || match self.parameters {
            [] => vec![none()],
            some => some.iter().map(|p| p.name.to_owned()).collect(),
        };
        let found = self.parameters.iter().find(|p| p.name == name);
        found.ok_or_else(|| Error::unknown("scene parameter", name, known()))
    }
}

/// Every generator, in the order in which they are listed.
pub static GENERATORS: &[&Generator] = &[
    &generators::galaxy_collision::GENERATOR,
    &generators::disk_galaxy::GENERATOR,
    &generators::plummer::GENERATOR,
    &generators::king::GENERATOR,
    &generators::hernquist::GENERATOR,
    &generators::cold_sphere::GENERATOR,
    &generators::expanding::GENERATOR,
    &generators::random_shell::GENERATOR,
    &generators::random_sphere::GENERATOR,
    &generators::uniform_cube::GENERATOR,
    &generators::two_body::GENERATOR,
    &generators::figure_eight::GENERATOR,
    &generators::pythagorean::GENERATOR,
];

/// The generator with this name.
///
/// # Errors
/// An unknown name, with all known ones.
pub fn generator(name: &str) -> Result<&'static Generator> {
    let known = || GENERATORS.iter().map(|generator| generator.name);
    let found = GENERATORS.iter().copied().find(|generator| generator.name == name);
    found.ok_or_else(|| Error::unknown("generator", name, known()))
}
