//! Individual steps as they were requested: the settings that they mean, and whether an integrator
//! has them.

use super::Integrator;
use super::blocks::{BlockSettings, power_of_two_below};
use crate::error::{Error, Result};
use crate::forces::Precision;
use crate::settings::BlockRequest;

impl BlockRequest {
    /// The longest step is the requested one, otherwise a power of two of at most `suitable`: the
    /// largest that divides `--dt`, or four of the leapfrog steps suggested for the input. Where
    /// shorter steps are needed, the accuracy parameter decides in any case.
    pub fn settings(&self, suitable: f64) -> BlockSettings {
        let defaults = BlockSettings::default();
        let at_most = Some(power_of_two_below(suitable)).filter(|dt| *dt > 0.0);
        BlockSettings {
            eta: self.eta.unwrap_or(defaults.eta),
            eta6: self.eta6.unwrap_or(defaults.eta6),
            dt_max: self.dt_max.or(at_most).unwrap_or(defaults.dt_max),
            on_host: self.host_blocks,
        }
    }

    /// Rejects options that have no meaning for `integrator`.
    ///
    /// # Errors
    ///
    /// The first such option.
    pub fn fits(&self, integrator: &Integrator) -> Result<()> {
        let name = integrator.name;
        let all = [("--eta", self.eta), ("--eta6", self.eta6), ("--dt-max", self.dt_max)];
        if !integrator.has_block_steps()
            && let Some((option, value)) = all.iter().find_map(|(o, v)| Some((*o, (*v)?)))
        {
            let allowed = format!("left out: {name} has one step for all bodies, --dt");
            return Err(Error::value(option, value, allowed));
        }
        if let (Some(eta6), true) = (self.eta6, integrator.order == 4) {
            let allowed = format!("left out: {name} has only --eta");
            return Err(Error::value("--eta6", eta6, allowed));
        }
        Ok(())
    }

    /// The requested precision.
    ///
    /// # Errors
    ///
    /// An unknown name.
    pub fn tier(&self) -> Result<Option<Precision>> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }
}
