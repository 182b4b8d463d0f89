//! The settings of a second run.

use crate::error::{Error, Result};
use crate::forces::Method;
use crate::integrate;
use crate::settings::Comparison;
use crate::sim::Settings;

impl Comparison {
    /// The settings of a run that differs from that with the settings `first` in this alone.
    ///
    /// # Errors
    ///
    /// Several devices; an unknown name; a value that does not fit the other settings.
    pub fn over(&self, first: &Settings) -> Result<Settings> {
        if !first.devices.is_one() {
            let allowed = "1 for two runs side by side, which share it";
            return Err(Error::value("--devices", first.devices, allowed));
        }
        let mut second = first.clone();
        match self {
            Self::Softening(length) => second.softening = *length,
            Self::Method(name) => second.method = Method::from_name(name)?.or(first.method),
            Self::Integrator(name) => {
                second.integrator = integrate::find(name)?;
                if second.integrator != first.integrator {
                    second.precision = None;
                    // The tree lacks the derivatives of forces.
                    let has_forces = !second.integrator.has_block_steps();
                    second.method = first.method.filter(|m| has_forces || *m != Method::Tree);
                }
            }
        }
        second.validate()?;
        Ok(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DeviceCount;

    #[test]
    fn second_run_differs_in_one_setting() {
        let tree = Settings { method: Some(Method::Tree), ..Settings::default() };
        let over = |text: &str| text.parse::<Comparison>().unwrap().over(&tree);
        assert_eq!(over("softening=0").unwrap(), Settings { softening: 0.0, ..tree.clone() });
        assert_eq!(over("softening=0.01").unwrap(), tree);
        assert_eq!(over("method=direct").unwrap().method, Some(Method::Direct));
        let hermite = over("integrator=hermite4").unwrap();
        assert_eq!((hermite.integrator.name, hermite.method), ("hermite4", None));
        assert!(over("method=warp").unwrap_err().to_string().contains("direct"));
        assert!(over("integrator=euler").unwrap_err().to_string().contains("leapfrog"));
        let two = Settings { devices: DeviceCount::These(2), ..tree.clone() };
        let error = Comparison::Softening(0.0).over(&two).unwrap_err().to_string();
        assert!(error.contains("side by side"), "{error}");
        let varying = Settings { auto_dt: Some(0.1), ..Settings::default() };
        assert!(Comparison::Softening(0.0).over(&varying).is_err());
    }
}
