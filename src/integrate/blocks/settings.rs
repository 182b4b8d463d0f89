//! The accuracy of individual steps.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Accuracy of an integrator with individual steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSettings {
    /// eta of Aarseth's criterion, dt = sqrt(eta (|a||a2| + |a1|^2) / (|a1||a3| + |a2|^2)), > 0.
    /// With steps thus proportional to sqrt(eta), the error of hermite4 goes with eta^2.
    pub eta: f64,
    /// eta of the criterion's sixth-order form, > 0; used by hermite6 only.
    pub eta6: f64,
    /// The longest step, a power of two.
    pub dt_max: f64,
    /// Whether bodies are predicted and corrected on the host in f64 even if the engine's device
    /// could do it.
    #[serde(default)]
    pub on_host: bool,
}

impl Default for BlockSettings {
    fn default() -> Self {
        Self { eta: 0.01, eta6: 0.1, dt_max: 0.125, on_host: false }
    }
}

/// The shortest step is `dt_max` * 2^-LEVELS: times within a `dt_max` are multiples of it.
pub const LEVELS: u32 = 44;

impl BlockSettings {
    /// Checks that all settings are in range.
    pub fn validate(&self) -> Result<()> {
        for (what, eta) in [("eta", self.eta), ("eta6", self.eta6)] {
            if !(eta.is_finite() && eta > 0.0) {
                let what = format!("the accuracy parameter {what}");
                return Err(Error::value(what, eta, "finite and greater than 0"));
            }
        }
        if !is_power_of_two(self.dt_max) {
            let near = power_of_two_below(self.dt_max);
            let allowed = match near.is_finite() && near > 0.0 {
                true => format!("a power of two, {near} or {} for example", 2.0 * near),
                false => "a power of two, 0.125 for example".to_owned(),
            };
            return Err(Error::value("the longest step dt-max", self.dt_max, allowed));
        }
        Ok(())
    }
}

/// Whether `value` is a power of two from 2^-900 to 2^900, so that no step or its powers leave f64.
fn is_power_of_two(value: f64) -> bool {
    (f64::powi(2.0, -900)..=f64::powi(2.0, 900)).contains(&value)
        && value == power_of_two_below(value)
}

/// The largest power of two not above `value`; 0 or infinite if there is none.
pub fn power_of_two_below(value: f64) -> f64 {
    if value.is_normal() && value > 0.0 {
        f64::from_bits(value.to_bits() & (0x7ff << 52))
    } else if value.is_infinite() {
        value
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_settings_are_named() {
        let good = BlockSettings::default();
        assert!(good.validate().is_ok());
        for dt_max in [1.0, 4.0, 1e-3 * 1.024 / 1.048_576, 2f64.powi(-30)] {
            assert!(BlockSettings { dt_max, ..good }.validate().is_ok(), "{dt_max}");
        }
        for (bad, words) in [
            (BlockSettings { eta: 0.0, ..good }, "eta is 0, but must be"),
            (BlockSettings { eta: f64::NAN, ..good }, "eta is NaN"),
            (BlockSettings { eta6: -1.0, ..good }, "eta6 is -1, but"),
            (
                BlockSettings { dt_max: 0.1, ..good },
                "dt-max is 0.1, but must be a power of two, 0.0625",
            ),
            (BlockSettings { dt_max: 0.0, ..good }, "dt-max is 0,"),
            (BlockSettings { dt_max: -0.5, ..good }, "dt-max is -0.5"),
            (BlockSettings { dt_max: f64::INFINITY, ..good }, "dt-max is inf"),
        ] {
            let text = bad.validate().unwrap_err().to_string();
            assert!(text.contains(words), "'{text}' should say '{words}'");
        }
    }
}
