//! The legend: a colour scale's numbers with their units, and the names of components.

use super::look::Look;
use super::measures::magnitude;
pub use super::measures::{colour_unit, speed_unit};
use super::overlay::{number_of, round_below};
use super::palette::{GLOWING_GAS, NEW_STARS, THIN_GAS, component_colour};
use super::style::ColourBy;
use super::tone::srgb_encode;
use crate::bodies::{Component, Role};
use crate::units::{Measure, Units};

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
        ColourBy::SurfaceDensity => "surface density",
        ColourBy::SurfaceBrightness => {
            let ends = [look.least_value, look.most_value].map(|end| brightness(end, units));
            return Some((
                "mag/arcsec\u{b2} (V, M/L = 1)".to_owned(),
                ends.map(|end| format!("{end:.1}")),
            ));
        }
        ColourBy::Velocity => "velocity away",
    };
    let Measure { factor, name } = colour_unit(look.style.colour_by, units);
    let name = if name.is_empty() { what.to_owned() } else { format!("{what} in {name}") };
    Some((name, [look.least_value, look.most_value].map(|end| short(end * factor))))
}

/// The surface brightness of a surface density in the bodies' units.
fn brightness(surface_density: f64, units: &Units) -> f64 {
    magnitude(surface_density * colour_unit(ColourBy::SurfaceBrightness, units).factor)
}

/// Round numbers within a colour scale whose values are proportional to the place along it.
fn even_marks([from, to]: [f64; 2]) -> Vec<(f64, String)> {
    let (digit, power) = round_below(0.5 * (to - from).abs());
    let step = f64::from(digit) * libm::pow(10.0, f64::from(power));
    let [first, last] = [from.min(to), from.max(to)].map(|end| libm::ceil(end / step) as i64);
    let mark = |nth: i64| {
        let part = (nth as f64 * step - from) / (to - from);
        let label = number_of(digit, power);
        let label = match nth {
            0 => "0".to_owned(),
            1 => label,
            -1 => format!("-{label}"),
            _ => format!("{}", nth as f64 * step),
        };
        (1e-9..1.0 - 1e-9).contains(&part).then_some((part, label))
    };
    let mut marks: Vec<_> = (first..=last).take(99).filter_map(mark).collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    marks
}

/// Round numbers within the colour scale: how far along it each is, 0 to 1, and its label. Powers of
/// ten, at most eight of them; within less than two decades also 2 and 5 times these. Of magnitudes
/// and velocities, multiples of a round number.
pub fn marks(look: &Look, units: &Units) -> Vec<(f64, String)> {
    let by = look.style.colour_by;
    let ends = [look.least_value, look.most_value];
    let unit = colour_unit(by, units).factor;
    match by {
        ColourBy::Component | ColourBy::Age => return Vec::new(),
        ColourBy::SurfaceBrightness => return even_marks(ends.map(|end| brightness(end, units))),
        ColourBy::Velocity => return even_marks(ends.map(|end| end * unit)),
        _ => {}
    }
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

/// The colour at `part` of the palette, as the screen shows it in a picture with that look.
pub fn bar_colour(look: &Look, part: f32) -> [u8; 3] {
    let colour = look.style.palette.at(part);
    match look.style.colour_by.is_map() {
        true => colour.map(|channel| (255.0 * srgb_encode(channel.min(1.0)) + 0.5) as u8),
        false => shown(colour),
    }
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
    fn maps_have_scales_in_astronomers_units() {
        let of = |colour_by, range: [f64; 2]| {
            let units = Units {
                length: "2 kpc".into(),
                mass: "1e10 Msun".into(),
                time: "10 Myr".into(),
                ..Units::default()
            };
            let style = Style { colour_by, value_range: Some(range), ..Style::default() };
            let look = Look::new(&style, &galaxy(0), None).unwrap().in_units(&units);
            (colour_bar(&look, &units).unwrap(), marks(&look, &units))
        };
        // 1e10 Msun on (2000 pc)^2 are 2500 Msun/pc^2.
        let ((name, ends), found) = of(ColourBy::SurfaceDensity, [2e-4, 0.2]);
        assert_eq!(
            (name.as_str(), ends),
            ("surface density in Msun/pc\u{b2}", ["0.50".into(), "500".into()])
        );
        let labels = |found: &[(f64, String)]| -> Vec<String> {
            found.iter().map(|(_, label)| label.clone()).collect()
        };
        assert_eq!(labels(&found), ["1", "10", "100"]);
        // 26.38 mag/arcsec^2 are 1 solar luminosity per square parsec.
        let ((name, ends), found) = of(ColourBy::SurfaceBrightness, [2e-4, 0.2]);
        assert_eq!(
            (name.as_str(), ends),
            ("mag/arcsec\u{b2} (V, M/L = 1)", ["27.1".into(), "19.6".into()])
        );
        assert_eq!(
            labels(&found),
            ["20", "22", "24", "26"].map(String::from).into_iter().rev().collect::<Vec<_>>()
        );
        // 2 kpc in 10 Myr are 195.6 km/s.
        let ((name, ends), found) = of(ColourBy::Velocity, [-1.0, 1.0]);
        assert_eq!((name.as_str(), ends), ("velocity away in km/s", ["-200".into(), "200".into()]));
        assert_eq!(labels(&found), ["-100", "0", "100"]);
        assert!((found[1].0 - 0.5).abs() < 1e-9 && found[2].0 > 0.7, "{found:?}");
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
