//! A scene: what to build, and hints for running and viewing it.

use std::path::Path;

use super::compose::{
    About, Part, Source, append, check_count, join, name_components, on_orbit, single_body,
};
use super::finer::Finer;
use super::{IntegratorHints, Kind, Orbit, Parameter, Portion, RunHints, Values, ViewHints};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::units::Units;

/// Loads the snapshot of a part. Scenes do not open files themselves.
pub type Loader<'a> = dyn Fn(&Path) -> Result<Bodies> + 'a;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../assets/scenes/", $name, ".toml")))),*]
    };
}

/// The built-in scenes: names and texts, in the order in which they are listed.
static BUILT_IN: &[(&str, &str)] = built_in![
    "galaxy-collision",
    "gas-collision",
    "antennae",
    "mice",
    "m51",
    "atoms-for-peace",
    "milky-way-andromeda",
    "local-group",
    "cartwheel",
    "minor-merger",
    "toomre-retrograde",
    "toomre-direct",
    "toomre-bridge",
    "toomre-tail",
    "disk-galaxy",
    "barred-galaxy",
    "milky-way",
    "plummer",
    "star-cluster",
    "hernquist",
    "cold-sphere",
    "expanding",
    "random-shell",
    "random-sphere",
    "uniform-cube",
    "two-body",
    "figure-eight",
    "pythagorean",
];

/// A parsed and checked scene, ready to be changed and built.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The name of the built-in scene, or of the file without its ending.
    pub name: String,
    /// Title for headings.
    pub title: String,
    /// What there is to see, in a few sentences; may be empty.
    pub about: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Softening, time step and end that suit the scene.
    pub run: RunHints,
    /// External potentials, in the coordinates of the bodies.
    pub field: Field,
    /// The integrator that suits it, if it names one.
    pub integrator: IntegratorHints,
    /// Camera and colours that suit it.
    pub view: ViewHints,
    /// Its units, for display: names with their factors, such as `3.5 kpc`. G is 1 whatever they
    /// are.
    pub units: Units,
    /// How softening and step follow the number of bodies, if they do.
    pub(super) finer: Option<Finer>,
    pub(super) contents: Contents,
}

/// What a scene consists of.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// One generator.
    Single(Source),
    /// Several parts; two of them may meet on an orbit.
    Composed(Vec<Part>, Option<Orbit>),
}

impl Scene {
    /// The names of the built-in scenes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The TOML text of a built-in scene, a template for new ones.
    ///
    /// # Errors
    /// An unknown name, with all known ones.
    pub fn builtin_text(name: &str) -> Result<&'static str> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| Error::unknown("scene", name, Self::names()))
    }

    /// The built-in scene with this name.
    ///
    /// # Errors
    /// An unknown name, with all known ones.
    pub fn builtin(name: &str) -> Result<Self> {
        Self::from_toml(Self::builtin_text(name)?, Path::new(&format!("{name}.toml")))
    }

    /// All parameters with their current values, for listings and sliders. Names are those of the
    /// generator; in a scene of parts, `1.n` is the parameter n of the first part.
    pub fn parameters(&self) -> Vec<(String, &'static Parameter, f64)> {
        let named = |prefix: String, source: &Source, length_scale: f64| match source {
            Source::Generator(_, values, stars) => values
                .iter()
                .map(|(parameter, value)| {
                    let value = match is_of_the_run(values, parameter.name) {
                        true => self.run.softening / length_scale,
                        false => value,
                    };
                    (parameter, value)
                })
                .chain(stars.numbers())
                .map(|(parameter, value)| (format!("{prefix}{}", parameter.name), parameter, value))
                .collect(),
            Source::File(_) | Source::Body(_) => Vec::new(),
        };
        match &self.contents {
            Contents::Single(source) => named(String::new(), source, 1.0),
            Contents::Composed(parts, _) => parts
                .iter()
                .enumerate()
                .flat_map(|(k, part)| named(format!("{}.", k + 1), &part.source, part.length_scale))
                .collect(),
        }
    }

    /// Sets a parameter by its name in [`Scene::parameters`].
    ///
    /// # Errors
    /// An unknown name or a value outside its range; the scene is then unchanged.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let unknown = self.unknown(name);
        let (source, parameter) = match &mut self.contents {
            Contents::Single(source) => (source, name),
            Contents::Composed(parts, _) => {
                let Some((prefix, parameter)) = name.split_once('.') else { return Err(unknown) };
                let index = prefix.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match index.and_then(|index| parts.get_mut(index)) {
                    Some(part) => (&mut part.source, parameter),
                    None => return Err(unknown),
                }
            }
        };
        match source {
            Source::Generator(_, values, _) if values.get(parameter).is_some() => {
                values.set(parameter, value)?;
            }
            Source::Generator(_, _, stars) if stars.has(parameter) => {
                stars.set(parameter, value)?
            }
            _ => return Err(unknown),
        }
        self.refine();
        Ok(())
    }

    /// Adapts softening and step to the number of bodies.
    fn refine(&mut self) {
        if let (Some(finer), Some(n)) = (&self.finer, self.n()) {
            finer.refine(n, &mut self.run);
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let mut known: Vec<String> = self.parameters().into_iter().map(|(name, ..)| name).collect();
        if known.is_empty() {
            known.push("none".to_owned());
        }
        Error::unknown("scene parameter", name, known)
    }

    /// The number of bodies that the scene will have; `None` if it depends on files.
    pub fn n(&self) -> Option<usize> {
        match &self.contents {
            Contents::Single(source) => source.n(),
            Contents::Composed(parts, _) => parts.iter().map(|part| part.source.n()).sum(),
        }
    }

    /// The number of bodies, if several processes can each make some of them: not those of files,
    /// nor stars with masses or companions.
    pub(crate) fn n_if_divisible(&self) -> Option<usize> {
        let is_divisible = |source: &Source| match source {
            Source::Generator(_, _, stars) => stars.are_plain(),
            Source::Body(_) => true,
            Source::File(_) => false,
        };
        let divisible = match &self.contents {
            Contents::Single(source) => is_divisible(source),
            Contents::Composed(parts, _) => parts.iter().all(|part| is_divisible(&part.source)),
        };
        self.n().filter(|_| divisible)
    }

    /// Sets the total number of bodies. Generated parts share it in the old proportions.
    ///
    /// # Errors
    /// A number outside the range; a scene with a fixed number; a part that is a file.
    pub fn set_n(&mut self, n: usize) -> Result<()> {
        check_count(n)?;
        let fixed = |why: &str| {
            let what = format!("the number of bodies of scene '{}'", self.name);
            Err(Error::value(what, n, format!("left out: {why}")))
        };
        let adjustable = self.parameters().iter().any(|(_, p, _)| p.kind == Kind::Count);
        if !adjustable {
            return fixed("it is always the same");
        }
        let Some(old) = self.n() else { return fixed("its files decide") };
        match &mut self.contents {
            Contents::Single(_) => self.set("n", n as f64),
            Contents::Composed(parts, _) => {
                let mut changed = parts.clone();
                let mut counts: Vec<(f64, &mut Values)> = changed
                    .iter_mut()
                    .filter_map(|part| match &mut part.source {
                        Source::Generator(_, values, _) => Some((values.get("n")?, values)),
                        _ => None,
                    })
                    .collect();
                // Parts without `n` keep their bodies.
                let own = counts.iter().map(|(own, _)| own).sum::<f64>();
                let mut left = n as f64 - (old as f64 - own);
                let share = left / own;
                // The last part takes the rounding remainder.
                let last = counts.len() - 1;
                for (k, (own, values)) in counts.iter_mut().enumerate() {
                    let new = if k == last { left } else { (*own * share).round() };
                    values.set("n", new)?;
                    left -= new;
                }
                *parts = changed;
                self.refine();
                Ok(())
            }
        }
    }

    /// [`Scene::build_with`] for scenes whose parts read no files, such as all built-in ones.
    ///
    /// # Errors
    /// A part that reads a file; those of [`Scene::build_with`].
    pub fn build(&self) -> Result<Bodies> {
        self.build_with(&|path| {
            Err(Error::file(path, "a part of the scene reads it: use Scene::build_with"))
        })
    }

    /// Makes the bodies. Generators whose parameter `softening` is not set get that of
    /// [`Scene::run`]. The centre of mass is at rest at the origin, but with a field parts are
    /// where they are placed; ids count from 0. `load` is called for the files of parts, with paths
    /// that include the scene file's folder.
    ///
    /// # Errors
    /// Those of `load` and of the generators; an orbit that cannot be started; bodies that
    /// [`Bodies::validate`] rejects.
    pub fn build_with(&self, load: &Loader) -> Result<Bodies> {
        let bodies = self.build_portion(load, &Portion::WHOLE)?;
        bodies.validate()?;
        Ok(bodies)
    }

    /// Makes the bodies of a portion. If that is not all, [`Scene::n_if_divisible`] has said how
    /// many there are.
    ///
    /// # Errors
    /// Those of [`Scene::build_with`]; another process is gone.
    pub(crate) fn build_portion(&self, load: &Loader, portion: &Portion<'_>) -> Result<Bodies> {
        self.n().map_or(Ok(()), check_count)?;
        let mut bodies = match &self.contents {
            Contents::Single(source) => {
                let softening = self.run.softening;
                join(
                    [self.make(source, self.seed, softening, [1.0; 2], (load, portion))?],
                    portion,
                )?
            }
            Contents::Composed(parts, orbit) => {
                let mut groups = Vec::with_capacity(parts.len());
                // One body for each part.
                let mut before = Bodies::default();
                let mut first = 0;
                for (k, part) in parts.iter().enumerate() {
                    let n = part.source.n();
                    let own = portion.of_part(&(first..n.map_or(usize::MAX, |n| first + n)));
                    let mut group = self.make_part(parts, k, load, &own)?;
                    first += n.unwrap_or(group.len());
                    if let Some(orbit) = &part.orbit {
                        if let (About::Mass(mass), true) = (&orbit.about, self.field.is_empty()) {
                            let allowed = "the name of a part: without a field there is no mass that stays at the origin";
                            return Err(Error::value("what an orbit is 'about'", mass, allowed));
                        }
                        orbit.place(&mut group, parts, &before, portion)?;
                    }
                    let (mass, position, velocity) = portion.centre_of_mass(&group)?;
                    before.push(mass, position, velocity, 0);
                    groups.push(group);
                }
                // A field fixes the coordinates: parts then stay where they are placed.
                let is_placed = !self.field.is_empty() && orbit.is_none();
                match (orbit, <[Bodies; 2]>::try_from(groups)) {
                    (Some(orbit), Ok([first, second])) => on_orbit(first, second, orbit, portion)?,
                    (_, Ok(two)) if is_placed => append(two)?,
                    (_, Err(groups)) if is_placed => append(groups)?,
                    (_, Ok(two)) => join(two, portion)?,
                    (_, Err(groups)) => join(groups, portion)?,
                }
            }
        };
        let n = self.n_if_divisible().unwrap_or(bodies.len());
        check_count(n)?;
        bodies.id = Bodies::numbered(portion.rows(n));
        Ok(bodies)
    }

    fn make_part(
        &self,
        parts: &[Part],
        k: usize,
        load: &Loader,
        portion: &Portion<'_>,
    ) -> Result<Bodies> {
        let part = &parts[k];
        // Parts with the same generator must differ; the golden ratio spreads neighbouring numbers.
        let own = self.seed.wrapping_add((k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let softening = self.run.softening / part.length_scale;
        let scales = [part.length_scale, part.mass_scale];
        let mut bodies =
            self.make(&part.source, part.seed.unwrap_or(own), softening, scales, (load, portion))?;
        match &part.name {
            Some(name) if matches!(part.source, Source::Body(_)) => {
                name_components(&mut bodies, |_| name.clone());
            }
            Some(prefix) => name_components(&mut bodies, |name| format!("{prefix} {name}")),
            None if parts.len() > 1 => {
                name_components(&mut bodies, |name| format!("{name} {}", k + 1));
            }
            None => {}
        }
        part.place(&mut bodies, portion)?;
        Ok(bodies)
    }

    /// Bodies in the units of their source, of which the scene's are `scales` times as large: those
    /// of length and mass.
    fn make(
        &self,
        source: &Source,
        seed: u64,
        softening: f64,
        scales: [f64; 2],
        (load, portion): (&Loader, &Portion<'_>),
    ) -> Result<Bodies> {
        match source {
            Source::Generator(generator, values, stars) => {
                let mut values = values.clone();
                if values.get("softening").is_some() && is_of_the_run(&values, "softening") {
                    values.set("softening", softening)?;
                }
                let n = values.get("n").map(|n| n as usize);
                if let Some(n) = n {
                    let least = generator.parameter("n")?.min as usize;
                    values.set("n", stars.systems(n).max(least) as f64)?;
                }
                let bodies = (generator.build)(&values, seed, portion)?;
                let n = n.unwrap_or(bodies.len());
                stars.populate(bodies, n, seed, &self.units, scales)
            }
            Source::Body(mass) => Ok(portion.of(single_body(*mass))),
            Source::File(path) => {
                let bodies = load(path)?;
                bodies.validate()?;
                Ok(bodies)
            }
        }
    }
}

/// Whether this parameter of a generator is the run's softening, because it was not set.
fn is_of_the_run(values: &Values, name: &str) -> bool {
    name == "softening" && !values.is_given(name)
}
