//! Where bodies on individual steps live: here, or on the engine's device.

use super::resident::Resident;
use super::{Attractors, BlockSteps};
use crate::forces::{ForceEngine, Precision};

/// Where bodies are predicted and corrected.
pub(super) enum Residence {
    /// On the host, and why.
    Host(String),
    Device(Box<Resident>),
}

impl Default for Residence {
    fn default() -> Self {
        Self::Host("block steps on the host".to_owned())
    }
}

impl BlockSteps {
    /// Lets the bodies live on the engine's device from now on, if it has one, its tier is wider than f32
    /// and its arithmetic holds; else they stay on the host, and [`BlockSteps::describe_residence`] tells why.
    pub async fn move_to_device(&mut self, field: &Attractors<'_>, engine: &dyn ForceEngine) {
        self.residence = Residence::default();
        if let Some(gpu) = engine.on_device() {
            let why = if self.accuracy.settings.on_host {
                "as asked for".to_owned()
            } else if engine.precision() == Precision::Single {
                "single is too narrow to keep bodies in".to_owned()
            } else {
                let tier = (engine.precision(), gpu.pairs());
                let bodies = (&self.tracks[..], &self.schedule);
                let resident =
                    Resident::new(gpu.gpu(), tier, self.scheme, &self.accuracy, bodies, field);
                match resident.await {
                    Ok(resident) => {
                        self.residence = Residence::Device(Box::new(resident));
                        return;
                    }
                    Err(error) => error.to_string(),
                }
            };
            self.residence = Residence::Host(format!("block steps on the host: {why}"));
        }
    }

    /// Whether the bodies live on a device.
    pub fn is_on_device(&self) -> bool {
        !matches!(self.residence, Residence::Host(_))
    }

    /// Where the bodies are predicted and corrected, in words.
    pub fn describe_residence(&self) -> &str {
        match &self.residence {
            Residence::Host(why) => why,
            Residence::Device(_) => "block steps on the device",
        }
    }
}
