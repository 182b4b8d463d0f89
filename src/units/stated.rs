//! What a file states of its units, and what follows from that.

use super::{Measure, NEWTON, Quantity, Units, same};
use crate::messages;

/// The units that a file states, each with its origin for messages; those that are missing follow
/// from the others where they can.
#[derive(Clone, Debug, Default)]
pub struct StatedUnits {
    units: [Option<(String, String)>; 4],
    gravitational_constant: Option<f64>,
}

const NAMES: [(Quantity, &str); 4] = [
    (Quantity::Length, "length"),
    (Quantity::Mass, "mass"),
    (Quantity::Time, "time"),
    (Quantity::Velocity, "velocity"),
];

impl StatedUnits {
    /// Records that the numbers are in `unit` according to `origin` (`unit.length`, `column x`).
    ///
    /// # Errors
    /// Another unit was stated before.
    pub fn unit(&mut self, of: Quantity, unit: &str, origin: &str) -> Result<(), String> {
        let before = &mut self.units[of as usize];
        let equal = |known: &str| {
            Measure::of(known)
                .in_units_of(&Measure::of(unit), of)
                .is_some_and(|ratio| same(ratio, 1.0))
        };
        match before {
            Some((known, by)) if !equal(known) => Err(format!(
                "{origin} says that the unit of {} is '{}', but {by} says '{}'",
                NAMES[of as usize].1,
                messages::piece(unit),
                messages::piece(known),
            )),
            Some(_) => Ok(()),
            None => {
                *before = Some((unit.to_owned(), origin.to_owned()));
                Ok(())
            }
        }
    }

    /// Records the value of G.
    pub fn gravity(&mut self, gravitational_constant: f64) {
        self.gravitational_constant = Some(gravitational_constant);
    }

    /// The units: velocity gives the missing one of length and time, and all three give G. Also
    /// returns notes on what was assumed.
    ///
    /// # Errors
    /// Units that contradict each other or the stated G by more than 1 %.
    pub fn complete(&self) -> Result<(Units, Vec<String>), String> {
        let name = |of: Quantity| {
            self.units[of as usize].as_ref().map_or_else(String::new, |(name, _)| name.clone())
        };
        let mut units = Units {
            length: name(Quantity::Length),
            mass: name(Quantity::Mass),
            time: name(Quantity::Time),
            gravitational_constant: self.gravitational_constant.unwrap_or(1.0),
        };
        let mut notes = Vec::new();
        self.velocity(&mut units, &mut notes)?;
        let Some(g) = self.gravitational_constant else {
            units.gravitational_constant = match units.newton() {
                Some(newton) => newton,
                None => {
                    notes.extend((!units.is_unnamed()).then(|| self.assume_one(&mut units)));
                    1.0
                }
            };
            return Ok((units, notes));
        };
        match units.contradiction() {
            None => Ok((units, notes)),
            Some(newton) => Err(format!(
                "the gravitational constant is stated as {g}, but it is {} in {}, {} and {}: leave out \
                 either the constant or the units",
                messages::number(newton),
                units.length,
                units.mass,
                units.time,
            )),
        }
    }

    /// Finds time or length from the unit of velocity, or checks that they agree with it.
    fn velocity(&self, units: &mut Units, notes: &mut Vec<String>) -> Result<(), String> {
        let Some((name, origin)) = &self.units[Quantity::Velocity as usize] else { return Ok(()) };
        let [length, _, time] = units.si();
        let velocity = Measure::of(name).si(Quantity::Velocity);
        let quoted = messages::piece(name);
        match (length, time, velocity) {
            (Some(length), Some(time), Some(velocity)) => match same(length / time, velocity) {
                true => Ok(()),
                false => {
                    let follows = Measure::of_si(length / velocity, Quantity::Time);
                    Err(format!(
                        "{origin} says that the unit of velocity is '{quoted}', but {} per {} is {:.4} times that: \
                         velocities in {quoted} have {follows} as their unit of time",
                        units.length,
                        units.time,
                        length / time / velocity,
                    ))
                }
            },
            (Some(_), Some(_), None) => Err(format!(
                "{origin} says that the unit of velocity is '{quoted}', but {} was expected",
                Quantity::Velocity.known_names()
            )),
            (Some(length), None, Some(velocity)) if units.time.is_empty() => {
                units.time = Measure::of_si(length / velocity, Quantity::Time).to_string();
                Ok(())
            }
            (None, Some(time), Some(velocity)) if units.length.is_empty() => {
                units.length = Measure::of_si(time * velocity, Quantity::Length).to_string();
                Ok(())
            }
            _ => {
                notes.push(format!(
                    "the unit of velocity, '{quoted}', is not used: nothing follows from it without known units of \
                     length or time"
                ));
                Ok(())
            }
        }
    }

    /// Takes G = 1 and finds the one missing unit from that, if two are known; returns a note on
    /// it.
    fn assume_one(&self, units: &mut Units) -> String {
        let (found, of) = match units.si() {
            [Some(length), Some(mass), None] if units.time.is_empty() => {
                let time = (length.powi(3) / (NEWTON * mass)).sqrt();
                (&mut units.time, Some((time, Quantity::Time)))
            }
            [Some(length), None, Some(time)] if units.mass.is_empty() => {
                let mass = length.powi(3) / (NEWTON * time.powi(2));
                (&mut units.mass, Some((mass, Quantity::Mass)))
            }
            [None, Some(mass), Some(time)] if units.length.is_empty() => {
                let length = libm::cbrt(NEWTON * mass * time.powi(2));
                (&mut units.length, Some((length, Quantity::Length)))
            }
            _ => (&mut units.length, None),
        };
        match of {
            Some((value, of)) => {
                *found = Measure::of_si(value, of).to_string();
                let what = NAMES[of as usize].1;
                format!(
                    "G = 1 is assumed, so that the unit of {what}, which is not stated, is {found}"
                )
            }
            None => format!(
                "G = 1 is assumed: it does not follow from the units, of which these are known: length {}; mass {}; \
                 time {}",
                Quantity::Length.known_names(),
                Quantity::Mass.known_names(),
                Quantity::Time.known_names(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completed units of length, mass, time and velocity, empty where not stated.
    fn complete(names: [&str; 4], g: Option<f64>) -> Result<(Units, Vec<String>), String> {
        let mut stated = StatedUnits { gravitational_constant: g, ..StatedUnits::default() };
        for ((of, what), name) in NAMES.into_iter().zip(names) {
            if !name.is_empty() {
                stated.unit(of, name, &format!("unit.{what}"))?;
            }
        }
        stated.complete()
    }

    fn g(names: [&str; 4]) -> f64 {
        let (units, notes) = complete(names, None).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        units.gravitational_constant
    }

    #[test]
    fn g_follows_from_the_units() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-4, "{a} is not {b}");
        // The values that textbooks and other codes give.
        near(g(["pc", "Msun", "Myr", ""]), 4.4985e-3);
        near(g(["pc", "Msun", "", "km/s"]), 4.30091e-3);
        near(g(["AU", "Msun", "yr", ""]), 4.0 * std::f64::consts::PI.powi(2));
        near(g(["kpc", "1e10 Msun", "", "km s^-1"]), 43007.1);
        near(g(["m", "kg", "s", ""]), 6.6743e-11);
        near(g(["cm", "g", "s", "cm/s"]), 6.6743e-8);
        near(g(["", "MSun", "Myr", "kms"]), 4.30091e-3 / 1.022712);
        near(g(["Pc", "MSUN", "", "KM/s"]), 4.30091e-3);
        near(g(["meters", "kg", "hours", ""]), 6.6743e-11 * 3600.0 * 3600.0);
        near(Units::gadget().newton().unwrap(), Units::gadget().gravitational_constant);
    }

    #[test]
    fn a_missing_unit_follows_from_the_others() {
        let (units, _) = complete(["kpc", "", "", "km/s"], Some(1.0)).unwrap();
        assert_eq!(units.time, Units::gadget().time);
        let (units, _) = complete(["", "", "0.977792222 Myr", "km * s**-1"], None).unwrap();
        assert_eq!(units.length, "1 pc".trim_start_matches("1 "));
        let (units, notes) = complete(["pc", "Msun", "", ""], None).unwrap();
        assert!(units.time.starts_with("14.9") && notes[0].contains("Myr"), "{units:?} {notes:?}");
        let (units, notes) = complete(["kpc", "", "", "km/s"], None).unwrap();
        assert!(
            units.mass.contains("Msun") && notes[0].contains("unit of mass"),
            "{units:?} {notes:?}"
        );
        let one = Units::gadget().with_g_one();
        assert!((one.newton().unwrap() - 1.0).abs() < 1e-3, "{one:?}");
    }

    #[test]
    fn contradictions_are_refused() {
        let refused = |names, g, words: &[&str]| {
            let text = complete(names, g).unwrap_err();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        };
        refused(["pc", "Msun", "Myr", ""], Some(1.0), &["stated as 1", "0.004499", "Myr"]);
        refused(["pc", "Msun", "Myr", "km/s"], None, &["km/s", "0.9778", "0.977792222 Myr"]);
        refused(["pc", "Msun", "Myr", "fast"], None, &["'fast'", "km/s"]);
        let mut stated = StatedUnits::default();
        stated.unit(Quantity::Length, "1000 pc", "unit.length").unwrap();
        stated.unit(Quantity::Length, "kpc", "column x").unwrap();
        let text = stated.unit(Quantity::Length, "pc", "column y").unwrap_err();
        assert!(text.contains("column y") && text.contains("unit.length"), "{text}");
        // Rounded constants agree.
        for (names, g) in [(["pc", "Msun", "", "km/s"], 0.0043), (["AU", "Msun", "yr", ""], 39.5)] {
            assert_eq!(complete(names, Some(g)).unwrap().0.gravitational_constant, g);
        }
    }

    #[test]
    fn unknown_units_are_noted() {
        for names in
            [["cubits", "Msun", "yr", ""], ["cubits", "", "", "km/s"], ["cubits", "", "", ""]]
        {
            let (units, notes) = complete(names, None).unwrap();
            assert_eq!((units.length.as_str(), units.gravitational_constant), ("cubits", 1.0));
            assert!(notes.last().unwrap().contains("G = 1 is assumed"), "{notes:?}");
        }
        let (_, notes) = complete(["cubits", "", "", "km/s"], Some(2.0)).unwrap();
        assert!(notes[0].contains("'km/s', is not used"), "{notes:?}");
        assert_eq!(complete([""; 4], None).unwrap(), (Units::default(), vec![]));
    }
}
