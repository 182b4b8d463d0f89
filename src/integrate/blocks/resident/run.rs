//! Submitting blocks until none are left.

use crate::wall_clock::Instant;

use super::{BlocksTaken, NONE, Resident, one_number, two_words};
use crate::error::Result;
use crate::gpu::layout::BlockState;

/// Desired duration of a submission: a window on the same device stays responsive.
const SUBMISSION_SECS: f64 = 0.02;

impl Resident {
    /// Takes all blocks that end up to `end` ticks, at most those of one `dt_max`.
    ///
    /// # Errors
    /// The device failed; [`crate::error::Error::Stopped`], after the same block on all devices
    /// that share blocks.
    pub async fn run(&mut self, end: u64) -> Result<BlocksTaken> {
        let offset = std::mem::offset_of!(BlockState, end) as u64;
        self.gpu.queue.write_buffer(
            &self.buffers.state,
            offset,
            bytemuck::bytes_of(&two_words(end)),
        );
        let before = self.last_state;
        // Without a block, nothing left to do could not be told from a block that is not shared.
        self.at_once = self.at_once.max(1);
        loop {
            self.check_stop()?;
            let (begun, blocks) = (Instant::now(), self.last_state.blocks);
            let submitted = self.at_once.min(self.blocks_until_sync());
            self.take_blocks(submitted).await?;
            let secs = begun.elapsed().as_secs_f64();
            let done = self.last_state.blocks.wrapping_sub(blocks);
            if self.last_state.waiting > 0 {
                // As many come before the next one that is shared, often none: kernels that are
                // launched for nothing take 3 to 5 us each.
                self.at_once = self.at_once.min(done.saturating_sub(1));
                continue;
            }
            if self.last_state.members == 0 {
                // Kernels beyond the last block would be launched for nothing.
                self.at_once = self.at_once.min(2 * done + 2);
                break;
            }
            if secs < SUBMISSION_SECS / 2.0 && submitted == self.at_once {
                self.at_once = (2 * self.at_once).clamp(1, 1024);
            } else if secs > 2.0 * SUBMISSION_SECS {
                self.at_once = (submitted / 2).max(1);
            }
        }
        let now = &self.last_state;
        let body = |number: u32| (number != NONE).then_some(number as usize);
        Ok(BlocksTaken {
            blocks: u64::from(now.blocks.wrapping_sub(before.blocks)),
            body_steps: one_number(now.body_steps).wrapping_sub(one_number(before.body_steps)),
            last_active: now.last_members as usize,
            now: one_number(now.now),
            lengthened: [
                u64::from(now.lengthened.wrapping_sub(before.lengthened)),
                u64::from(now.lengthened_levels.wrapping_sub(before.lengthened_levels)),
            ],
            lost: body(now.lost),
            too_short: body(now.too_short),
        })
    }
}
