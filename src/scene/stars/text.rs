//! The table `[stars]` of scene files.

use std::collections::BTreeMap;

use toml::{Spanned, Value};

use super::Stars;
use crate::error::{Error, Result};
use crate::scene::origin::Origin;
use crate::units::Units;

/// The table's keys with their values.
pub(crate) type StarsText = BTreeMap<String, Spanned<Value>>;

impl Origin<'_> {
    /// The masses and companions of a generator's stars. `has_mass_scale`: whether its
    /// part has one.
    pub fn stars(
        &self,
        text: &Option<Spanned<StarsText>>,
        units: &Units,
        has_mass_scale: bool,
    ) -> Result<Stars> {
        let mut stars = Stars::default();
        let Some(table) = text else { return Ok(stars) };
        // The choices come first: they bring the numbers that there are.
        let choices = ["masses", "orbits", "eccentricity"];
        for key in choices {
            if let Some(value) = table.get_ref().get(key)
                && let Value::String(name) = value.get_ref()
            {
                stars.choose(key, name).map_err(|error| self.error(value.span(), error))?;
            }
        }
        for (key, value) in table.get_ref() {
            let is_choice = choices.contains(&key.as_str());
            let number = match value.get_ref() {
                Value::String(_) if is_choice => continue,
                Value::Integer(number) if key == "eccentricity" || !is_choice => *number as f64,
                Value::Float(number) if key == "eccentricity" || !is_choice => *number,
                other => {
                    let allowed = if is_choice { "a name in quotes" } else { "a number" };
                    let problem = Error::value(format!("'{key}'"), other.type_str(), allowed);
                    return Err(self.error(value.span(), problem));
                }
            };
            stars.set(key, number).map_err(|error| self.error(value.span(), error))?;
        }
        stars.check(units).map_err(|error| self.error(table.span(), error))?;
        if has_mass_scale && stars.are_absolute(units) {
            let problem = "'mass_scale' must be left out where [stars] has 'masses' in solar masses: their sum is the part's mass";
            return Err(self.error(table.span(), problem));
        }
        Ok(stars)
    }
}
