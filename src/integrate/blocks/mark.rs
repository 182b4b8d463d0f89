//! Restores the bodies' initial state when an advance is interrupted.

use super::{Attractors, BlockSteps, Track};
use crate::error::{Error, Result};
use crate::forces::ForceEngine;

/// The bodies' state when [`BlockSteps::advance_whole`] began.
#[derive(Default)]
pub(super) struct Mark {
    tracks: Vec<Track>,
    period: u64,
    time: Vec<u64>,
    step: Vec<u64>,
    least_acceleration: f64,
    /// Whether a device holds a later state of the bodies.
    is_behind_device: bool,
}

impl BlockSteps {
    /// [`BlockSteps::advance`] to `time`, or not at all if it is interrupted ([`crate::stop`]).
    ///
    /// # Errors
    /// Those of [`BlockSteps::advance`]; [`Error::Stopped`].
    pub async fn advance_whole(
        &mut self,
        time: f64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<()> {
        if std::mem::take(&mut self.mark.is_behind_device) {
            self.move_to_device(field, engine).await;
        }
        let mark = &mut self.mark;
        mark.tracks.clone_from(&self.tracks);
        mark.period = self.schedule.period;
        mark.time.clone_from(&self.schedule.time);
        mark.step.clone_from(&self.schedule.step);
        mark.least_acceleration = self.accuracy.least_acceleration;
        let advanced = self.advance(time, field, engine).await;
        if matches!(advanced, Err(Error::Stopped)) {
            let mark = &mut self.mark;
            std::mem::swap(&mut self.tracks, &mut mark.tracks);
            self.schedule.period = mark.period;
            std::mem::swap(&mut self.schedule.time, &mut mark.time);
            std::mem::swap(&mut self.schedule.step, &mut mark.step);
            self.accuracy.least_acceleration = mark.least_acceleration;
            mark.is_behind_device = !matches!(self.backend, super::Backend::Host(_));
        }
        advanced
    }
}
