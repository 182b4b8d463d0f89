//! How a generator's parameters are shown: a name, a unit, a sentence. Scene files and the command line use the short names.

use super::theme::quantity;
use crate::scene::Parameter;
use crate::units::Units;

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measures {
    Length,
    Mass,
    Angle,
    Part,
}

use Measures::{Angle, Length, Mass, Part};

/// Names of parameters and how they are shown, in the order of the generators.
const NAMES: &[(&str, &str, Measures)] = &[
    ("mass_ratio", "mass ratio", Part),
    ("pericentre", "closest approach", Length),
    ("separation", "initial distance", Length),
    ("eccentricity", "eccentricity", Part),
    ("inclination_1", "tilt of disk 1", Angle),
    ("argument_1", "direction of disk 1", Angle),
    ("inclination_2", "tilt of disk 2", Angle),
    ("argument_2", "direction of disk 2", Angle),
    ("toomre_q", "warmth (Toomre Q)", Part),
    ("gas", "gas in the disk", Part),
    ("disk_height", "height of the disk", Length),
    ("bulge_mass", "mass of the bulge", Mass),
    ("bulge_bodies", "bodies in the bulge", Part),
    ("bulge_scale", "size of the bulge", Length),
    ("halo_mass", "mass of the halo", Mass),
    ("halo_scale", "size of the halo", Length),
    ("halo_cutoff", "edge of the halo", Length),
    ("halo_bodies", "bodies in the halo", Part),
    ("softening", "softening", Length),
    ("cutoff", "edge", Part),
    ("expansion", "outward speed", Part),
    ("inner_radius", "inner radius", Length),
    ("spin", "rotation", Part),
    ("virial_ratio", "warmth (2K/|W|)", Part),
];

fn entry(name: &str) -> Option<&'static (&'static str, &'static str, Measures)> {
    NAMES.iter().find(|(known, ..)| *known == name)
}

/// The shown name of a parameter, by its name in [`crate::scene::Scene::parameters`]: with its part's number, if there are
/// several.
pub fn label(name: &str) -> String {
    let (part, plain) = name.rsplit_once('.').map_or((None, name), |(part, of)| (Some(part), of));
    let shown =
        entry(plain).map_or_else(|| plain.replace('_', " "), |(_, shown, _)| (*shown).to_owned());
    part.map_or(shown.clone(), |part| format!("{part}: {shown}"))
}

/// The unit sign after the number.
pub fn suffix(parameter: &Parameter) -> &'static str {
    if entry(parameter.name).is_some_and(|(.., measures)| *measures == Angle) { "°" } else { "" }
}

/// The hint: what the number means, its value in the scene's units, what is allowed, and its name in files.
pub fn sentence(name: &str, parameter: &Parameter, value: f64, units: &Units) -> String {
    let unit = match entry(parameter.name).map(|(.., measures)| *measures) {
        Some(Length) => units.length.trim(),
        Some(Mass) => units.mass.trim(),
        _ => "",
    };
    let now =
        if unit.is_empty() { String::new() } else { format!(" Now {}.", quantity(value, unit)) };
    let mut help = parameter.help.to_owned();
    if let Some(first) = help.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!(
        "{help}.{now} Allowed: {}. In files and on the command line: {name}",
        parameter.allowed()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn every_number_of_every_scene_has_a_name_that_people_read() {
        for scene in Scene::names() {
            for (name, parameter, value) in Scene::builtin(scene).unwrap().parameters() {
                if parameter.name == "n" {
                    continue;
                }
                assert!(entry(parameter.name).is_some(), "{scene}: {name}");
                let shown = label(&name);
                assert!(!shown.contains('_') && shown.len() <= 22, "{shown}");
                let said = sentence(&name, parameter, value, &Units::default());
                assert!(said.contains(parameter.name), "{said}");
            }
        }
        assert_eq!(label("2.mass_ratio"), "2: mass ratio");
    }

    #[test]
    fn lengths_are_told_in_the_units_of_the_scene() {
        let scene = Scene::builtin("galaxy-collision").unwrap();
        let parameters = scene.parameters();
        let (name, parameter, _) = parameters.iter().find(|(n, ..)| n == "separation").unwrap();
        let said = sentence(name, parameter, 2.0, &Units::from(&scene.units));
        assert!(said.contains("Now 7.00 kpc."), "{said}");
    }
}
