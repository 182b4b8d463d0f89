//! The units of a file: as it states them, and as readers need them.

use super::super::Snapshot;
use super::header::Described;
use super::numbers::Attributes;
use crate::messages;
use crate::units::{Measure, NEWTON, Quantity, Units};

/// Names of length, mass and velocity in cgs: of GADGET, and of GIZMO.
const GADGET: [&[&str]; 3] = [
    &["UnitLength_in_cm", "UnitLength_In_CGS"],
    &["UnitMass_in_g", "UnitMass_In_CGS"],
    &["UnitVelocity_in_cm_per_s", "UnitVelocity_In_CGS"],
];
/// SWIFT's names of length, mass and time in cgs, in its group Units.
pub(super) const SWIFT: [&str; 3] =
    ["Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", "Unit time in cgs (U_t)"];

/// Factors count as powers of ten within this part: codes round the parsec and the sun.
const ROUNDED: f64 = 5e-4;

/// Metres and kilograms in cgs.
const CM: f64 = 1e-2;
const GRAM: f64 = 1e-3;

/// Length, mass and time in SI units; `None` unless all are stated and positive.
fn stated(described: &Described) -> Option<[f64; 3]> {
    let found = if described.is_swift() {
        SWIFT.map(|name| described.units.number(name))
    } else {
        let places = [&described.header, &described.parameters, &described.units];
        let [length, mass, velocity] =
            GADGET.map(|names| places.iter().find_map(|place| place.first(names)));
        [length, mass, length.zip(velocity).map(|(length, velocity)| length / velocity)]
    };
    let is_good = |value: &Option<f64>| value.is_some_and(|value| value.is_normal() && value > 0.0);
    let [length, mass, time] = found.map(Option::unwrap_or_default);
    found.iter().all(is_good).then_some([length * CM, mass * GRAM, time])
}

/// The gravitational constant of the simulation, if stated.
fn gravity(described: &Described) -> Option<f64> {
    let found = described
        .parameters
        .first(&["GravityConstantInternal", "PhysicalConstants:G"])
        .or_else(|| described.header.number("Gravitational_Constant_In_Code_Inttegrals"));
    found.filter(|g| g.is_normal() && *g > 0.0)
}

/// The unit of this SI value with a factor that is a power of ten if it nearly is.
fn named(si: f64, of: Quantity) -> Measure {
    let measure = Measure::of_si(si, of);
    let power = 10_f64.powi(measure.factor.log10().round() as i32);
    match (measure.factor / power - 1.0).abs() < ROUNDED {
        true => Measure { factor: power, ..measure },
        false => measure,
    }
}

/// A unit divided by the Hubble parameter.
fn divided(measure: Measure, hubble: f64) -> String {
    let Measure { factor, name } = measure;
    let factor = messages::rounded(factor / hubble, 9);
    match factor {
        1.0 => name,
        // As in `1e10 Msun`.
        _ if !(1e-3..1e4).contains(&factor) => {
            format!("{} {name}", format!("{factor:e}").replace("e0", ""))
        }
        _ => format!("{factor} {name}"),
    }
}

/// The units of a file's numbers; `snapshot` has its time and attributes. All but velocities are
/// divided by the Hubble parameter in snapshots of an expanding universe, except SWIFT's. Also
/// returns a note on what was assumed.
pub(super) fn read(described: &Described, snapshot: &Snapshot) -> (Units, Option<String>) {
    let hubble = match snapshot.scale_factor() {
        Some(_) if !described.is_swift() => snapshot.number("hubble_parameter"),
        _ => None,
    };
    let hubble = hubble.filter(|hubble| hubble.is_normal() && *hubble > 0.0).unwrap_or(1.0);
    let Some([length, mass, time]) = stated(described) else {
        let units = super::super::gadget::units(snapshot);
        let note = format!("does not state its units: {units} are assumed");
        return (units, Some(note));
    };
    let newton = NEWTON * mass * time.powi(2) / length.powi(3);
    let own = gravity(described);
    if let Some(own) = own.filter(|own| (own / newton - 1.0).abs() > 0.01) {
        let units = Units { gravitational_constant: own, ..Units::default() };
        let note = format!(
            "its gravitational constant {own} is not that of its units, {}: the units are left out",
            messages::number(newton)
        );
        return (units, Some(note));
    }
    let length_unit = named(length, Quantity::Length);
    let mass_unit = named(mass, Quantity::Mass);
    // From the named length, so that kpc and km/s give the time that they always give.
    let scale = length_unit.si(Quantity::Length).unwrap_or(length) / length;
    let time_unit = named(time * scale, Quantity::Time);
    let units = Units {
        length: divided(length_unit, hubble),
        mass: divided(mass_unit, hubble),
        time: divided(time_unit, hubble),
        // With h in all three it is the same.
        gravitational_constant: own.unwrap_or(newton),
    };
    (units, None)
}

/// The units that yt assumes: GADGET's default ones, if the snapshot's are others that can be
/// converted to them. The gravitational constant is that with which masses follow their unit.
pub(super) fn assumed(snapshot: &Snapshot) -> Units {
    let (own, assumed) = (&snapshot.units, super::super::gadget::units(snapshot));
    let ([Some(length), Some(mass), Some(time)], [Some(to_length), Some(to_mass), Some(to_time)]) =
        (own.si(), assumed.si())
    else {
        return own.clone();
    };
    let [length, mass, time] = [length / to_length, mass / to_mass, time / to_time];
    if [length, mass, time].iter().all(|ratio| (ratio - 1.0).abs() < ROUNDED) {
        return own.clone();
    }
    let g = own.gravitational_constant * length.powi(3) / (time.powi(2) * mass);
    Units { gravitational_constant: g, ..assumed }
}

/// Length, mass and velocity in cgs that make readers see the numbers right with this Hubble
/// parameter. If the units have no names, any that give the snapshot's G: kpc and km/s.
pub(super) fn written(units: &Units, hubble: f64) -> [f64; 3] {
    let g = units.gravitational_constant;
    let [length, mass, time] = match units.si() {
        [Some(length), Some(mass), Some(time)] => [length, mass, time],
        [Some(length), _, Some(time)] => {
            [length, g * length.powi(3) / (NEWTON * time.powi(2)), time]
        }
        _ => {
            let length = Measure::of("kpc").si(Quantity::Length).unwrap_or(1.0);
            let time = length / 1e3;
            [length, g * length.powi(3) / (NEWTON * time.powi(2)), time]
        }
    };
    [length * hubble / CM, mass * hubble / GRAM, length / time / CM]
}

/// Attributes of the group with this program's own units.
pub(super) fn own(attributes: &Attributes) -> Option<Units> {
    let text = |name| attributes.text(name);
    Some(Units {
        length: text("length")?,
        mass: text("mass")?,
        time: text("time")?,
        gravitational_constant: attributes
            .number("gravitational_constant")
            .filter(|g| g.is_finite() && *g >= 0.0)?,
    })
}
