//! Factors from one set of units to another.

use super::{Measure, Quantity, Units};
use crate::messages::rounded;

/// Units count as the same within this part, so that rounded names of one unit change no number.
const EQUAL: f64 = 5e-4;

/// Factors by which numbers are multiplied. Masses follow G: the motion of the bodies stays the
/// same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    /// For lengths.
    pub length: f64,
    /// For times.
    pub time: f64,
    /// For masses: G times it scales as length^3 / time^2.
    pub mass: f64,
}

impl Conversion {
    /// From `own` units to those of the `target`; `None` if only one of them names its unit of
    /// length or of time.
    ///
    /// # Errors
    /// A unit that cannot be converted, with the known ones.
    pub fn between(own: &Units, target: &Units) -> Result<Option<Self>, String> {
        let mut factors = [1.0; 2];
        let pairs = [
            ("length", Quantity::Length, &own.length, &target.length),
            ("time", Quantity::Time, &own.time, &target.time),
        ];
        for (factor, (what, of, own, target)) in factors.iter_mut().zip(pairs) {
            if own.is_empty() != target.is_empty() {
                return Ok(None);
            }
            let ratio = Measure::of(own).in_units_of(&Measure::of(target), of).ok_or_else(|| {
                format!(
                    "its unit of {what}, {own:?}, cannot be converted to {target:?}: known units are {}",
                    of.known_names()
                )
            })?;
            *factor = if (ratio - 1.0).abs() < EQUAL { 1.0 } else { ratio };
        }
        let [length, time] = factors;
        let constants = own.gravitational_constant / target.gravitational_constant;
        Ok(Some(Self { length, time, mass: constants * (length.powi(3) / time.powi(2)) }))
    }

    /// The factor for velocities.
    pub fn velocity(&self) -> f64 {
        self.length / self.time
    }

    /// Whether all factors are positive and finite.
    pub(crate) fn is_valid(&self) -> bool {
        [self.length, self.time, self.mass].iter().all(|factor| factor.is_normal() && *factor > 0.0)
    }

    /// Whether all factors are 1.
    pub fn is_identity(&self) -> bool {
        [self.length, self.time, self.mass] == [1.0; 3]
    }
}

impl std::fmt::Display for Conversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { length, mass, .. } = *self;
        let velocity = self.velocity();
        let [length, velocity, mass] = [length, velocity, mass].map(|factor| rounded(factor, 6));
        write!(f, "lengths times {length}, velocities times {velocity}, masses times {mass}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(length: &str, mass: &str, time: &str, gravitational_constant: f64) -> Units {
        let [length, mass, time] = [length, mass, time].map(str::to_owned);
        Units { length, mass, time, gravitational_constant }
    }

    #[test]
    fn parsecs_become_kiloparsecs_and_velocities_follow() {
        // G in pc^3 / (Msun Myr^2).
        let small = units("pc", "Msun", "Myr", 4.4985e-3);
        let found = Conversion::between(&small, &Units::gadget()).unwrap().unwrap();
        assert!((found.length / 1e-3 - 1.0).abs() < 1e-9);
        // A pc/Myr is 0.978 km/s.
        assert!((found.velocity() / 0.977_792 - 1.0).abs() < 1e-6, "{found}");
        assert!((found.mass / 1e-10 - 1.0).abs() < 1e-3, "{found}");
        let back = Conversion::between(&Units::gadget(), &small).unwrap().unwrap();
        for (a, b) in
            [(back.length, found.length), (back.time, found.time), (back.mass, found.mass)]
        {
            assert!((a * b - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_same_units_change_nothing() {
        let rounded = Units { time: "0.978 Gyr".into(), ..Units::gadget() };
        for [one, other] in [
            [Units::default(), Units::default()],
            [Units::gadget(), Units::gadget()],
            [rounded, Units::gadget()],
            [units("3 cubits", "", "2 moons", 1.0), units("3 cubits", "", "2 moons", 1.0)],
        ] {
            assert!(Conversion::between(&one, &other).unwrap().unwrap().is_identity());
        }
        assert_eq!(Conversion::between(&Units::default(), &Units::gadget()), Ok(None));
        let text =
            Conversion::between(&units("cubits", "", "Gyr", 1.0), &Units::gadget()).unwrap_err();
        assert!(["cubits", "kpc", "pc"].iter().all(|word| text.contains(word)), "{text}");
    }
}
