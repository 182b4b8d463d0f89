//! Scene files: TOML with known keys only, every value checked, every error with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::compose::{Part, Source};
use super::finer::Finer;
use super::orbit_text::OrbitText;
use super::origin::Allowed::{Any, NotNegative, Positive};
use super::origin::Origin;
use super::scene::{Contents, Scene};
use super::stars::{Stars, StarsText};
use super::view_text::ViewText;
use super::{IntegratorHints, Orbit, RunHints, Values, generator};
use crate::error::{Error, Result};
use crate::field::{Field, Kind, Potential};
use crate::messages;
use crate::settings::BlockRequest;
use crate::units::{Measure, Quantity, Units};

/// 2^53: up to here f64 represents every step number exactly.
const MOST_STEPS: f64 = 9_007_199_254_740_992.0;

/// The most components of bodies.
const MOST_COMPONENTS: usize = 256;

/// Numbers by name, each with its position in the text.
type Numbers = BTreeMap<String, Spanned<f64>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneText {
    title: Option<String>,
    about: Option<String>,
    #[serde(default)]
    seed: u64,
    generator: Option<Spanned<String>>,
    parameters: Option<Spanned<Numbers>>,
    stars: Option<Spanned<StarsText>>,
    #[serde(default, rename = "part")]
    parts: Vec<Spanned<PartText>>,
    encounter: Option<Spanned<EncounterText>>,
    #[serde(default, rename = "field")]
    fields: Vec<Spanned<BTreeMap<String, Spanned<toml::Value>>>>,
    #[serde(default)]
    run: RunText,
    #[serde(default)]
    view: ViewText,
    #[serde(default)]
    units: UnitsText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartText {
    name: Option<String>,
    generator: Option<Spanned<String>>,
    #[serde(default)]
    parameters: Numbers,
    stars: Option<Spanned<StarsText>>,
    file: Option<String>,
    mass: Option<Spanned<f64>>,
    seed: Option<u64>,
    length_scale: Option<Spanned<f64>>,
    mass_scale: Option<Spanned<f64>>,
    spin: Option<Spanned<f64>>,
    tilt: Option<Spanned<f64>>,
    node: Option<Spanned<f64>>,
    position: Option<Spanned<[f64; 3]>>,
    velocity: Option<Spanned<[f64; 3]>>,
    orbit: Option<Spanned<OrbitText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EncounterText {
    #[serde(default = "parabola")]
    eccentricity: f64,
    pericentre: f64,
    separation: f64,
}

fn parabola() -> f64 {
    1.0
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunText {
    softening: Option<Spanned<f64>>,
    dt: Option<Spanned<f64>>,
    until: Option<Spanned<f64>>,
    #[serde(default)]
    follows_n: bool,
    integrator: Option<String>,
    eta: Option<Spanned<f64>>,
    eta6: Option<Spanned<f64>>,
    dt_max: Option<Spanned<f64>>,
    precision: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitsText {
    length: Option<Spanned<String>>,
    mass: Option<Spanned<String>>,
    time: Option<Spanned<String>>,
}

impl Origin<'_> {
    /// Time step and end of a run; the number of steps must be countable.
    fn duration(&self, text: &RunText, base: RunHints) -> Result<RunHints> {
        let dt = self.number("dt", &text.dt, base.dt, Positive)?;
        let until = self.number("until", &text.until, base.until, Positive)?;
        // Less than a millionth of a step counts as no step.
        if dt.is_normal() && (1e-6..=MOST_STEPS).contains(&(until / dt)) {
            return Ok(RunHints { dt, until, ..base });
        }
        let place = text.dt.as_ref().or(text.until.as_ref()).map_or(0..0, Spanned::span);
        let steps = format!("{:.3e} ('until' {until:?}, 'dt' {dt:?})", until / dt);
        let what = "the number of time steps";
        Err(self.error(place, Error::value(what, steps, "from 1 to 2^53 (9.007e15)")))
    }

    /// The generator with this name and these numbers.
    fn source(&self, name: &Spanned<String>, numbers: &Numbers, stars: Stars) -> Result<Source> {
        let generator =
            generator(name.get_ref()).map_err(|error| self.error(name.span(), error))?;
        let mut values = Values::defaults(generator.parameters);
        for (key, value) in numbers {
            generator
                .parameter(key)
                .and_then(|parameter| values.set(parameter.name, *value.get_ref()))
                .map_err(|error| self.error(value.span(), error))?;
        }
        Ok(Source::Generator(generator, values, Box::new(stars)))
    }

    /// A part after those of the names `before`.
    fn part(
        &self,
        text: &Spanned<PartText>,
        before: &[Option<&str>],
        in_encounter: bool,
        units: &Units,
    ) -> Result<Part> {
        let span = text.span();
        let text = text.get_ref();
        let source = match (&text.generator, &text.file, &text.mass) {
            (Some(name), None, None) => {
                let stars = self.stars(&text.stars, units, text.mass_scale.is_some())?;
                self.source(name, &text.parameters, stars)?
            }
            (None, _, _) if !text.parameters.is_empty() || text.stars.is_some() => {
                let problem = "only a part with a 'generator' has 'parameters' and 'stars'";
                return Err(self.error(span, problem));
            }
            (None, Some(file), None) => {
                Source::File(self.path.parent().unwrap_or(Path::new("")).join(file))
            }
            (None, None, Some(_)) => {
                Source::Body(self.number("mass", &text.mass, 0.0, NotNegative)?)
            }
            _ => {
                let problem = "a [[part]] must have either a 'generator' or a 'file', or the 'mass' of a single body";
                return Err(self.error(span, problem));
            }
        };
        let placer = match (in_encounter, &text.orbit) {
            (true, Some(orbit)) => {
                let problem = "an 'orbit' must be left out where an [encounter] places the parts";
                return Err(self.error(orbit.span(), problem));
            }
            (true, None) => Some("an [encounter] places the parts"),
            (false, Some(_)) => Some("an 'orbit' places the part"),
            (false, None) => None,
        };
        for (key, given) in [("position", &text.position), ("velocity", &text.velocity)] {
            if let (Some(placer), Some(given)) = (placer, given) {
                let problem = format!("'{key}' must be left out where {placer}");
                return Err(self.error(given.span(), problem));
            }
        }
        let orbit = text.orbit.as_ref().map(|orbit| self.orbit(orbit, before)).transpose()?;
        Ok(Part {
            name: text.name.clone(),
            source,
            seed: text.seed,
            length_scale: self.number("length_scale", &text.length_scale, 1.0, Positive)?,
            mass_scale: self.number("mass_scale", &text.mass_scale, 1.0, Positive)?,
            turn: [
                self.number("spin", &text.spin, 0.0, Any)?,
                self.number("tilt", &text.tilt, 0.0, Any)?,
                self.number("node", &text.node, 0.0, Any)?,
            ],
            position: self.vector("position", &text.position)?,
            velocity: self.vector("velocity", &text.velocity)?,
            orbit,
        })
    }

    fn integrator(&self, run: &RunText) -> Result<IntegratorHints> {
        Ok(IntegratorHints {
            integrator: run.integrator.clone(),
            blocks: BlockRequest {
                eta: self.optional("eta", &run.eta, Positive)?,
                eta6: self.optional("eta6", &run.eta6, Positive)?,
                dt_max: self.optional("dt_max", &run.dt_max, Positive)?,
                precision: run.precision.clone(),
                host_blocks: false,
            },
        })
    }

    /// A potential: its name is `potential`, and `centre` its centre; the others are its numbers.
    fn potential(
        &self,
        table: &Spanned<BTreeMap<String, Spanned<toml::Value>>>,
    ) -> Result<Potential> {
        let real = |value: &toml::Value| match value {
            toml::Value::Integer(number) => Some(*number as f64),
            value => value.as_float(),
        };
        let wrong = |key: &str, value: &Spanned<toml::Value>, allowed: &str| {
            let problem = Error::value(format!("'{key}'"), value.get_ref().type_str(), allowed);
            self.error(value.span(), problem)
        };
        let mut kind = None;
        let mut numbers = Vec::new();
        for (key, value) in table.get_ref() {
            match (key.as_str(), value.get_ref()) {
                ("potential", toml::Value::String(name)) => {
                    kind = Some(Kind::find(name).map_err(|e| self.error(value.span(), e))?);
                }
                ("potential", _) => return Err(wrong(key, value, "a name in quotes")),
                ("centre", toml::Value::Array(centre)) if centre.len() == 3 => {
                    for (name, value_of) in ["x", "y", "z"].into_iter().zip(centre) {
                        let number = real(value_of);
                        let number = number.ok_or_else(|| wrong(key, value, "three numbers"))?;
                        numbers.push((name, number));
                    }
                }
                ("centre", _) => return Err(wrong(key, value, "three numbers")),
                (name, found) => {
                    let number = real(found).ok_or_else(|| wrong(key, value, "a number"))?;
                    numbers.push((name, number));
                }
            }
        }
        let lacks = "a [[field]] must name its 'potential'";
        let kind = kind.ok_or_else(|| self.error(table.span(), lacks))?;
        kind.potential(&numbers).map_err(|error| self.error(table.span(), error))
    }

    fn contents(&self, scene: &SceneText, units: &Units) -> Result<Contents> {
        if let Some(name) = &scene.generator {
            if let Some(part) = scene.parts.first() {
                let problem = "a scene has either a 'generator' or [[part]]s, not both";
                return Err(self.error(part.span(), problem));
            }
            if let Some(encounter) = &scene.encounter {
                return Err(self.error(encounter.span(), "an [encounter] needs two [[part]]s"));
            }
            let none = Numbers::new();
            let numbers = scene.parameters.as_ref().map_or(&none, Spanned::get_ref);
            let stars = self.stars(&scene.stars, units, false)?;
            return Ok(Contents::Single(self.source(name, numbers, stars)?));
        }
        if scene.parts.is_empty() {
            let problem = "a scene must have a 'generator' or at least one [[part]]";
            return Err(self.error(0..0, problem));
        }
        if let Some(parameters) = &scene.parameters {
            return Err(self.error(parameters.span(), "[parameters] belong to the scene's 'generator'; those of a part are [part.parameters]"));
        }
        if let Some(stars) = &scene.stars {
            return Err(self.error(
                stars.span(),
                "[stars] belong to the scene's 'generator'; those of a part are [part.stars]",
            ));
        }
        // Each part without a name has its own components, and so has each name.
        let names: BTreeSet<_> =
            scene.parts.iter().filter_map(|p| p.get_ref().name.as_ref()).collect();
        let unnamed = scene.parts.iter().filter(|part| part.get_ref().name.is_none()).count();
        if names.len() + unnamed > MOST_COMPONENTS {
            let problem = Error::value(
                "the number of [[part]]s with components of their own",
                names.len() + unnamed,
                format!("at most {MOST_COMPONENTS}; parts with the same 'name' share them"),
            );
            return Err(self.error(0..0, problem));
        }
        let orbit = match &scene.encounter {
            None => None,
            Some(text) => {
                let count = scene.parts.len();
                if count != 2 {
                    let problem =
                        format!("an [encounter] needs two [[part]]s, but there are {count}");
                    return Err(self.error(text.span(), problem));
                }
                let encounter = text.get_ref();
                let orbit = Orbit {
                    eccentricity: encounter.eccentricity,
                    pericentre: encounter.pericentre,
                    separation: encounter.separation,
                };
                orbit.start(1.0).map_err(|error| self.error(text.span(), error))?;
                Some(orbit)
            }
        };
        let names: Vec<Option<&str>> =
            scene.parts.iter().map(|part| part.get_ref().name.as_deref()).collect();
        let parts = scene.parts.iter().enumerate();
        let parts = parts.map(|(k, part)| self.part(part, &names[..k], orbit.is_some(), units));
        Ok(Contents::Composed(parts.collect::<Result<_>>()?, orbit))
    }
}

impl Scene {
    /// Reads a scene from the text of a TOML file. `path` is named in errors, and files of parts
    /// are looked for in its folder.
    ///
    /// # Errors
    /// Unknown keys, wrong types, values out of range; each names the line and what is
    /// allowed.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self> {
        let origin = Origin { path, text };
        let scene: SceneText =
            toml::from_str(text).map_err(|error| Error::toml(path, text, &error))?;
        let length = origin.measure("length", &scene.units.length, Quantity::Length)?.to_string();
        let mass = origin.measure("mass", &scene.units.mass, Quantity::Mass)?.to_string();
        let time = origin.measure("time", &scene.units.time, Quantity::Time)?;
        let units = Units { length, mass, time: time.to_string(), gravitational_constant: 1.0 };
        if let Some(newton) = units.contradiction() {
            let place = scene.units.length.as_ref().map_or(0..0, Spanned::span);
            let time = Measure { factor: time.factor / newton.sqrt(), ..time };
            return Err(origin.error(
                place,
                format!(
                    "G is 1 in scenes, but it is {} in these [units]; with this length and mass it is 1 for \
                     time = \"{:.4} {}\"",
                    messages::number(newton), time.factor, time.name
                ),
            ));
        }
        let run = RunHints::default();
        let name =
            path.file_stem().map_or("scene".into(), |stem| stem.to_string_lossy().into_owned());
        let follows_n = scene.run.follows_n;
        let softening_at = scene.run.softening.as_ref().map_or(0..0, Spanned::span);
        let mut scene = Scene {
            title: scene.title.clone().unwrap_or_else(|| name.clone()),
            about: scene.about.as_deref().unwrap_or_default().trim().to_owned(),
            seed: scene.seed,
            run: RunHints {
                softening: origin.number(
                    "softening",
                    &scene.run.softening,
                    run.softening,
                    NotNegative,
                )?,
                ..origin.duration(&scene.run, run)?
            },
            field: Field(
                scene.fields.iter().map(|one| origin.potential(one)).collect::<Result<_>>()?,
            ),
            integrator: origin.integrator(&scene.run)?,
            view: origin.view(&scene.view)?,
            finer: None,
            contents: origin.contents(&scene, &units)?,
            units,
            name,
        };
        // A generator's own softening is that of the run unless set, and has a range of its own.
        for (name, parameter, value) in scene.parameters() {
            let in_range = parameter.check(value);
            in_range.map_err(|error| {
                origin.error(
                    softening_at.clone(),
                    format!("'{name}' is the run's unless set: {error}"),
                )
            })?;
        }
        scene.finer = scene.n().filter(|_| follows_n).map(|n| Finer { n, run: scene.run });
        Ok(scene)
    }
}
