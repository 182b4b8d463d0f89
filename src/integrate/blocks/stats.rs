//! What the blocks of a run are like.

/// Counts since the start (or the restart) of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStats {
    /// Blocks taken.
    pub blocks: u64,
    /// Steps of single bodies.
    pub body_steps: u64,
    /// Bodies in the last block.
    pub last_active: usize,
    /// Interactions computed, the first forces included.
    pub interactions: u64,
}

impl BlockStats {
    pub(super) fn note(&mut self, active: usize, n: usize) {
        self.blocks += 1;
        self.body_steps += active as u64;
        self.last_active = active;
        self.interactions += (active * n) as u64;
    }

    /// Takes in some blocks at once, of so many bodies in all; the last had `last`.
    pub(super) fn note_all(&mut self, blocks: u64, body_steps: u64, last: usize, n: usize) {
        self.blocks += blocks;
        self.body_steps += body_steps;
        if blocks > 0 {
            self.last_active = last;
        }
        self.interactions += body_steps * n as u64;
    }

    /// Adds what was before.
    pub(super) fn add(&mut self, before: &Self) {
        self.blocks += before.blocks;
        self.body_steps += before.body_steps;
        self.interactions += before.interactions;
    }

    /// Bodies per block on average; 0 before the first.
    pub fn mean_active(&self) -> f64 {
        if self.blocks == 0 { 0.0 } else { self.body_steps as f64 / self.blocks as f64 }
    }
}
