//! What the stars of a generator are: their masses and companions. Generators make bodies of equal
//! mass; here each gets a mass from a mass function, and some become binaries, whose centre of mass
//! takes the body's place and motion.
//!
//! The velocities are then scaled so that the virial ratio 2K/|W| is that of the generator's own
//! bodies, with every binary counted as one body. Its inner energy is in neither: in the energies
//! that a run prints it is in both.

#[cfg(test)]
mod ks;
mod masses;
mod orbits;
mod text;

use glam::DVec3;
use masses::{MASS_FUNCTIONS, MassFunction, Masses};
use orbits::{ORBITS, Orbits, Sizes};
pub(crate) use text::StarsText;

use super::drawing::Streams;
use super::elements::{Anomaly, Elements, Size};
use super::rng::Stream;
use super::standard::energies;
use super::{Parameter, Portion, Values};
use crate::bodies::{Bodies, Component, Role};
use crate::error::{Error, Result};
use crate::units::{Measure, Quantity, Units};

/// Parts of a seed's random streams that generators do not use.
const MASS_PART: u32 = u32::MAX;
const ORBIT_PART: u32 = u32::MAX - 1;

const BINARIES: &[Parameter] = &[
    Parameter::real("binaries", 0.0, [0.0, 1.0])
        .help("share of the systems that are binaries, the others being single stars"),
    Parameter::real("least_ratio", 0.1, [0.001, 1.0])
        .help("smallest mass ratio of a binary; ratios are uniform from there to 1"),
];

/// Eccentricities of binaries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Eccentricity {
    /// f(e) = 2 e (Jeans 1919; Heggie 1975).
    Thermal,
    /// The same for all.
    Fixed(f64),
}

/// The masses and companions of a generator's stars. The default leaves its bodies as they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stars {
    masses: Option<(&'static MassFunction, Values)>,
    binaries: Option<Binaries>,
}

#[derive(Clone, Debug)]
struct Binaries {
    values: Values,
    orbits: &'static Orbits,
    sizes: Values,
    eccentricity: Eccentricity,
}

impl Binaries {
    fn new(orbits: &'static Orbits) -> Self {
        Self {
            values: Values::defaults(BINARIES),
            orbits,
            sizes: Values::defaults(orbits.parameters),
            eccentricity: Eccentricity::Thermal,
        }
    }
}

/// A star or a binary, with masses in solar masses, or of an arbitrary unit.
#[derive(Clone, Copy)]
struct System {
    primary: f64,
    companion: f64,
}

impl Stars {
    /// Sets a choice by name: `masses`, `orbits` or `eccentricity`.
    ///
    /// # Errors
    ///
    /// A choice or a value that does not exist.
    pub fn choose(&mut self, key: &str, name: &str) -> Result<()> {
        match (key, name) {
            ("masses", "equal") => self.masses = None,
            ("masses", _) => {
                let found = MASS_FUNCTIONS.iter().find(|known| known.name == name);
                let known = || ["equal"].into_iter().chain(MASS_FUNCTIONS.iter().map(|m| m.name));
                let found = found.ok_or_else(|| Error::unknown("mass function", name, known()))?;
                self.masses = Some((found, Values::defaults(found.parameters)));
            }
            ("orbits", _) => {
                let found = ORBITS.iter().find(|known| known.name == name);
                let known = || ORBITS.iter().map(|orbits| orbits.name);
                let found = found.ok_or_else(|| Error::unknown("distribution", name, known()))?;
                self.binaries = Some(Binaries::new(found));
            }
            ("eccentricity", "thermal") => self.eccentricity(Eccentricity::Thermal)?,
            ("eccentricity", "circular") => self.eccentricity(Eccentricity::Fixed(0.0))?,
            ("eccentricity", _) => {
                let allowed = "\"thermal\", \"circular\" or a number from 0 to below 1";
                return Err(Error::value("'eccentricity'", format!("\"{name}\""), allowed));
            }
            _ => return Err(Error::value(format!("'{key}'"), format!("\"{name}\""), "a number")),
        }
        Ok(())
    }

    fn eccentricity(&mut self, value: Eccentricity) -> Result<()> {
        if let Eccentricity::Fixed(e) = value
            && !(0.0..1.0).contains(&e)
        {
            return Err(Error::value("'eccentricity'", e, "a number from 0 to below 1"));
        }
        let Some(binaries) = &mut self.binaries else {
            let allowed = "left out without 'orbits', which binaries need";
            return Err(Error::value("'eccentricity'", "given", allowed));
        };
        binaries.eccentricity = value;
        Ok(())
    }

    /// Sets a number.
    ///
    /// # Errors
    ///
    /// An unknown name; a value outside the range.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        if name == "eccentricity" {
            return self.eccentricity(Eccentricity::Fixed(value));
        }
        let known: Vec<&str> = self.numbers().map(|(parameter, _)| parameter.name).collect();
        if let Some(values) = self.values_mut().find(|values| values.get(name).is_some()) {
            return values.set(name, value);
        }
        let has = |all: &[Parameter]| all.iter().any(|parameter| parameter.name == name);
        let lacks = |key: &str| {
            let allowed = format!("left out without '{key}', to which it belongs");
            Err(Error::value(format!("'{name}'"), value, allowed))
        };
        if self.masses.is_none() && MASS_FUNCTIONS.iter().any(|m| has(m.parameters)) {
            return lacks("masses");
        }
        let of_binaries = has(BINARIES) || ORBITS.iter().any(|orbits| has(orbits.parameters));
        if self.binaries.is_none() && of_binaries {
            return lacks("orbits");
        }
        let choices = ["masses", "orbits", "eccentricity"];
        Err(Error::unknown("key of [stars]", name, choices.into_iter().chain(known)))
    }

    fn values(&self) -> impl Iterator<Item = &Values> {
        let masses = self.masses.iter().map(|(_, values)| values);
        masses.chain(self.binaries.iter().flat_map(|b| [&b.values, &b.sizes]))
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut Values> {
        let masses = self.masses.iter_mut().map(|(_, values)| values);
        masses.chain(self.binaries.iter_mut().flat_map(|b| [&mut b.values, &mut b.sizes]))
    }

    /// All numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static Parameter, f64)> {
        self.values().flat_map(Values::iter)
    }

    /// Whether there is a number of this name.
    pub fn has(&self, name: &str) -> bool {
        self.values().any(|values| values.get(name).is_some())
    }

    /// Whether they leave a generator's bodies as they are.
    pub fn are_plain(&self) -> bool {
        self.masses.is_none() && self.binaries.is_none()
    }

    /// Whether stars have the masses of a function, in a scene of these units, so that the part's
    /// mass is their sum; otherwise the part keeps its mass.
    pub fn are_absolute(&self, units: &Units) -> bool {
        self.masses.is_some() && in_units("Msun", &units.mass, Quantity::Mass).is_some()
    }

    /// Checks what single numbers do not show.
    ///
    /// # Errors
    ///
    /// Limits that exclude each other, or units that are missing.
    pub fn check(&self, units: &Units) -> Result<()> {
        self.mass_function()?;
        self.sizes(units)?;
        Ok(())
    }

    fn mass_function(&self) -> Result<Option<Masses>> {
        self.masses.as_ref().map(|(function, values)| Masses::new(function, values)).transpose()
    }

    fn sizes(&self, units: &Units) -> Result<Option<Sizes>> {
        let day = in_units("d", &units.time, Quantity::Time);
        self.binaries.as_ref().map(|b| Sizes::new(b.orbits, &b.sizes, day)).transpose()
    }

    /// Of `n` bodies, how many are systems, that is, single stars or binaries.
    pub fn systems(&self, n: usize) -> usize {
        let share = self.binaries.as_ref().map_or(0.0, |b| b.values.real("binaries"));
        n - (n as f64 * share / (1.0 + share)).round() as usize
    }

    /// Gives the systems in `bodies` their masses, and adds companions up to `n` bodies; binaries
    /// come first, their two stars one after the other. The bodies are those of a generator, in its
    /// units, of which the scene's are `length` and `mass` times as large.
    ///
    /// # Errors
    ///
    /// Those of [`Stars::check`]; bodies of several components, or of different masses.
    pub fn populate(
        &self,
        mut bodies: Bodies,
        n: usize,
        seed: u64,
        units: &Units,
        [length, mass]: [f64; 2],
    ) -> Result<Bodies> {
        let (function, sizes) = (self.mass_function()?, self.sizes(units)?);
        if self.are_plain() {
            return Ok(bodies);
        }
        if bodies.components.len() != 1 || bodies.mass.iter().any(|&m| m != bodies.mass[0]) {
            let allowed = "left out for a generator whose bodies are not all alike; plummer and king are suitable";
            return Err(Error::value("[stars]", "given", allowed));
        }
        let pairs = n - bodies.len();
        let least_ratio = self.binaries.as_ref().map_or(1.0, |b| b.values.real("least_ratio"));
        let systems = Streams::new(seed, MASS_PART).drawn(bodies.len(), |k, stream| {
            system(function.as_ref(), (k < pairs).then_some(least_ratio), stream)
        });
        let unit = match in_units("Msun", &units.mass, Quantity::Mass) {
            Some(sun) if function.is_some() => sun / mass,
            _ => bodies.total_mass() / crate::math::sum(systems.iter().map(System::mass)),
        };
        let before = energies(&bodies, &Portion::WHOLE)?;
        bodies.mass = systems.iter().map(|system| system.mass() * unit).collect();
        bodies.recentre();
        restore_virial_ratio(&mut bodies, before)?;
        let (Some(sizes), Some(binaries)) = (sizes, &self.binaries) else { return Ok(bodies) };
        let relative = Streams::new(seed, ORBIT_PART).drawn(pairs, |k, stream| {
            let own = bodies.mass[k];
            let axis = sizes.draw(own * mass, stream) / length;
            draw_elements(axis, binaries.eccentricity, stream).state(own)
        });
        let mut all = Bodies::with_capacity(n);
        all.components = vec![bodies.components[0].clone(), Component::new("binaries", Role::Star)];
        for (k, relative) in relative.into_iter().enumerate() {
            let (x, v) = relative?;
            let System { primary, companion } = systems[k];
            let share = companion / (primary + companion);
            let (position, velocity) = (bodies.position[k], bodies.velocity[k]);
            all.push(primary * unit, position - x * share, velocity - v * share, 1);
            all.push(
                companion * unit,
                position + x * (1.0 - share),
                velocity + v * (1.0 - share),
                1,
            );
        }
        for k in pairs..bodies.len() {
            all.push(bodies.mass[k], bodies.position[k], bodies.velocity[k], 0);
        }
        Ok(all)
    }
}

impl System {
    fn mass(&self) -> f64 {
        self.primary + self.companion
    }
}

/// A star, or a binary with at least this mass ratio, whose primary follows the mass function and
/// whose companion is not below its lower limit.
fn system(masses: Option<&Masses>, ratio: Option<f64>, stream: &mut Stream) -> System {
    let primary = masses.map_or(1.0, |masses| masses.draw(stream));
    let companion = ratio.map_or(0.0, |least| {
        let least = masses.map_or(least, |masses| least.max(masses.least() / primary));
        primary * (least + stream.uniform() * (1.0 - least))
    });
    System { primary, companion }
}

/// Elements with a random orientation and phase.
fn draw_elements(axis: f64, eccentricity: Eccentricity, stream: &mut Stream) -> Elements {
    let eccentricity = match eccentricity {
        Eccentricity::Thermal => stream.uniform().sqrt(),
        Eccentricity::Fixed(e) => e,
    };
    Elements {
        size: Size::SemiMajorAxis(axis),
        eccentricity,
        inclination: libm::acos(stream.symmetric()) * (180.0 / std::f64::consts::PI),
        node: 360.0 * stream.uniform(),
        argument: 360.0 * stream.uniform(),
        anomaly: Anomaly::Mean(360.0 * stream.uniform()),
    }
}

/// Scales all velocities so that 2K/|W| is that of these energies; bodies at rest stay at rest.
fn restore_virial_ratio(bodies: &mut Bodies, [kinetic, potential]: [f64; 2]) -> Result<()> {
    let [now, potential_now] = energies(bodies, &Portion::WHOLE)?;
    let factor = (kinetic / potential * (potential_now / now)).sqrt();
    if factor.is_finite() && factor > 0.0 {
        bodies.velocity.iter_mut().for_each(|v: &mut DVec3| *v *= factor);
    }
    Ok(())
}

/// How many of `unit` are one of a scene's units of this name, if that is known.
fn in_units(unit: &str, name: &str, quantity: Quantity) -> Option<f64> {
    Measure::of(unit).in_units_of(&Measure::of(name), quantity)
}

#[cfg(test)]
mod tests {
    use super::ks::distance;
    use super::*;
    use crate::scene::generator;

    fn parsecs() -> Units {
        let [length, mass, time] = ["pc", "Msun", "14.9096 Myr"].map(str::to_owned);
        Units { length, mass, time, gravitational_constant: 1.0 }
    }

    fn stars(choices: &[(&str, &str)], numbers: &[(&str, f64)]) -> Stars {
        let mut stars = Stars::default();
        choices.iter().for_each(|(key, name)| stars.choose(key, name).unwrap());
        numbers.iter().for_each(|(name, value)| stars.set(name, *value).unwrap());
        stars
    }

    fn made(name: &str, stars: &Stars, n: usize, units: &Units) -> Result<Bodies> {
        let generator = generator(name).unwrap();
        let mut values = Values::defaults(generator.parameters);
        values.set("n", stars.systems(n) as f64).unwrap();
        stars.populate((generator.build)(&values, 4, &Portion::WHOLE)?, n, 4, units, [1.0; 2])
    }

    fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut numbers: Vec<f64> = numbers.collect();
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    /// A binary as its two bodies show it.
    struct Pair {
        axis: f64,
        period: f64,
        eccentricity: f64,
        ratio: f64,
        /// Cosine of the inclination.
        tilt: f64,
    }

    fn pairs(bodies: &Bodies) -> Vec<Pair> {
        let members: Vec<usize> = bodies.of_component(1).collect();
        let pair = |pair: &[usize]| {
            let (i, j) = (pair[0], pair[1]);
            let mass = bodies.mass[i] + bodies.mass[j];
            let x = bodies.position[j] - bodies.position[i];
            let v = bodies.velocity[j] - bodies.velocity[i];
            let axis = 1.0 / (2.0 / x.length() - v.length_squared() / mass);
            let momentum = x.cross(v);
            // The eccentricity vector of Laplace, Runge and Lenz.
            let eccentricity = (v.cross(momentum) / mass - x / x.length()).length();
            Pair {
                axis,
                period: std::f64::consts::TAU * (axis.powi(3) / mass).sqrt(),
                eccentricity,
                ratio: bodies.mass[j] / bodies.mass[i],
                tilt: momentum.z / momentum.length(),
            }
        };
        members.chunks_exact(2).map(pair).collect()
    }

    #[test]
    fn binaries_have_the_chosen_periods_eccentricities_and_ratios() {
        let raghavan = stars(
            &[("orbits", "raghavan")],
            &[("binaries", 0.5), ("least_ratio", 0.2), ("greatest_period", 1e7)],
        );
        let bodies = made("plummer", &raghavan, 12_000, &parsecs()).unwrap();
        let found = pairs(&bodies);
        assert_eq!((bodies.len(), found.len()), (12_000, 4_000));
        assert!((bodies.total_mass() - 1.0).abs() < 1e-12);
        let day = in_units("d", "14.9096 Myr", Quantity::Time).unwrap();
        let normal = |x: f64| 0.5 * libm::erfc((5.03 - x) / (2.28 * std::f64::consts::SQRT_2));
        let below = |x: f64| (normal(x) - normal(0.0)) / (normal(7.0) - normal(0.0));
        let close = |numbers: Vec<f64>, below: &dyn Fn(f64) -> f64, what: &str| {
            assert!(distance(&numbers, below) < 1.63, "{what}: {}", distance(&numbers, below));
        };
        let periods = sorted(found.iter().map(|p| (p.period / day).log10()));
        // Duquennoy & Mayor's mean, 4.8, shows.
        assert!(distance(&periods, |x| below(x + 0.23)) > 1.63);
        close(periods, &below, "periods");
        // Vectors of close binaries far from the origin keep about nine digits of e.
        close(sorted(found.iter().map(|p| p.eccentricity)), &|e| e * e, "eccentricities");
        close(sorted(found.iter().map(|p| p.ratio)), &|q| (q - 0.2) / 0.8, "ratios");
        close(sorted(found.iter().map(|p| p.tilt)), &|c| 0.5 * (c + 1.0), "inclinations");
    }

    #[test]
    fn log_uniform_axes_and_fixed_eccentricities() {
        let wide = stars(
            &[("orbits", "log-uniform")],
            &[("binaries", 1.0), ("least_axis", 1e-4), ("eccentricity", 0.3)],
        );
        let bodies = made("king", &wide, 4000, &Units::default()).unwrap();
        let found = pairs(&bodies);
        assert_eq!(found.len(), 2000);
        let axes = sorted(found.iter().map(|p| (p.axis / 1e-4).ln() / 100f64.ln()));
        assert!(distance(&axes, |x| x) < 1.63, "{}", distance(&axes, |x| x));
        assert!(found.iter().all(|p| (p.eccentricity - 0.3).abs() < 1e-6));
        let mut circular = wide.clone();
        circular.choose("eccentricity", "circular").unwrap();
        let bodies = made("king", &circular, 400, &Units::default()).unwrap();
        assert!(pairs(&bodies).iter().all(|p| p.eccentricity < 1e-6));
    }

    /// With each binary as one body, the cluster is what it would be without them.
    #[test]
    fn centres_of_binaries_keep_the_virial_ratio_and_the_masses_are_solar() {
        let kroupa = stars(
            &[("masses", "kroupa"), ("orbits", "log-uniform")],
            &[("binaries", 0.4), ("greatest_mass", 20.0), ("greatest_axis", 1e-2)],
        );
        let bodies = made("plummer", &kroupa, 7000, &parsecs()).unwrap();
        assert!(bodies.mass.iter().all(|m| (0.08..=20.0).contains(m)));
        let mut systems = Bodies::with_capacity(5000);
        let mut k = 0;
        while k < bodies.len() {
            let two = 1 + usize::from(bodies.component[k] == 1);
            let system = bodies.selected(k..k + two);
            let (position, velocity) = system.centre_of_mass();
            systems.push(system.total_mass(), position, velocity, 0);
            k += two;
        }
        assert_eq!(systems.len(), 5000);
        let [kinetic, potential] = energies(&systems, &Portion::WHOLE).unwrap();
        assert!((kinetic / potential + 0.5).abs() < 1e-6, "{kinetic} {potential}");
        // Masses without a unit: the cluster keeps its own.
        let plain = made("plummer", &kroupa, 7000, &Units::default()).unwrap();
        assert!((plain.total_mass() - 1.0).abs() < 1e-12);
        let ratio = bodies.mass[17] / bodies.mass[6543];
        assert!((plain.mass[17] / plain.mass[6543] / ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_stars_cannot_be_is_refused() {
        let says = |error: Error, words: &[&str]| {
            let text = error.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "'{text}' should say {words:?}");
        };
        let none = || Stars::default();
        says(none().choose("masses", "krupa").unwrap_err(), &["'krupa'", "kroupa", "equal"]);
        says(none().choose("orbits", "flat").unwrap_err(), &["log-uniform", "raghavan"]);
        says(none().choose("eccentricity", "thermal").unwrap_err(), &["'orbits'"]);
        says(none().set("least_mass", 1.0).unwrap_err(), &["'least_mass'", "without 'masses'"]);
        says(none().set("least_axis", 1.0).unwrap_err(), &["'least_axis'", "without 'orbits'"]);
        says(none().set("mass", 1.0).unwrap_err(), &["'mass'", "masses, orbits"]);
        let mut wide = stars(&[("orbits", "raghavan")], &[("binaries", 0.5)]);
        says(wide.set("eccentricity", 1.0).unwrap_err(), &["'eccentricity' is 1", "below 1"]);
        says(wide.set("binaries", 1.1).unwrap_err(), &["'binaries' is 1.1", "from 0 to 1"]);
        says(wide.check(&Units::default()).unwrap_err(), &["'orbits'", "known unit of time"]);
        wide.set("least_period", 1e12).unwrap();
        says(wide.check(&parsecs()).unwrap_err(), &["'least_period' is 1000000000000", "at most"]);
        wide.set("greatest_period", 1e12).unwrap();
        says(wide.check(&parsecs()).unwrap_err(), &["the part of binaries' periods", "at least"]);
        let kroupa = stars(&[("masses", "kroupa")], &[]);
        let galaxy = made("disk-galaxy", &kroupa, 300, &Units::default());
        says(galaxy.unwrap_err(), &["[stars]", "plummer and king"]);
    }
}
