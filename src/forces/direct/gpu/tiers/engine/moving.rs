//! Sources that are predicted on the device, and positions as of the start of an evaluation.

use super::GpuTiers;
use super::evaluation::Evaluation;
use crate::error::Result;
use crate::forces::direct::gpu::tiers::motions::Motions;
use crate::forces::direct::gpu::tiers::sources::DeviceSources;
use crate::forces::engine::check_places;
use crate::forces::{Arrivals, MovingSources, SharedTable};

impl MovingSources for GpuTiers {
    fn share(&mut self, table: &SharedTable) -> Result<()> {
        self.retain_positions();
        if let DeviceSources::Still(_) = self.sources {
            self.sources =
                DeviceSources::Moving(Box::new(Motions::new(self.precision, self.pairs)));
        }
        let DeviceSources::Moving(motions) = &mut self.sources else { return Ok(()) };
        motions.time = self.time;
        motions.set(&self.gpu, table)
    }

    fn announce(&mut self, sources: &Arrivals) -> Result<()> {
        check_places(sources.places, self.sources.count())?;
        match &mut self.sources {
            DeviceSources::Moving(motions) => motions.announce(&self.gpu, sources),
            DeviceSources::Still(_) => Err(self
                .gpu
                .refuse("it holds sources that it does not predict: update_sources replaces them")),
        }
    }

    fn predict_to(&mut self, time: Option<f64>) {
        self.time = time;
        if let DeviceSources::Moving(motions) = &mut self.sources {
            motions.time = time;
        }
    }

    fn table(&self) -> Option<SharedTable> {
        match &self.sources {
            DeviceSources::Moving(motions) => Some(motions.table.clone()),
            DeviceSources::Still(_) => None,
        }
    }
}

impl GpuTiers {
    /// Copies the positions of fixed sources before some are replaced: the pending evaluation
    /// computes distances of neighbours from them.
    pub(super) fn retain_positions(&mut self) {
        if let Some(Evaluation { replaced, nearest, capacity, .. }) = &mut self.begun
            && (*nearest || capacity.is_some())
            && let DeviceSources::Still(store) = &self.sources
        {
            replaced.get_or_insert_with(|| store.position.clone());
        }
    }
}
