//! From a request to bodies: a scene by name, a scene file or a snapshot, with suggested settings.

mod comparison;
mod isolated;
#[cfg(any(test, all(target_arch = "wasm32", feature = "web")))]
mod packed;
mod parts;
mod settings;
#[cfg(not(target_arch = "wasm32"))]
mod shared;
mod thrown;

pub use parts::Parts;
#[cfg(not(target_arch = "wasm32"))]
pub use shared::build_rows;

use std::path::Path;

use crate::wall_clock::Instant;
use rayon::prelude::*;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::forces::Method;
use crate::integrate::blocks::power_of_two_below;
use crate::scene::{IntegratorHints, RunHints, Scene, ViewHints};
use crate::settings::{Assignment, InputRequest};
use crate::sim::{Collisional, collisional, longest_step_in, suggest, suits_encounters};
use crate::snapshot::{self, FIELD, ReadOptions, Series, Snapshot};
use crate::units::Units;
use crate::{files, integrate, memory, messages};

/// Bodies with their metadata and suggested settings.
pub struct Input {
    /// Bodies, time, units and attributes; for a scene, at time 0.
    pub snapshot: Snapshot,
    /// Suggested softening, step and duration.
    pub run: RunHints,
    /// External potentials.
    pub field: Field,
    /// Suggested integrator, if the scene names one or the bodies need one.
    pub integrator: IntegratorHints,
    /// Which defaults differ from those for smooth densities, and why.
    pub chosen: Option<String>,
    /// What `run` would be for a smooth density, if it is not that.
    smooth: Option<RunHints>,
    /// Suggested view, if the scene has one.
    pub view: Option<ViewHints>,
}

impl Input {
    /// Notes the field among the attributes, which snapshots of a run repeat.
    fn in_field(mut self) -> Self {
        if !self.field.is_empty() {
            let text = self.field.to_string();
            self.snapshot.attributes.insert(FIELD.to_owned(), text);
        }
        self
    }

    /// Shortens the suggested step to one that follows the field, and notes it.
    fn follow_field(mut self) -> Self {
        let units = &self.snapshot.units;
        let field = self.field.gravitating(units.gravitational_constant);
        let (bodies, dt) = (&self.snapshot.bodies, self.run.dt);
        let Some(longest) = longest_step_in(&field, bodies) else { return self };
        if let Some(smooth) = &mut self.smooth {
            smooth.dt = smooth.dt.min(longest);
        }
        if longest < dt {
            self.run.dt = longest;
            self.snapshot.notes.push(format!(
                "the default time step is {longest} instead of {dt}, so that nine of ten bodies turn by at most a 30th of a radian a step in the external field"
            ));
        }
        self
    }

    /// Takes back what suits only bodies whose encounters matter, for a simulation with this
    /// softening and method, which may need the settings for a smooth density.
    pub fn suit(&mut self, softening: Option<f64>, method: Option<Method>) {
        if suits_encounters(softening, method) {
            return;
        }
        if let Some(smooth) = self.smooth.take() {
            self.run = smooth;
        }
        if self.chosen.take().is_some() {
            self.integrator = IntegratorHints::default();
        }
    }
}

impl InputRequest {
    /// The scene with the requested changes; `None` if the input is a snapshot.
    ///
    /// # Errors
    ///
    /// A name that is neither a scene nor a file, a parameter that the scene does not have.
    pub fn scene(&self) -> Result<Option<Scene>> {
        let path = Path::new(&self.input);
        let mut scene = if Scene::names().any(|name| name == self.input) {
            Scene::builtin(&self.input)?
        } else if !snapshot::exists(path) {
            return Err(self.unknown());
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            if path.file_name().is_some_and(|name| name == "run.toml") {
                let problem = "holds the settings of a run; name a snapshot of it or, to resume or analyse it, its folder";
                return Err(Error::file(path, problem));
            }
            let text = files::read_text(path)?;
            Scene::from_toml(&text, path)?
        } else {
            return Ok(None);
        };
        if let Some(seed) = self.seed {
            scene.seed = seed;
        }
        if !self.field.is_empty() {
            scene.field = Field(self.field.clone());
        }
        for Assignment { name, value } in &self.set {
            scene.set(name, *value)?;
        }
        if let Some(n) = self.n {
            scene.set_n(n)?;
        }
        Ok(Some(scene))
    }

    /// Generates or reads the bodies. If `softening` is given, a scene starts in equilibrium with
    /// it.
    ///
    /// # Errors
    ///
    /// A gravitational constant that is not finite; an invalid scene or file.
    pub fn load(&self, softening: Option<f64>) -> Result<Input> {
        check_gravity(self.gravity.unwrap_or(1.0))?;
        let input = match self.scene()? {
            Some(_) if self.renumber => {
                let allowed = "left out: a scene's bodies are always numbered from 0";
                Err(Error::value("--renumber", "given", allowed))
            }
            Some(_) if self.snapshot.is_some() => {
                let allowed = "left out: a scene has no snapshots to choose from";
                Err(Error::value("--snapshot", "given", allowed))
            }
            Some(scene) => self.build(scene, softening),
            None => self.read(Path::new(&self.input)),
        }?;
        check_gravity(input.snapshot.units.gravitational_constant)?;
        Ok(input)
    }

    /// Passes each snapshot of the input to `take`: of a file that holds several, all of them in
    /// their order, unless the request chooses one.
    ///
    /// # Errors
    ///
    /// Those of [`InputRequest::load`] and of `take`.
    pub fn load_each(&self, take: &mut dyn FnMut(Input) -> Result<()>) -> Result<()> {
        check_gravity(self.gravity.unwrap_or(1.0))?;
        if self.snapshot.is_some() || self.scene()?.is_some() {
            return take(self.load(None)?);
        }
        let path = Path::new(&self.input);
        self.refuse_changes_of_scenes()?;
        let mut series = Series::open(path, &renumbered(self.renumber))?;
        for number in 0..series.len() {
            let input = self.prepared(series.read(number)?, path)?;
            check_gravity(input.snapshot.units.gravitational_constant)?;
            take(input)?;
        }
        Ok(())
    }

    /// Rejects a scene whose simulation would not fit into memory, before it is generated.
    ///
    /// # Errors
    ///
    /// Too many bodies; those of [`InputRequest::scene`].
    pub fn check_memory(&self) -> Result<()> {
        let n = self.scene()?.and_then(|scene| scene.n());
        n.map_or(Ok(()), |n| memory::check_bodies(n, memory::SIMULATION))
    }

    fn unknown(&self) -> Error {
        let looks_like_path = self.input.contains(['/', '\\', '.']);
        if looks_like_path {
            Error::file(Path::new(&self.input), "there is no such file")
        } else {
            Error::unknown("scene (or file)", &self.input, Scene::names())
        }
    }

    fn build(&self, mut scene: Scene, softening: Option<f64>) -> Result<Input> {
        scene.run.softening = softening.unwrap_or(scene.run.softening);
        let parts = Parts::of(scene.units.clone(), self.isolated);
        scene.n().map_or(Ok(()), |n| memory::check_bodies(n, memory::BODIES))?;
        let begun = Instant::now();
        let bodies = scene.build_with(&|path: &Path| parts.load(path))?;
        let secs = begun.elapsed().as_secs_f64();
        log::info!("scene {}: {} bodies made in {secs:.2} s", scene.name, bodies.len());
        let follows_field = !self.field.is_empty();
        let input = self.of_scene(scene, bodies, parts)?;
        // The step of a scene file is chosen for the field in it.
        Ok(if follows_field { input.follow_field() } else { input })
    }

    /// The input of a scene with these bodies.
    ///
    /// # Errors
    ///
    /// A gravitational constant that is not finite.
    fn of_scene(&self, scene: Scene, bodies: Bodies, parts: Parts) -> Result<Input> {
        let mut snapshot = Snapshot::new(bodies, 0.0);
        (snapshot.units, snapshot.notes) = parts.finish();
        self.set_gravity(&mut snapshot);
        snapshot.attributes.insert("scene".to_owned(), scene.name.clone());
        snapshot.attributes.insert("seed".to_owned(), scene.seed.to_string());
        let Scene { run, field, integrator, view, .. } = scene;
        let view = Some(view);
        check_gravity(snapshot.units.gravitational_constant)?;
        let input = Input { snapshot, run, field, integrator, chosen: None, smooth: None, view };
        Ok(input.in_field())
    }

    fn read(&self, path: &Path) -> Result<Input> {
        self.refuse_changes_of_scenes()?;
        let options = ReadOptions { snapshot: self.snapshot, ..renumbered(self.renumber) };
        self.prepared(snapshot::read_with(path, &options)?, path)
    }

    /// Rejects settings that change a scene, for an input that is a snapshot.
    ///
    /// # Errors
    ///
    /// A number of bodies, a seed or a parameter.
    pub fn refuse_changes_of_scenes(&self) -> Result<()> {
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
        Ok(())
    }

    /// The input for a snapshot that was read from `path`.
    fn prepared(&self, mut snapshot: Snapshot, path: &Path) -> Result<Input> {
        isolated::check(&mut snapshot, path, self.isolated)?;
        let name = messages::path(path, messages::PIECE);
        let shared = shared_ids(&snapshot.bodies.id);
        snapshot.notes.extend(shared.map(|note| format!("{name}: {note}")));
        self.set_gravity(&mut snapshot);
        if !self.field.is_empty() {
            let field = Field(self.field.clone()).to_string();
            snapshot.attributes.insert(FIELD.to_owned(), field);
        }
        let run = suggest(&snapshot.bodies, snapshot.units.gravitational_constant);
        let is_own = snapshot.number("dt").is_some() && self.field.is_empty();
        let input = Self::input_of(snapshot, run)?;
        Ok(if is_own { input } else { input.follow_field() })
    }

    /// The input for a snapshot with the suggested settings `run`, which suit a smooth density.
    ///
    /// # Errors
    ///
    /// An attribute that is no external field.
    fn input_of(snapshot: Snapshot, mut run: RunHints) -> Result<Input> {
        let (bodies, g) = (&snapshot.bodies, snapshot.units.gravitational_constant);
        let (softening, dt) = (snapshot.number("softening"), snapshot.number("dt"));
        let found = collisional(bodies, run.softening, g);
        let mut smooth = None;
        let mut integrator = IntegratorHints::default();
        let mut chosen = None;
        if softening.is_some() || dt.is_some() {
            // Gravitile's own snapshots hold the settings of their run, but not its end.
            run.softening = softening.unwrap_or(run.softening);
            run.dt = dt.unwrap_or(run.dt);
            if let Some(found) = found.filter(|_| softening == Some(0.0)) {
                smooth = Some(run);
                run.until = found.run.until;
            }
            let name = snapshot.attributes.get("integrator");
            if let Some(found) = name.and_then(|name| integrate::find(name).ok()) {
                integrator.integrator = Some(found.name.to_owned());
                let longest = power_of_two_below(run.dt);
                integrator.blocks.dt_max =
                    Some(longest).filter(|_| found.has_block_steps() && longest > 0.0);
            }
        } else if let Some(Collisional { run: own, dt_max, why }) = found {
            let name = integrate::COLLISIONAL.name;
            chosen = Some(format!(
                "{why}: the defaults are eps 0, {name} with steps of up to {dt_max}, and the end at t = {}",
                snapshot.time + own.until
            ));
            smooth = Some(std::mem::replace(&mut run, own));
            integrator.integrator = Some(name.to_owned());
            integrator.blocks.dt_max = Some(dt_max);
        }
        let field = match snapshot.attributes.get(FIELD) {
            None => Field::default(),
            Some(text) => text.parse().map_err(|error| {
                Error::Outside(format!("in the snapshot's attribute 'field', {error}"))
            })?,
        };
        Ok(Input { snapshot, run, field, integrator, chosen, smooth, view: None }.in_field())
    }

    /// Sets the requested G. Units in which G has another value lose their names.
    fn set_gravity(&self, snapshot: &mut Snapshot) {
        let Some(g) = self.gravity else { return };
        snapshot.units.gravitational_constant = g;
        if let Some(newton) = snapshot.units.contradiction() {
            let Units { length, mass, time, .. } = &snapshot.units;
            snapshot.notes.push(format!(
                "--gravity {g}: the units {length}, {mass} and {time}, in which it is {}, are not named any more",
                messages::number(newton)
            ));
            snapshot.units = Units { gravitational_constant: g, ..Units::default() };
        }
    }
}

/// A note on duplicate ids, if any.
fn shared_ids(ids: &[u64]) -> Option<String> {
    if ids.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut sorted = ids.to_vec();
    sorted.par_sort_unstable();
    let mut shared = sorted.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let first = shared.next()?;
    let others = 1 + shared.count();
    Some(format!(
        "ids are not unique: {others} of {} bodies have that of another, such as {first}; --renumber numbers them from 0",
        ids.len()
    ))
}

/// Rejects a value that is not finite, with the message of [`crate::sim::Settings::validate`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::StepRequest;
    use crate::sim::Settings;

    /// A table of a star and light bodies around it, which suits runs without softening.
    #[test]
    fn settings_for_encounters_are_left_out_with_a_softening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("star.csv");
        let mut table = "m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n".to_owned();
        for k in 1..40 {
            let (r, angle) = (f64::from(k) * 0.1, f64::from(k) * 2.4);
            let (x, y, v) = (r * angle.cos(), r * angle.sin(), r.sqrt().recip());
            let (vx, vy) = (-v * angle.sin(), v * angle.cos());
            table += &format!("0.001,{x},{y},0,{vx},{vy},0\n");
        }
        std::fs::write(&path, table).unwrap();
        let request = InputRequest::named(path.display().to_string());
        let settle = |eps: Option<f64>, method: Option<Method>| {
            let mut input = request.load(eps).unwrap();
            let base = Settings { method, ..Settings::default() };
            let settings = StepRequest { eps, ..StepRequest::default() };
            input.suit(eps, method);
            (settings.over(&input, base).unwrap(), input)
        };
        let (settings, hard) = settle(None, None);
        assert!(hard.chosen.is_some() && settings.softening == 0.0);
        assert_eq!(settings.integrator.name, integrate::COLLISIONAL.name);
        let smooth = suggest(&hard.snapshot.bodies, 1.0);
        for (eps, method) in [(Some(0.05), None), (None, Some(Method::Tree))] {
            let (settings, soft) = settle(eps, method);
            assert!(soft.chosen.is_none() && soft.run == smooth, "{:?}", soft.run);
            assert_eq!(settings.integrator.name, integrate::DEFAULT.name);
            assert_eq!(
                (settings.softening, settings.dt),
                (eps.unwrap_or(smooth.softening), smooth.dt)
            );
        }
    }
}
