//! How a generator's parameters are shown: a name, a unit, a sentence. Scene files and the command
//! line use the short names.

use gravitile::messages::rounded;
use gravitile::scene::Parameter;
use gravitile::units::Units;

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
    ("w0", "concentration (W0)", Part),
    ("least_mass", "lightest star (Msun)", Part),
    ("greatest_mass", "heaviest star (Msun)", Part),
    ("binaries", "share of binaries", Part),
    ("least_ratio", "least mass ratio", Part),
    ("least_axis", "closest binaries", Length),
    ("greatest_axis", "widest binaries", Length),
    ("mean_log_period", "mean log10 of days", Part),
    ("sigma_log_period", "spread of log10", Part),
    ("least_period", "shortest period (d)", Part),
    ("greatest_period", "longest period (d)", Part),
];

fn entry(name: &str) -> Option<&'static (&'static str, &'static str, Measures)> {
    NAMES.iter().find(|(known, ..)| *known == name)
}

/// The shown name of a parameter, by its name in [`gravitile::scene::Scene::parameters`]; if the
/// scene has several parts, with its part's number.
pub fn label(name: &str) -> String {
    let (part, plain) = name.rsplit_once('.').map_or((None, name), |(part, of)| (Some(part), of));
    let shown =
        entry(plain).map_or_else(|| plain.replace('_', " "), |(_, shown, _)| (*shown).to_owned());
    part.map_or(shown.clone(), |part| format!("{part}: {shown}"))
}

/// The unit of a parameter's number, as it is shown; empty if it has none.
pub fn unit<'a>(parameter: &Parameter, units: &'a Units) -> &'a str {
    match entry(parameter.name).map(|(.., measures)| *measures) {
        Some(Length) => &units.length,
        Some(Mass) => &units.mass,
        Some(Angle) => "°",
        _ => "",
    }
}

/// The hint: what the number means, and its name in files and on the command line.
pub fn sentence(name: &str, parameter: &Parameter, value: f64) -> String {
    let mut help = parameter.help.to_owned();
    if let Some(first) = help.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    // Without the rounding errors that conversions of units leave.
    let value = rounded(value, 10);
    let allowed = parameter.allowed();
    format!("{help}\nIn files and on the command line: {name} = {value}, allowed: {allowed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::scene::Scene;

    #[test]
    fn every_scene_parameter_has_a_readable_label() {
        for scene in Scene::names() {
            for (name, parameter, value) in Scene::builtin(scene).unwrap().parameters() {
                if parameter.name == "n" {
                    continue;
                }
                assert!(entry(parameter.name).is_some(), "{scene}: {name}");
                let shown = label(&name);
                assert!(!shown.contains('_') && shown.len() <= 22, "{shown}");
                let hint = sentence(&name, parameter, value);
                assert!(hint.contains(parameter.name), "{hint}");
            }
        }
        assert_eq!(label("2.mass_ratio"), "2: mass ratio");
    }

    #[test]
    fn lengths_have_the_unit_of_the_scene_and_hints_the_plain_number() {
        let scene = Scene::builtin("galaxy-collision").unwrap();
        let parameters = scene.parameters();
        let (name, parameter, _) = parameters.iter().find(|(n, ..)| n == "separation").unwrap();
        assert_eq!(unit(parameter, &scene.units), "3.5 kpc");
        assert_eq!(unit(parameter, &Units::default()), "");
        let hint = sentence(name, parameter, 2.0000000001);
        assert!(hint.contains("separation = 2,"), "{hint}");
    }
}
