//! Parameters of generators: their meaning, allowed range and values.

use super::MAX_BODIES;
use crate::error::{Error, Result};

/// What kind of number a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any number in the range; a slider moves in equal steps.
    Real,
    /// A length, mass or ratio whose range spans decades; a slider moves in equal factors.
    Scale,
    /// A whole number.
    Count,
}

/// A numeric parameter of a generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in scene files and on the command line.
    pub name: &'static str,
    /// Value if it is not set.
    pub default: f64,
    /// The smallest value allowed.
    pub min: f64,
    /// The largest value allowed.
    pub max: f64,
    /// Whether it is a whole number, and how a slider moves.
    pub kind: Kind,
    /// Meaning and unit, in one line.
    pub help: &'static str,
}

impl Parameter {
    /// A real number from `min` to `max`.
    pub(crate) const fn real(name: &'static str, default: f64, [min, max]: [f64; 2]) -> Self {
        Self { name, default, min, max, kind: Kind::Real, help: "" }
    }

    /// A positive number whose range spans decades.
    pub(crate) const fn scale(name: &'static str, default: f64, range: [f64; 2]) -> Self {
        Self { kind: Kind::Scale, ..Self::real(name, default, range) }
    }

    /// Sets the meaning.
    pub(crate) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// The number of bodies, `n`, at least `min`.
    pub(crate) const fn n(default: usize, min: usize) -> Self {
        let number = Self::real("n", default as f64, [min as f64, MAX_BODIES as f64])
            .help("number of bodies, all components together");
        Self { kind: Kind::Count, ..number }
    }

    /// The softening length for which the initial state is made; scenes pass that of the run.
    pub(crate) const fn softening(default: f64) -> Self {
        Self::real("softening", default, [0.0, 1.0]).help(
            "softening length that velocities are in equilibrium with; that of the run, unless set",
        )
    }

    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        let kind = if self.kind == Kind::Count { "a whole number" } else { "a number" };
        format!("{kind} from {} to {}", self.min, self.max)
    }

    /// Checks `value` against the range.
    ///
    /// # Errors
    ///
    /// A value outside it, with parameter, value and range.
    pub fn check(&self, value: f64) -> Result<()> {
        let whole = self.kind != Kind::Count || value == value.floor();
        // NaN is in no range.
        if (self.min..=self.max).contains(&value) && whole {
            Ok(())
        } else {
            Err(Error::value(format!("scene parameter '{}'", self.name), value, self.allowed()))
        }
    }
}

/// Values of all parameters of one generator, each within its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    parameters: &'static [Parameter],
    value: Vec<f64>,
    given: Vec<bool>,
}

impl Values {
    /// All parameters at their defaults.
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self {
            parameters,
            value: parameters.iter().map(|p| p.default).collect(),
            given: vec![false; parameters.len()],
        }
    }

    /// Sets one value.
    ///
    /// # Errors
    ///
    /// An unknown name; a value outside the range.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let Some(index) = self.parameters.iter().position(|p| p.name == name) else {
            let known = self.parameters.iter().map(|p| p.name);
            return Err(Error::unknown("scene parameter", name, known));
        };
        self.parameters[index].check(value)?;
        self.value[index] = value;
        self.given[index] = true;
        Ok(())
    }

    /// The value of `name`, or `None` if the generator has no such parameter.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.parameters.iter().position(|p| p.name == name).map(|index| self.value[index])
    }

    /// Whether `name` was set, even if to its default.
    pub fn is_given(&self, name: &str) -> bool {
        self.parameters.iter().zip(&self.given).any(|(p, given)| p.name == name && *given)
    }

    /// All parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + '_ {
        self.parameters.iter().zip(self.value.iter().copied())
    }

    /// The value of a parameter that the generator itself declares.
    pub(crate) fn real(&self, name: &str) -> f64 {
        self.get(name).expect("a generator should only read parameters that it declares")
    }

    /// The value of a parameter that is a whole number and that the generator itself declares.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.real(name) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PARAMETERS: &[Parameter] =
        &[Parameter::n(100, 2), Parameter::real("spin", 0.5, [-1.0, 1.0])];

    #[test]
    fn values_outside_the_range_name_the_parameter() {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in
            [("n", 1.0), ("n", 2.5), ("n", 1e10), ("spin", 1.01), ("spin", f64::NAN)]
        {
            let text = values.set(name, value).expect_err("it lies outside").to_string();
            assert!(text.contains(&format!("'{name}'")) && text.contains("from"), "{text}");
        }
        assert_eq!(values, Values::defaults(PARAMETERS));
        values.set("spin", -1.0).unwrap();
        assert_eq!((values.real("spin"), values.count("n")), (-1.0, 100));
        assert!(values.is_given("spin") && !values.is_given("n"));
        assert!(values.set("spni", 0.0).unwrap_err().to_string().contains("known are: n, spin"));
    }
}
