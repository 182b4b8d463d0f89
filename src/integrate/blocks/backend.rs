//! Where bodies on individual steps are stored and advanced: on the host, or on the engine's
//! device, and perhaps on further ones.

use super::ranks;
use super::resident::{Resident, Residents, SHAPED};
use super::schedule::PERIOD;
use super::{Attractors, BlockSteps, SharedBlocks};
use crate::error::Result;
use crate::forces::{DeviceEngine, ForceEngine, Precision};
use crate::gpu::DevicePart;

/// Where bodies are predicted and corrected.
pub(super) enum BlocksBackend {
    /// On the host, with the reason.
    Host(String),
    Device(Residents),
}

impl Default for BlocksBackend {
    fn default() -> Self {
        Self::Host("block steps on the host".to_owned())
    }
}

impl BlockSteps {
    /// Moves the bodies to the engine's device, if it has one, its precision exceeds f32 and its
    /// arithmetic holds; otherwise they stay on the host, and [`BlockSteps::describe_backend`]
    /// gives the reason.
    pub async fn move_to_device(&mut self, field: &Attractors<'_>, engine: &dyn ForceEngine) {
        self.backend = BlocksBackend::default();
        if let Some(device) = engine.capabilities().device {
            let why = if self.accuracy.settings.on_host {
                "as asked for".to_owned()
            } else if engine.precision() == Precision::Single {
                "single is too narrow to keep bodies in".to_owned()
            } else {
                match self.residents(field, engine, device).await {
                    Ok(residents) => {
                        self.backend = BlocksBackend::Device(residents);
                        return;
                    }
                    Err(error) => error.to_string(),
                }
            };
            self.backend = BlocksBackend::Host(format!("block steps on the host: {why}"));
        }
    }

    /// Bodies resident on the engine's device, on further devices, and on those of other ranks.
    async fn residents(
        &self,
        field: &Attractors<'_>,
        engine: &dyn ForceEngine,
        first: &dyn DeviceEngine,
    ) -> Result<Residents> {
        // All devices use the shapes tuned for the first.
        let shapes =
            SHAPED.map(|sinks| first.block_shape(self.scheme.order(), sinks, self.tracks.len()));
        let make = |gpu| {
            let tier = (engine.precision(), first.pairs());
            let bodies = (&self.tracks[..], &self.schedule);
            Resident::new(gpu, tier, shapes, self.scheme, &self.accuracy, bodies, field)
        };
        let ranks = ranks::of(engine, first)?;
        let made = async {
            let residents = Residents::alone(make(first.gpu()).await?);
            let mut others = Vec::with_capacity(first.other_devices().len());
            for gpu in first.other_devices() {
                others.push(make(gpu).await?);
            }
            Ok((residents, others))
        };
        let (residents, others) = ranks::all_or_none(ranks.as_ref(), made.await)?;
        Ok(residents.with(others, ranks))
    }

    /// [`BlockSteps::advance`] on the device, to this number of periods and ticks of the next. Not
    /// the loop of the host: the device takes all blocks of a period without returning, and the
    /// bodies are read back once.
    pub(super) async fn advance_on_device(
        &mut self,
        period: u64,
        offset: f64,
        field: &Attractors<'_>,
    ) -> Result<()> {
        let BlocksBackend::Device(residents) = &mut self.backend else { return Ok(()) };
        let mut failed = (None, None);
        while self.schedule.period <= period {
            let is_last = self.schedule.period == period;
            let end = if is_last { offset.floor() as u64 } else { PERIOD };
            let done = residents.run(end).await?;
            self.stats.note_all(&done, self.tracks.len());
            failed = (done.lost, done.too_short);
            if failed != (None, None) || done.now < PERIOD {
                break;
            }
            residents.turn_over();
            self.schedule.period += 1;
        }
        residents.download(&mut self.accuracy, &mut self.tracks, &mut self.schedule).await?;
        match failed {
            (Some(i), _) => Err(self.lost(i, field)),
            (_, Some(i)) => Err(self.too_short(i, field)),
            _ => Ok(()),
        }
    }

    /// Whether the bodies live on a device.
    pub fn is_on_device(&self) -> bool {
        !matches!(self.backend, BlocksBackend::Host(_))
    }

    /// Statistics of the blocks that several devices have shared.
    pub fn shared(&self) -> SharedBlocks {
        match &self.backend {
            BlocksBackend::Host(_) => SharedBlocks::default(),
            BlocksBackend::Device(residents) => residents.shared(),
        }
    }

    /// The share of each device, if several share blocks.
    pub fn take_parts(&mut self) -> Vec<DevicePart> {
        match &mut self.backend {
            BlocksBackend::Host(_) => Vec::new(),
            BlocksBackend::Device(residents) => residents.take_parts(),
        }
    }

    /// Describes where the bodies are predicted and corrected.
    pub fn describe_backend(&self) -> &str {
        match &self.backend {
            BlocksBackend::Host(why) => why,
            BlocksBackend::Device(residents) => residents.describe(),
        }
    }
}
