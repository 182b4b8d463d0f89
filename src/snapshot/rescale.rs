//! A snapshot in other units.

use super::{Column, Losses, Snapshot};
use crate::field::Field;
use crate::messages;
use crate::units::{Conversion, Units};

/// The powers of length, time and mass in the units of the columns of tipsy and GADGET, whose other
/// columns have no unit or one of their own (temperatures, abundances, GADGET's suns per year).
const DIMENSIONS: [(&str, [i32; 3]); 12] = [
    ("eps", [1, 0, 0]),
    ("hsmooth", [1, 0, 0]),
    ("HSML", [1, 0, 0]),
    ("phi", [2, -2, 0]),
    ("POT", [2, -2, 0]),
    ("U", [2, -2, 0]),
    ("ACCE", [1, -2, 0]),
    ("rho", [-3, 0, 1]),
    ("RHO", [-3, 0, 1]),
    ("tform", [0, 1, 0]),
    ("TSTP", [0, 1, 0]),
    ("ENDT", [2, -3, 0]),
];
/// Columns whose numbers are the same in all units.
const DIMENSIONLESS: [&str; 6] = ["temp", "metals", "NE", "NH", "SFR", "Z"];

/// Attribute: the external field in which the bodies are, as text, in their units.
pub(crate) const FIELD: &str = "field";

/// Attribute: the longest step of a run whose steps vary.
pub(crate) const LONGEST_DT: &str = "dt_max";

/// Attributes that are numbers with a unit.
const ATTRIBUTES: [(&str, [i32; 3]); 4] =
    [("softening", [1, 0, 0]), ("dt", [0, 1, 0]), (LONGEST_DT, [0, 1, 0]), ("box_size", [1, 0, 0])];

impl Snapshot {
    /// The scale factor, if coordinates are comoving: GADGET's files then have it as the time, and
    /// the redshift that belongs to it.
    pub(crate) fn scale_factor(&self) -> Option<f64> {
        let redshift = self.number("redshift").unwrap_or(0.0);
        let is_one = (self.time * (1.0 + redshift) - 1.0).abs() < 1e-3;
        (self.number("omega_0")? > 0.0 && self.time > 0.0 && is_one).then_some(self.time)
    }

    /// Multiplies everything by the factors of `conversion`, which leads to `units`; returns the
    /// names of additional columns whose dimension is not known and which stay.
    pub(crate) fn rescale(&mut self, conversion: &Conversion, units: Units) -> Vec<String> {
        let Conversion { length, time, mass } = *conversion;
        let velocity = conversion.velocity();
        let factor = |powers: [i32; 3]| -> f64 {
            [length, time, mass].into_iter().zip(powers).map(|(by, power)| by.powi(power)).product()
        };
        self.bodies.mass.iter_mut().for_each(|m| *m *= mass);
        self.bodies.position.iter_mut().for_each(|x| *x *= length);
        self.bodies.velocity.iter_mut().for_each(|v| *v *= velocity);
        if self.scale_factor().is_none() {
            self.time *= time;
        }
        self.units = units;
        for (name, powers) in ATTRIBUTES {
            let Some(text) = self.attributes.get_mut(name) else { continue };
            if let Ok(value) = text.parse::<f64>() {
                *text = (value * factor(powers)).to_string();
            }
        }
        if let Some(text) = self.attributes.get_mut(FIELD)
            && let Ok(field) = text.parse::<Field>()
        {
            let converted = field.0.iter().map(|one| one.rescaled([length, time, mass]));
            *text = Field(converted.collect()).to_string();
        }
        let mut left = Vec::new();
        for (name, column) in &mut self.extra {
            let base = name.split('.').next().unwrap_or(name);
            match (DIMENSIONS.iter().find(|(known, _)| *known == base), column) {
                (Some((_, powers)), Column::F64(values)) => {
                    let factor = factor(*powers);
                    values.iter_mut().for_each(|value| *value *= factor);
                }
                (Some((_, powers)), Column::F32(values)) => {
                    let factor = factor(*powers);
                    let scaled = |value: f32| (f64::from(value) * factor) as f32;
                    values.iter_mut().for_each(|value| *value = scaled(*value));
                }
                _ if DIMENSIONLESS.contains(&base) => {}
                _ => left.push(name.clone()),
            }
        }
        left
    }

    /// The snapshot converted to the units that readers of a format assume, which is noted; `None`
    /// if its own units are the same or cannot be converted.
    pub(super) fn in_units_of(&self, assumed: Units, losses: &mut Losses) -> Option<Self> {
        let own = &self.units;
        let conversion = Conversion::between(own, &assumed).ok().flatten();
        let Some(conversion) = conversion.filter(Conversion::is_valid) else {
            losses.note_units(own, &assumed);
            return None;
        };
        if conversion.is_identity() {
            return None;
        }
        losses.note(format!("converted from {own} to {assumed}, as readers assume ({conversion})"));
        let mut converted = self.clone();
        let left = converted.rescale(&conversion, assumed);
        if !left.is_empty() {
            let left = messages::list(&left, ", ");
            losses.note(format!("columns of unknown dimension are not converted: {left}"));
        }
        Some(converted)
    }
}
