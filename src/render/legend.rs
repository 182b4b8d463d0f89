//! The legend: a colour scale's numbers with their units, and the names of components.

use super::look::Look;
use super::map::{MapUniform, velocity_step};
use super::measures::magnitude;
pub use super::measures::{colour_unit, speed_unit};
use super::overlay::{round_below, round_number};
use super::palette::{GLOWING_GAS, NEW_STARS, THIN_GAS, component_colour};
use super::style::ColourBy;
use super::tone::srgb_encode;
use crate::bodies::{Component, Role};
use crate::units::{Measure, Units};

/// Components beyond this number are left out of the legend.
const MOST_NAMES: usize = 8;

/// A colour scale with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ColourBar {
    /// The quantity, with its unit, and the distance of a map's lines.
    pub name: String,
    /// Where ticks are along the scale, 0 to 1: at the lines of a map, else at the labels.
    pub ticks: Vec<f64>,
    /// Positions along the scale, 0 to 1, and labels, in either order: round numbers, or if there
    /// are none those at its ends. A label at position x has the fraction x of its width to the
    /// left, so that it does not extend beyond the scale.
    pub labels: Vec<(f64, String)>,
}

/// The colour scale; `None` if bodies are coloured by component. `width` gives the space that a
/// label needs, with the gap to the next one, in units of the scale's length: labels do not
/// overlap.
pub fn colour_bar(look: &Look, units: &Units, width: impl Fn(&str) -> f64) -> Option<ColourBar> {
    let by = look.style.colour_by;
    let what = match by {
        ColourBy::Component => return None,
        ColourBy::Age => {
            let labels = vec![(0.0, "young, outer".to_owned()), (1.0, "old, inner".to_owned())];
            return Some(ColourBar { name: "age".to_owned(), ticks: Vec::new(), labels });
        }
        ColourBy::Speed => "speed",
        ColourBy::Acceleration => "acceleration",
        ColourBy::Density => "density",
        ColourBy::SurfaceDensity => "surface density",
        ColourBy::SurfaceBrightness => "mag/arcsec\u{b2} (V, M/L = 1)",
        ColourBy::Velocity => "velocity away",
    };
    let Measure { factor, name: unit } = colour_unit(by, units);
    let ends = [look.least_value, look.most_value].map(|end| end * factor);
    let is_named = !unit.is_empty() && by != ColourBy::SurfaceBrightness;
    let name = if is_named { format!("{what} in {unit}") } else { what.to_owned() };
    let (candidates, ends) = match by {
        ColourBy::SurfaceBrightness => (even_marks(ends.map(magnitude)), ends.map(magnitude)),
        ColourBy::Velocity => (even_marks(ends), ends),
        _ => (log_marks(ends), ends),
    };
    let fits = |labels: &Vec<(f64, String)>| {
        let mut spans: Vec<_> = labels
            .iter()
            .map(|(part, label)| (part * (1.0 - width(label)), width(label)))
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        labels.len() > 1 && spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    };
    let round = candidates.into_iter().find(fits);
    let marks = round.as_ref().map_or(Vec::new(), |labels| labels.iter().map(|l| l.0).collect());
    let labels = round.unwrap_or_else(|| vec![(0.0, short(ends[0])), (1.0, short(ends[1]))]);
    let (name, ticks) = match by {
        ColourBy::SurfaceDensity => (name + ", two lines a decade", MapUniform::new(look).lines()),
        ColourBy::SurfaceBrightness => (name + ", a line each", MapUniform::new(look).lines()),
        ColourBy::Velocity => {
            let step = velocity_step(look);
            let power = libm::floor(libm::log10(step)) as i32;
            let name = format!("{name}, a line every {}", round_number(step, power));
            (name, MapUniform::new(look).lines())
        }
        _ => (name, marks),
    };
    Some(ColourBar { name, ticks, labels })
}

/// Sets of round numbers within a colour scale whose values are proportional to the place along it,
/// from dense to sparse: where they are along it, and their labels.
fn even_marks([from, to]: [f64; 2]) -> Vec<Vec<(f64, String)>> {
    let span = (to - from).abs();
    let steps = [8.0, 4.0, 2.0, 1.0].map(|parts| round_below(span / parts));
    let marks = |(digit, power): (u32, i32)| {
        let step = f64::from(digit) * libm::pow(10.0, f64::from(power));
        let [first, last] =
            [libm::ceil(from.min(to) / step), libm::floor(from.max(to) / step)].map(|n| n as i64);
        let mark = |nth: i64| {
            let value = nth as f64 * step;
            ((value - from) / (to - from), round_number(value, power))
        };
        (first..=last).take(99).map(mark).collect()
    };
    steps.into_iter().map(marks).collect()
}

/// The same where logarithms are proportional to the place: within less than two decades 1, 2 and 5
/// times powers of ten, else powers of ten.
fn log_marks(ends: [f64; 2]) -> Vec<Vec<(f64, String)>> {
    let [low, high] = ends.map(libm::log10);
    let decades = high - low;
    if !(decades.is_finite() && decades > 0.0) {
        return Vec::new();
    }
    let marks = |digits: &'static [u32], every: usize| {
        let powers = (libm::floor(low) as i32..=libm::floor(high) as i32).filter(move |power| {
            // Multiples, so that 1 is among them.
            power.rem_euclid(every as i32) == 0
        });
        let place = move |(digit, power): (u32, i32)| {
            let value = f64::from(digit) * libm::pow(10.0, f64::from(power));
            let part = (libm::log10(value) - low) / decades;
            (-1e-9..1.0 + 1e-9).contains(&part).then(|| (part, round_number(value, power)))
        };
        let all = powers.flat_map(|power| digits.iter().map(move |&digit| (digit, power)));
        all.filter_map(place).collect()
    };
    let dense = (decades < 2.0).then(|| marks(&[1, 2, 5], 1));
    dense.into_iter().chain([1, 2, 3, 5, 10, 20, 50, 100].map(|every| marks(&[1], every))).collect()
}

/// The number with two significant digits.
fn short(value: f64) -> String {
    let power = libm::floor(libm::log10(value.abs().max(1e-300))) as i32 - 1;
    let unit = libm::pow(10.0, f64::from(power));
    round_number((value / unit).round() * unit, power)
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

    /// The scale of a legend that is as long as 24 letters.
    fn bar_of(colour_by: ColourBy, range: [f64; 2], units: &Units) -> ColourBar {
        let style = Style { colour_by, value_range: Some(range), ..Style::default() };
        let look = Look::new(&style, &galaxy(0), None).unwrap().in_units(units);
        colour_bar(&look, units, |label| (label.len() + 1) as f64 / 24.0).unwrap()
    }

    fn labels(bar: &ColourBar) -> Vec<&str> {
        bar.labels.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn labels_are_round_numbers_at_their_places() {
        let of = |range| bar_of(ColourBy::Speed, range, &Units::default());
        assert_eq!(labels(&of([0.3, 40.0])), ["1", "10"]);
        assert_eq!(labels(&of([0.5, 9.0])), ["0.5", "1", "2", "5"]);
        assert_eq!(labels(&of([1e-8, 1.0])), ["1e-6", "0.001", "1"]);
        assert_eq!(labels(&of([3.0, 3.5])), ["3.0", "3.5"]);
        // A unit of length per unit of time is 262 km/s: 131 to 524 km/s.
        let units =
            Units { length: "3.5 kpc".into(), time: "13.05 Myr".into(), ..Units::default() };
        let found = bar_of(ColourBy::Speed, [0.5, 2.0], &units);
        assert_eq!((found.name.as_str(), labels(&found)), ("speed in km/s", vec!["200", "500"]));
        let part = libm::log2(200.0 / 131.1) / 2.0;
        assert!((found.labels[0].0 - part).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn labels_do_not_overlap_and_stay_within_the_scale() {
        for colour_by in [ColourBy::Speed, ColourBy::SurfaceDensity, ColourBy::Velocity] {
            for decades in 1..60 {
                let least = libm::pow(10.0, -0.37 * f64::from(decades));
                let from = if colour_by == ColourBy::Velocity { -1.3 } else { least };
                let bar = bar_of(colour_by, [from, 1.7], &Units::default());
                let mut after = 0.0;
                for (part, label) in &bar.labels {
                    let width = (label.len() + 1) as f64 / 24.0;
                    let left = part * (1.0 - width);
                    assert!(left >= after - 1e-6 && left + width < 1.0 + 1e-6, "{bar:?}");
                    after = left + width;
                }
                assert!(bar.labels.len() > 1, "{bar:?}");
            }
        }
    }

    #[test]
    fn maps_have_scales_in_astronomers_units_with_their_lines() {
        let units = Units {
            length: "2 kpc".into(),
            mass: "1e10 Msun".into(),
            time: "10 Myr".into(),
            ..Units::default()
        };
        // 1e10 Msun on (2000 pc)^2 are 2500 Msun/pc^2: 0.5 to 500.
        let found = bar_of(ColourBy::SurfaceDensity, [2e-4, 0.2], &units);
        assert_eq!(found.name, "surface density in Msun/pc\u{b2}, two lines a decade");
        assert_eq!(labels(&found), ["1", "10", "100"]);
        assert_eq!(found.ticks.len(), 6);
        for (nth, tick) in found.ticks.iter().enumerate() {
            let place = (0.5 * nth as f64 + libm::log10(2.0)) / 3.0;
            assert!((tick - place).abs() < 1e-3, "{found:?}");
        }
        // 26.38 mag/arcsec^2 are 1 solar luminosity per square parsec: 27.1 to 19.6.
        let found = bar_of(ColourBy::SurfaceBrightness, [2e-4, 0.2], &units);
        assert_eq!(found.name, "mag/arcsec\u{b2} (V, M/L = 1), a line each");
        assert_eq!(labels(&found), ["20", "22", "24", "26"]);
        assert_eq!(found.ticks.len(), 8);
        // 2 kpc in 10 Myr are 195.6 km/s.
        let found = bar_of(ColourBy::Velocity, [-1.0, 1.0], &units);
        assert_eq!(found.name, "velocity away in km/s, a line every 20");
        assert_eq!(labels(&found), ["-100", "0", "100"]);
        assert_eq!(found.ticks.len(), 19);
        assert!((found.labels[1].0 - 0.5).abs() < 1e-9 && found.labels[2].0 > 0.7, "{found:?}");
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
