//! How the numbers of a snapshot are converted to the units of another one that it is to meet.
//!
//! A scene has G = 1: what counts of a mass is G m, whose unit is that of length cubed per time squared. So lengths and times
//! are all that has to be converted, and each galaxy keeps its own motion.

use std::path::Path;

use crate::error::{Error, Result};
use crate::messages;
use crate::units::{Measure, Quantity, Units};

/// Gravitational constants count as equal within this part: files round them and their units.
const SAME_G: f64 = 0.01;

/// Factors by which one snapshot's numbers are multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// For lengths.
    pub length: f64,
    /// For G m. That for velocities follows: the square root of this over that for lengths.
    pub attraction: f64,
    /// What the user should know, and whether it is bad news.
    pub said: Option<(String, bool)>,
}

impl Conversion {
    /// From a file's `own` units to the `wanted` ones. If only one of them gives a unit, numbers are taken as they are.
    ///
    /// Errors: a unit that cannot be converted, with the known ones.
    pub fn new(file: &Path, own: &Units, wanted: &Units) -> Result<Self> {
        let as_it_stands =
            |text: String| Ok(Self { length: 1.0, attraction: 1.0, said: Some((text, true)) });
        let mut factors = [1.0; 2];
        let pairs = [
            ("length", Quantity::Length, &own.length, &wanted.length),
            ("time", Quantity::Time, &own.time, &wanted.time),
        ];
        for (factor, (what, of, own, wanted)) in factors.iter_mut().zip(pairs) {
            if own.is_empty() != wanted.is_empty() {
                let who = if own.is_empty() { "the second" } else { "the first" };
                return as_it_stands(format!(
                    "{who} snapshot does not give its unit of {what}: numbers are taken as they are"
                ));
            }
            let (from, to) = (Measure::of(own), Measure::of(wanted));
            *factor = from.in_units_of(&to, of).ok_or_else(|| {
                let problem = format!(
                    "its unit of {what}, {own:?}, cannot be converted to the first snapshot's {wanted:?}: known \
                     units are {}",
                    of.known_names()
                );
                Error::file(file, problem)
            })?;
        }
        let [length, time] = factors;
        let mut said = Vec::new();
        if factors != [1.0, 1.0] {
            said.push(format!(
                "{} was converted to {} and {}: lengths times {length:.4}, velocities times {:.4}",
                messages::path(file, 40),
                wanted.length,
                wanted.time,
                length / time,
            ));
        }
        let attraction = length.powi(3) / time.powi(2);
        let disagreement = disagreement(own, wanted, attraction);
        if let Some(ratio) = disagreement {
            said.push(format!(
                "its units give a gravitational constant {ratio:.3e} times the other snapshot's: its own motion is kept"
            ));
        }
        let said = (!said.is_empty()).then(|| (said.join("; "), disagreement.is_some()));
        Ok(Self { length, attraction, said })
    }
}

/// The converted G of the `own` units over that of the `wanted` ones; `None` if they agree, or if a unit of mass is unknown.
fn disagreement(own: &Units, wanted: &Units, attraction: f64) -> Option<f64> {
    if own.mass.is_empty() || wanted.mass.is_empty() {
        return None;
    }
    let mass = Measure::of(&own.mass).in_units_of(&Measure::of(&wanted.mass), Quantity::Mass)?;
    let converted = own.gravitational_constant * attraction / mass;
    let ratio = converted / wanted.gravitational_constant;
    ((ratio - 1.0).abs() > SAME_G).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(length: &str, mass: &str, time: &str, gravitational_constant: f64) -> Units {
        let [length, mass, time] = [length, mass, time].map(str::to_owned);
        Units { length, mass, time, gravitational_constant }
    }

    fn convert(own: &Units, wanted: &Units) -> Result<Conversion> {
        Conversion::new(Path::new("b.gvt"), own, wanted)
    }

    #[test]
    fn parsecs_become_kiloparsecs_and_velocities_follow() {
        // G in pc^3 / (Msun Myr^2).
        let small = units("pc", "Msun", "Myr", 4.4985e-3);
        let found = convert(&small, &Units::gadget()).unwrap();
        assert!((found.length / 1e-3 - 1.0).abs() < 1e-9);
        // A pc/Myr is 0.978 km/s.
        let speed = (found.attraction / found.length).sqrt();
        assert!((speed / 0.978 - 1.0).abs() < 1e-9, "{speed}");
        // 1e10 solar masses at 1 kpc: the circle's speed is that of the other file's numbers.
        let gm = 4.4985e-3 * 1e10 * found.attraction;
        assert!((gm / 43007.1 - 1.0).abs() < 1e-3, "{gm}");
        let (said, is_bad) = found.said.unwrap();
        assert!(said.contains("0.0010") && said.contains("0.978") && !is_bad, "{said}");
        let back = convert(&Units::gadget(), &small).unwrap();
        assert!((back.length * found.length - 1.0).abs() < 1e-12);
        assert!((back.attraction * found.attraction - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_same_units_and_none_at_all_change_nothing() {
        for same in [Units::default(), Units::gadget(), units("3 cubits", "", "2 moons", 1.0)] {
            let found = convert(&same, &same).unwrap();
            assert_eq!(found, Conversion { length: 1.0, attraction: 1.0, said: None });
        }
    }

    #[test]
    fn what_cannot_be_converted_is_said_or_refused() {
        let found = convert(&Units::default(), &Units::gadget()).unwrap();
        assert_eq!((found.length, found.attraction), (1.0, 1.0));
        let (said, is_bad) = found.said.unwrap();
        assert!(is_bad && said.contains("the second") && said.contains("unit of length"), "{said}");
        let refused = convert(&units("cubits", "", "Gyr", 1.0), &Units::gadget()).unwrap_err();
        let text = refused.to_string();
        assert!(["b.gvt", "cubits", "kpc", "pc"].iter().all(|word| text.contains(word)), "{text}");
        // G = 1 in parsecs, suns and Myr is none of this world.
        let found = convert(&units("pc", "Msun", "Myr", 1.0), &Units::gadget()).unwrap();
        let (said, is_bad) = found.said.unwrap();
        assert!(is_bad && said.contains("2.22") && said.contains("own motion"), "{said}");
    }
}
