//! The units of what colours show.

use super::style::ColourBy;
use crate::units::{Measure, Quantity, Units};

/// Solar absolute magnitude in V (Willmer 2018, ApJS 236, 47, Vega system).
const SUN_V: f64 = 4.81;
/// 5 log10(206265 arcsec per radian) - 5: surface brightness in mag/arcsec^2 of one star of
/// absolute magnitude 0 per square parsec.
const PER_SQUARE_PC: f64 = 21.572;
/// The surface brightness in mag/arcsec^2 (V) of a surface density in solar masses per square
/// parsec, with one solar luminosity per solar mass.
pub fn magnitude(surface_density: f64) -> f64 {
    SUN_V + PER_SQUARE_PC - 2.5 * libm::log10(surface_density)
}

/// The unit of the quantity that colours show; without a name if it has none or it is unknown.
pub fn colour_unit(by: ColourBy, units: &Units) -> Measure {
    let (length, time) = (Measure::of(&units.length), Measure::of(&units.time));
    match by {
        ColourBy::Component | ColourBy::Age => Measure::default(),
        ColourBy::Speed | ColourBy::Velocity => speed_unit(units),
        ColourBy::SurfaceDensity | ColourBy::SurfaceBrightness => {
            let mass = Measure::of(&units.mass);
            let of = |name: &str, of: Quantity| Measure::of(name).si(of).unwrap_or(1.0);
            match (mass.si(Quantity::Mass), length.si(Quantity::Length)) {
                (Some(kilograms), Some(metres)) => {
                    let parsecs = metres / of("pc", Quantity::Length);
                    let factor = kilograms / of("Msun", Quantity::Mass) / (parsecs * parsecs);
                    Measure { factor, name: "Msun/pc\u{b2}".to_owned() }
                }
                _ => {
                    let factor = mass.factor / (length.factor * length.factor);
                    Measure { factor, name: per([&mass, &length], "\u{b2}") }
                }
            }
        }
        ColourBy::Acceleration => Measure {
            factor: length.factor / (time.factor * time.factor),
            name: per([&length, &time], "\u{b2}"),
        },
        ColourBy::Density => {
            let mass = Measure::of(&units.mass);
            let factor = mass.factor / (length.factor * length.factor * length.factor);
            Measure { factor, name: per([&mass, &length], "\u{b3}") }
        }
    }
}

/// The name of a unit per power of another; empty if either is unknown.
fn per([unit, of]: [&Measure; 2], power: &str) -> String {
    let named = !unit.name.is_empty() && !of.name.is_empty();
    if named { format!("{}/{}{power}", unit.name, of.name) } else { String::new() }
}

/// The unit of speed: km/s if the units are known, else length per time.
pub fn speed_unit(units: &Units) -> Measure {
    let (length, time) = (Measure::of(&units.length), Measure::of(&units.time));
    if let (Some(metres), Some(secs)) = (length.si(Quantity::Length), time.si(Quantity::Time)) {
        return Measure { factor: 1e-3 * metres / secs, name: "km/s".to_owned() };
    }
    Measure { factor: length.factor / time.factor, name: per([&length, &time], "") }
}
