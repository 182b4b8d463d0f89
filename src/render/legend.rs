//! The legend: a colour scale's numbers with their units, and the names of components.

use super::look::Look;
use super::overlay::number_of;
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

/// Round numbers within the colour scale: how far along it each is, 0 to 1, and its label. Powers of
/// ten, at most eight of them; within less than two decades also 2 and 5 times these.
pub fn marks(look: &Look, units: &Units) -> Vec<(f64, String)> {
    let by = look.style.colour_by;
    if matches!(by, ColourBy::Component | ColourBy::Age) {
        return Vec::new();
    }
    let unit = colour_unit(by, units).factor;
    let [low, high] = [look.least_value, look.most_value].map(|end| libm::log10(end * unit));
    let decades = high - low;
    if !(decades.is_finite() && decades > 0.0) {
        return Vec::new();
    }
    let digits: &[u32] = if decades < 2.0 { &[1, 2, 5] } else { &[1] };
    let every = libm::ceil(decades / 8.0) as usize;
    let powers = (libm::floor(low) as i32..=libm::floor(high) as i32).step_by(every);
    let all = powers.flat_map(|power| digits.iter().map(move |&digit| (digit, power)));
    let place = |(digit, power): (u32, i32)| {
        let part = (f64::from(power) + libm::log10(f64::from(digit)) - low) / decades;
        ((1e-9..1.0 - 1e-9).contains(&part)).then(|| (part, number_of(digit, power)))
    };
    all.filter_map(place).collect()
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
    fn marks_are_round_numbers_at_their_places() {
        let of = |range: [f64; 2], units: &Units| {
            let style =
                Style { colour_by: ColourBy::Speed, value_range: Some(range), ..Style::default() };
            marks(&Look::new(&style, &galaxy(0), None).unwrap(), units)
        };
        let labels = |range| of(range, &Units::default()).into_iter().map(|(_, label)| label);
        assert_eq!(labels([0.3, 40.0]).collect::<Vec<_>>(), ["1", "10"]);
        assert_eq!(labels([0.5, 9.0]).collect::<Vec<_>>(), ["1", "2", "5"]);
        assert!((3..=8).contains(&labels([1e-90, 1e90]).count()));
        assert_eq!(labels([3.0, 3.5]).count(), 0);
        // A unit of length per unit of time is 262 km/s: 131 to 524 km/s.
        let units =
            Units { length: "3.5 kpc".into(), time: "13.05 Myr".into(), ..Units::default() };
        let found = of([0.5, 2.0], &units);
        assert_eq!((found.len(), found[0].1.as_str(), found[1].1.as_str()), (2, "200", "500"));
        let part = libm::log2(200.0 / 131.1) / 2.0;
        assert!((found[0].0 - part).abs() < 0.01, "{found:?}");
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
