//! From a request to bodies: a scene by name, a scene file or a snapshot, with what suits it.

#[cfg(any(test, all(target_arch = "wasm32", feature = "panel")))]
mod packed;
mod settings;

use std::path::Path;

use web_time::Instant;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::files;
use crate::scene::{IntegratorHints, RunHints, Scene, ViewHints};
use crate::settings::{Assignment, InputRequest};
use crate::sim::suggest;
use crate::snapshot::{self, ReadOptions, Snapshot};
use crate::units::Units;

/// Bodies with all that is known about them.
pub struct Input {
    /// Bodies, time, units and facts; for a scene, at time 0.
    pub snapshot: Snapshot,
    /// Softening, step and duration that suit them.
    pub run: RunHints,
    /// The integrator that suits them, if the scene names one.
    pub integrator: IntegratorHints,
    /// How they look best, if the scene says.
    pub view: Option<ViewHints>,
}

impl InputRequest {
    /// The scene with the requested changes; `None` if the input is a snapshot.
    ///
    /// Errors: a name that is neither, a parameter that the scene does not have.
    pub fn scene(&self) -> Result<Option<Scene>> {
        let path = Path::new(&self.input);
        let mut scene = if Scene::names().any(|name| name == self.input) {
            Scene::builtin(&self.input)?
        } else if !snapshot::is_there(path) {
            return Err(self.unknown());
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let text = files::read_text(path)?;
            Scene::from_toml(&text, path)?
        } else {
            return Ok(None);
        };
        if let Some(seed) = self.seed {
            scene.seed = seed;
        }
        for Assignment { name, value } in &self.set {
            scene.set(name, *value)?;
        }
        if let Some(n) = self.n {
            scene.set_n(n)?;
        }
        Ok(Some(scene))
    }

    /// Generates or reads the bodies. If `softening` is given, a scene starts in equilibrium with it.
    ///
    /// Errors: a gravitational constant that is not finite; an invalid scene or file.
    pub fn load(&self, softening: Option<f64>) -> Result<Input> {
        check_gravity(self.gravity.unwrap_or(1.0))?;
        let input = match self.scene()? {
            Some(_) if self.renumber => {
                let allowed = "left out: a scene's bodies are always numbered from 0";
                Err(Error::value("--renumber", "given", allowed))
            }
            Some(scene) => self.build(scene, softening),
            None => self.read(Path::new(&self.input)),
        }?;
        check_gravity(input.snapshot.units.gravitational_constant)?;
        Ok(input)
    }

    fn unknown(&self) -> Error {
        let looks_like_path = self.input.contains(['/', '\\', '.']);
        if looks_like_path {
            Error::file(Path::new(&self.input), "there is no such file")
        } else {
            let known = Scene::names().collect::<Vec<_>>().join(", ");
            Error::Unknown { kind: "scene (or file)", name: self.input.clone(), known }
        }
    }

    fn build(&self, mut scene: Scene, softening: Option<f64>) -> Result<Input> {
        scene.run.softening = softening.unwrap_or(scene.run.softening);
        let load = |path: &Path| -> Result<Bodies> {
            // All parts together are numbered from 0, so the ids of a file are not used.
            let read = snapshot::read_with(path, &renumbered(true))?;
            // Scenes have G = 1: a file's own G goes into the masses.
            let mut bodies = read.bodies;
            bodies.mass = bodies.gravitating_mass(read.units.gravitational_constant);
            Ok(bodies)
        };
        let begun = Instant::now();
        let bodies = scene.build(&load)?;
        let secs = begun.elapsed().as_secs_f64();
        log::info!("scene {}: {} bodies made in {secs:.2} s", scene.name, bodies.len());
        let mut snapshot = Snapshot::new(bodies, 0.0);
        snapshot.units = Units::from(&scene.units);
        if let Some(g) = self.gravity {
            snapshot.units.gravitational_constant = g;
        }
        snapshot.attributes.insert("scene".to_owned(), scene.name.clone());
        snapshot.attributes.insert("seed".to_owned(), scene.seed.to_string());
        let Scene { run, integrator, view, .. } = scene;
        Ok(Input { snapshot, run, integrator, view: Some(view) })
    }

    fn read(&self, path: &Path) -> Result<Input> {
        let of_scenes = [
            ("-n", self.n.map(|n| n.to_string())),
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--set", self.set.first().cloned().map(String::from)),
        ];
        for (option, value) in of_scenes {
            if let Some(value) = value {
                let allowed = "left out: it changes a scene, not the bodies of a snapshot";
                return Err(Error::value(option, value, allowed));
            }
        }
        let mut snapshot = snapshot::read_with(path, &renumbered(self.renumber))?;
        if let Some(g) = self.gravity {
            snapshot.units.gravitational_constant = g;
        }
        let number = |key: &str| snapshot.attributes.get(key).and_then(|v| v.parse::<f64>().ok());
        let mut run = suggest(&snapshot.bodies, snapshot.units.gravitational_constant);
        // Gravitile's own snapshots hold the settings of their run.
        run.softening = number("softening").unwrap_or(run.softening);
        run.dt = number("dt").unwrap_or(run.dt);
        Ok(Input { snapshot, run, integrator: IntegratorHints::default(), view: None })
    }
}

/// Refuses a value that is not finite, in the words of [`crate::sim::Settings::validate`].
fn check_gravity(g: f64) -> Result<()> {
    if g.is_finite() {
        return Ok(());
    }
    Err(Error::value("the gravitational constant", g, "finite"))
}

/// Options for reading snapshots with their own ids or with new ones.
fn renumbered(renumber: bool) -> ReadOptions {
    ReadOptions { renumber, ..ReadOptions::default() }
}
