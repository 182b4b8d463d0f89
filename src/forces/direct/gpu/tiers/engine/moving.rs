//! Predicted sources, and positions of sources as of the start of an evaluation.

use super::GpuTiers;
use super::evaluation::Evaluation;
use crate::error::Result;
use crate::forces::direct::gpu::tiers::held::Held;
use crate::forces::direct::gpu::tiers::motions::Motions;
use crate::forces::question::{check_below, check_indices};
use crate::forces::{ArrivalList, Arrivals, Goal, Moving, MovingSources};

impl MovingSources for GpuTiers {
    fn set_moving(&mut self, sources: &[Moving]) -> Result<()> {
        self.keep_positions();
        if let Held::Still(_) = self.held {
            self.held = Held::Moving(Box::new(Motions::new(self.precision, self.pairs)));
        }
        let Held::Moving(motions) = &mut self.held else { return Ok(()) };
        motions.time = self.time;
        motions.set(&self.gpu, sources)
    }

    fn update_moving(&mut self, index: &[u32], sources: &[Moving]) -> Result<()> {
        check_indices(index, sources.len(), self.held.count())?;
        let mut list = ArrivalList::default();
        let both = index.iter().zip(sources);
        both.for_each(|(&at, moving)| list.push(Goal { at, tag: 0 }, moving));
        let announced = self.announce_moving(&list.all());
        self.settle_moving(&list.all());
        announced
    }

    fn announce_moving(&mut self, sources: &Arrivals) -> Result<()> {
        check_below(sources.places.iter().map(|place| place.at), self.held.count())?;
        if self.begun.is_some() {
            self.keep_positions_of(sources.places.iter().map(|place| place.at));
        }
        match &mut self.held {
            Held::Moving(motions) => motions.announce(&self.gpu, sources),
            Held::Still(_) => Err(self
                .gpu
                .refuse("it holds sources that it does not predict: update_sources replaces them")),
        }
    }

    fn settle_moving(&mut self, sources: &Arrivals) {
        if let Held::Moving(motions) = &mut self.held {
            motions.apply_announced(sources);
        }
    }

    fn predict_to(&mut self, time: Option<f64>) {
        self.time = time;
        if let Held::Moving(motions) = &mut self.held {
            motions.time = time;
        }
    }
}

impl GpuTiers {
    /// Saves all positions before the sources are replaced: the pending evaluation computes
    /// distances of neighbours from them.
    pub(super) fn keep_positions(&mut self) {
        let Self { begun, held, .. } = self;
        if let Some(Evaluation { replaced, nearest, capacity, time, .. }) = begun
            && (*nearest || capacity.is_some())
        {
            let all = || (0..held.count()).filter_map(|j| held.position(j, *time)).collect();
            replaced.all.get_or_insert_with(all);
        }
    }

    /// [`GpuTiers::keep_positions`] for the sources with these indices.
    pub(super) fn keep_positions_of(&mut self, index: impl Iterator<Item = u32>) {
        let Self { begun, held, .. } = self;
        if let Some(Evaluation { replaced, nearest, capacity, time, .. }) = begun
            && (*nearest || capacity.is_some())
            && replaced.all.is_none()
        {
            for j in index {
                if let Some(position) = held.position(j as usize, *time) {
                    replaced.some.entry(j).or_insert(position);
                }
            }
        }
    }
}
