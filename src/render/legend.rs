//! What colours mean: the numbers of a scale with their units, the names of components.

use super::look::Look;
use super::palette::{GLOWING_GAS, NEW_STARS, THIN_GAS, component_colour};
use super::style::ColourBy;
use super::tone::srgb_encode;
use crate::bodies::{Component, Role};
use crate::units::{Measure, Units};

/// A legend longer than this is no help.
const MOST_NAMES: usize = 8;

/// The name of what a colour scale shows, with its unit, and the numbers at its ends; `None` where colours are
/// those of components.
pub fn colour_bar(look: &Look, units: &Units) -> Option<(String, [String; 2])> {
    let (length, time) = (Measure::of(&units.length), Measure::of(&units.time));
    let ends = [look.least_value, look.most_value];
    let per = |factor: f64, unit: String, what: &str| {
        let name = if unit.is_empty() { what.to_owned() } else { format!("{what} in {unit}") };
        Some((name, ends.map(|end| short(end * factor))))
    };
    let named = !length.name.is_empty() && !time.name.is_empty();
    let per_square_of_time = match named {
        true => format!("{}/{}\u{b2}", length.name, time.name),
        false => String::new(),
    };
    match look.style.colour_by {
        ColourBy::Component => None,
        ColourBy::Age => {
            Some(("age".to_owned(), ["old, inner".to_owned(), "young, outer".to_owned()]))
        }
        ColourBy::Speed => {
            let Measure { factor, name } = speed_unit(units);
            per(factor, name, "speed")
        }
        ColourBy::Acceleration => {
            per(length.factor / (time.factor * time.factor), per_square_of_time, "acceleration")
        }
        ColourBy::Density => {
            let mass = Measure::of(&units.mass);
            let unit = match mass.name.is_empty() || length.name.is_empty() {
                true => String::new(),
                false => format!("{}/{}\u{b3}", mass.name, length.name),
            };
            per(mass.factor / (length.factor * length.factor * length.factor), unit, "density")
        }
    }
}

/// What one unit of speed is worth: in km/s where the units are known, else in units of length per unit of time.
pub(crate) fn speed_unit(units: &Units) -> Measure {
    let (length, time) = (Measure::of(&units.length), Measure::of(&units.time));
    if let Some(factor) = km_per_sec(&length, &time) {
        return Measure { factor, name: "km/s".to_owned() };
    }
    let named = !length.name.is_empty() && !time.name.is_empty();
    let name = if named { format!("{}/{}", length.name, time.name) } else { String::new() };
    Measure { factor: length.factor / time.factor, name }
}

/// What one unit of speed is in km/s, where the units are known.
fn km_per_sec(length: &Measure, time: &Measure) -> Option<f64> {
    const PC_KM: f64 = 3.085_677_581_49e13;
    const YEAR_SECS: f64 = 3.155_76e7;
    let km = match length.name.as_str() {
        "km" => 1.0,
        "au" | "AU" => 1.495_978_707e8,
        "pc" => PC_KM,
        "kpc" => 1e3 * PC_KM,
        "Mpc" => 1e6 * PC_KM,
        _ => return None,
    };
    let secs = match time.name.as_str() {
        "s" => 1.0,
        "yr" => YEAR_SECS,
        "kyr" => 1e3 * YEAR_SECS,
        "Myr" => 1e6 * YEAR_SECS,
        "Gyr" => 1e9 * YEAR_SECS,
        _ => return None,
    };
    Some(length.factor * km / (time.factor * secs))
}

/// Two digits that count.
fn short(value: f64) -> String {
    let power = libm::floor(libm::log10(value.abs().max(1e-300)));
    if !(-3.0..5.0).contains(&power) {
        return format!("{value:.1e}");
    }
    let digits = (1.0 - power).max(0.0) as usize;
    let unit = libm::pow(10.0, power - 1.0);
    format!("{:.digits$}", (value / unit).round() * unit)
}

/// Linear light as the screen shows it at its brightest.
pub(crate) fn shown(colour: [f32; 3]) -> [u8; 3] {
    let most = colour.into_iter().fold(1e-6, f32::max);
    colour.map(|channel| (255.0 * srgb_encode(channel / most) + 0.5) as u8)
}

/// A name and one or more colours, as the screen shows them, for each component that is drawn.
pub fn component_colours(look: &Look, components: &[Component]) -> Vec<(String, Vec<[u8; 3]>)> {
    let mut nth_of_role = [0; Role::ALL.len()];
    let mut entries = Vec::new();
    for (index, component) in components.iter().enumerate().take(look.uniform.components.len()) {
        let nth = nth_of_role[component.role as usize];
        nth_of_role[component.role as usize] += 1;
        if look.uniform.components[index].white_peak <= 0.0 {
            continue;
        }
        let is_gas = component.role == Role::Gas;
        let colours = match is_gas && look.uniform.medium & 1 != 0 {
            // From thin to dense.
            true => vec![THIN_GAS, GLOWING_GAS, NEW_STARS],
            false => vec![component_colour(component.role, nth)],
        };
        // What no pressure acts on is not to be taken for a fluid.
        let note = if is_gas { " (collisionless)" } else { "" };
        let colours = colours.into_iter().map(shown).collect();
        entries.push((format!("{}{note}", component.name), colours));
    }
    entries.truncate(MOST_NAMES);
    entries
}
