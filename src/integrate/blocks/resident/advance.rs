//! Host side of blocks on a device: sets their time limit and handles their results.

use super::super::{Attractors, Backend, BlockSteps};
use super::PERIOD;
use crate::error::Result;

impl BlockSteps {
    /// [`BlockSteps::advance`] on the device, to this number of periods and ticks of the next.
    pub(in super::super) async fn advance_on_device(
        &mut self,
        period: u64,
        offset: f64,
        field: &Attractors<'_>,
    ) -> Result<()> {
        let Backend::Device(resident) = &mut self.backend else { return Ok(()) };
        let mut failed = (None, None);
        while self.schedule.period <= period {
            let is_last = self.schedule.period == period;
            let end = if is_last { offset.floor() as u64 } else { PERIOD };
            let done = resident.run(end).await?;
            let n = self.tracks.len();
            self.stats.note_all(done.blocks, done.body_steps, done.last_active, n);
            self.stats.note_noise(done.lengthened);
            failed = (done.lost, done.too_short);
            if failed != (None, None) || done.now < PERIOD {
                break;
            }
            resident.turn_over();
            self.schedule.period += 1;
        }
        resident.download(&mut self.accuracy, &mut self.tracks, &mut self.schedule).await?;
        match failed {
            (Some(i), _) => Err(self.lost(i, field)),
            (_, Some(i)) => Err(self.too_short(i, field)),
            _ => Ok(()),
        }
    }
}
