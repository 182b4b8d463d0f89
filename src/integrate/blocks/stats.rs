//! Statistics of the blocks of a run.

/// Counts since the start (or the restart) of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStats {
    /// Blocks taken.
    pub blocks: u64,
    /// Number of individual steps.
    pub body_steps: u64,
    /// Bodies in the last block.
    pub last_active: usize,
    /// Interactions computed, including the first forces.
    pub interactions: u64,
    /// Steps that were made longer because the criteria leave out what may be noise of the forces.
    pub lengthened: u64,
    /// The number of halvings avoided by it, summed over these steps.
    pub lengthened_levels: u64,
}

/// Statistics of the blocks that several devices shared, since the bodies live on them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedBlocks {
    /// Blocks whose forces were shared by the devices.
    pub blocks: u64,
    /// Number of individual steps in them.
    pub body_steps: u64,
    /// Bytes sent by all devices.
    pub bytes: u64,
    /// Seconds that the first device of this process spent sending, and waiting for others.
    pub secs: f64,
}

/// Blocks taken on a device in one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlocksTaken {
    pub blocks: u64,
    pub body_steps: u64,
    pub last_active: usize,
    /// The time up to which blocks are done, in ticks.
    pub now: u64,
    /// Steps lengthened because of noise, and the number of halvings avoided.
    pub lengthened: [u64; 2],
    /// A body whose force is not finite.
    pub lost: Option<usize>,
    /// A body whose step would be too short.
    pub too_short: Option<usize>,
}

/// How often a step is halved for the criterion's step, in units of it; -1 if it is doubled. As in
/// `shaders/blocks/correct.wgsl`.
fn halvings(criterion: f64) -> i64 {
    (-criterion.log2()).ceil().clamp(-1.0, 44.0) as i64
}

impl BlockStats {
    pub(super) fn note(&mut self, active: usize, n: usize) {
        self.blocks += 1;
        self.body_steps += active as u64;
        self.last_active = active;
        self.interactions += (active * n) as u64;
    }

    /// Adds several blocks among `n` bodies.
    pub(super) fn note_all(&mut self, done: &BlocksTaken, n: usize) {
        self.blocks += done.blocks;
        self.body_steps += done.body_steps;
        if done.blocks > 0 {
            self.last_active = done.last_active;
        }
        self.interactions += done.body_steps * n as u64;
        self.note_noise(done.lengthened);
    }

    /// Adds steps lengthened because of noise, and the number of halvings avoided.
    pub(super) fn note_noise(&mut self, [steps, levels]: [u64; 2]) {
        self.lengthened += steps;
        self.lengthened_levels += levels;
    }

    /// Compares the criterion's step, in units of the last, with what it would have been without
    /// regard to noise.
    pub(super) fn compare(&mut self, criterion: f64, plain: f64) {
        let longer = halvings(plain) - halvings(criterion);
        if longer > 0 {
            self.note_noise([1, longer as u64]);
        }
    }

    /// The fraction of all steps that were lengthened because of noise, and by what factor on
    /// average. If the fraction is large, a setting of accuracy with steps longer by this factor is
    /// as good.
    pub fn noise(&self) -> (f64, f64) {
        let share = self.lengthened as f64 / self.body_steps.max(1) as f64;
        let levels = self.lengthened_levels as f64 / self.lengthened.max(1) as f64;
        (share, levels.exp2())
    }

    /// Adds the counts from before.
    pub(super) fn add(&mut self, before: &Self) {
        self.blocks += before.blocks;
        self.body_steps += before.body_steps;
        self.interactions += before.interactions;
        self.note_noise([before.lengthened, before.lengthened_levels]);
    }

    /// Mean number of bodies per block; 0 before the first.
    pub fn mean_active(&self) -> f64 {
        if self.blocks == 0 { 0.0 } else { self.body_steps as f64 / self.blocks as f64 }
    }
}
