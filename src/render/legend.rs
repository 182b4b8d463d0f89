//! The legend: a colour scale's numbers with their units, and the names of components.

use super::look::Look;
use super::palette::{GLOWING_GAS, NEW_STARS, THIN_GAS, component_colour};
use super::style::ColourBy;
use super::tone::srgb_encode;
use crate::bodies::{Component, Role};
use crate::units::{Measure, Quantity, Units};

/// Components beyond this number are left out of the legend.
const MOST_NAMES: usize = 8;

/// The quantity of the colour scale, with its unit, and the numbers at its ends; `None` if bodies
/// are coloured by component.
pub fn colour_bar(look: &Look, units: &Units) -> Option<(String, [String; 2])> {
    let what = match look.style.colour_by {
        ColourBy::Component => return None,
        ColourBy::Age => {
            return Some(("age".to_owned(), ["young, outer".to_owned(), "old, inner".to_owned()]));
        }
        ColourBy::Speed => "speed",
        ColourBy::Acceleration => "acceleration",
        ColourBy::Density => "density",
    };
    let Measure { factor, name } = colour_unit(look.style.colour_by, units);
    let name = if name.is_empty() { what.to_owned() } else { format!("{what} in {name}") };
    Some((name, [look.least_value, look.most_value].map(|end| short(end * factor))))
}

/// The unit of the quantity that colours show; without a name if it has none or it is unknown.
pub fn colour_unit(by: ColourBy, units: &Units) -> Measure {
    let (length, time) = (Measure::of(&units.length), Measure::of(&units.time));
    match by {
        ColourBy::Component | ColourBy::Age => Measure::default(),
        ColourBy::Speed => speed_unit(units),
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

/// The number with two significant digits.
fn short(value: f64) -> String {
    let power = libm::floor(libm::log10(value.abs().max(1e-300)));
    if !(-3.0..5.0).contains(&power) {
        return format!("{value:.1e}");
    }
    let digits = (1.0 - power).max(0.0) as usize;
    let unit = libm::pow(10.0, power - 1.0);
    format!("{:.digits$}", (value / unit).round() * unit)
}

/// A colour in linear light as the screen shows it at its brightest.
pub fn shown(colour: [f32; 3]) -> [u8; 3] {
    let most = colour.into_iter().fold(1e-6, f32::max);
    colour.map(|channel| (255.0 * srgb_encode(channel / most) + 0.5) as u8)
}

/// The colour of each component, as the screen shows it, without that of its gas.
pub fn plain_colours(components: &[Component]) -> Vec<[u8; 3]> {
    let mut nth_of_role = [0; Role::ALL.len()];
    let colour = |component: &Component| {
        let nth = &mut nth_of_role[component.role as usize];
        *nth += 1;
        shown(component_colour(component.role, *nth - 1))
    };
    components.iter().map(colour).collect()
}

/// A name and one or more colours, as the screen shows them, for each component that is drawn.
pub fn component_colours(look: &Look, components: &[Component]) -> Vec<(String, Vec<[u8; 3]>)> {
    let mut entries = Vec::new();
    let plain = plain_colours(components);
    for (index, component) in components.iter().enumerate().take(look.uniform.components.len()) {
        if look.uniform.components[index].white_peak <= 0.0 {
            continue;
        }
        let is_gas = component.role == Role::Gas;
        let colours = match is_gas && look.uniform.medium & 1 != 0 {
            // From thin to dense.
            true => [THIN_GAS, GLOWING_GAS, NEW_STARS].map(shown).to_vec(),
            false => vec![plain[index]],
        };
        // Labelled, because it has no pressure and should not be taken for a fluid.
        let note = if is_gas { " (collisionless)" } else { "" };
        entries.push((format!("{}{note}", component.name), colours));
    }
    entries.truncate(MOST_NAMES);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;
    use crate::render::Style;
    use glam::DVec3;

    /// A disk with this many bodies of gas.
    fn galaxy(gas: usize) -> Bodies {
        let mut bodies = Bodies::default();
        bodies.components.push(Component::new("disk", Role::Disk));
        bodies.components.push(Component::new("gas", Role::Gas));
        bodies.components.push(Component::new("halo", Role::Halo));
        for i in 0..60 + gas {
            let x = DVec3::new((i % 7) as f64, (i % 5) as f64, 0.01 * i as f64);
            bodies.push(1.0, x, x * 0.1, u8::from(i >= 60));
        }
        bodies.push(1.0, DVec3::splat(9.0), DVec3::ZERO, 2);
        bodies
    }

    fn names_and_colours(bodies: &Bodies, style: &Style) -> Vec<(String, Vec<[u8; 3]>)> {
        let look = Look::new(style, bodies, None).unwrap();
        component_colours(&look, &bodies.components)
    }

    #[test]
    fn legend_omits_unused_colours() {
        let style = Style { gas: 1.0, ..Style::default() };
        let of_gas = [THIN_GAS, GLOWING_GAS, NEW_STARS].map(shown);
        let without = names_and_colours(&galaxy(0), &style);
        // Dark matter, which is not drawn, is not in it either.
        let names: Vec<&str> = without.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["disk"]);
        let colours: Vec<[u8; 3]> = without.into_iter().flat_map(|(_, colours)| colours).collect();
        assert!(!of_gas.iter().any(|colour| colours.contains(colour)), "{colours:?}");

        let with = names_and_colours(&galaxy(40), &style);
        assert_eq!(with.len(), 2);
        assert_eq!(with[1], ("gas (collisionless)".to_owned(), of_gas.to_vec()));
        // With the gas glow off, gas has one colour.
        let plain = names_and_colours(&galaxy(40), &Style { gas: 0.0, ..style });
        assert_eq!(plain[1].1, [shown(component_colour(Role::Gas, 0))]);
    }
}
