//! Statistics of individual (block) time steps, reported while they are shown.

use crate::wall_clock::Instant;

use super::Live;
use crate::integrate::blocks::{BlockStats, BlockSteps};
use crate::sim::VaryingStep;

/// Individual steps at one time, with means over about the last half second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockFacts {
    /// The longest step.
    pub dt_max: f64,
    /// How many bodies have a step of `dt_max` / 2^k: element k.
    pub steps_by_level: Vec<usize>,
    /// Bodies in the latest block.
    pub last_active: usize,
    /// Blocks since the start.
    pub blocks: u64,
    /// Recent mean of bodies per block.
    pub mean_active: f64,
    /// Recent blocks per unit of simulated time.
    pub blocks_per_time: f64,
    /// Recent blocks per second of wall-clock time; pauses count.
    pub blocks_per_sec: f64,
}

/// Means are taken over at least this many seconds.
const WINDOW_SECS: f64 = 0.5;

/// Computes [`BlockFacts`] from the differences to earlier counts.
pub(super) struct BlockWatch {
    since: Instant,
    stats: BlockStats,
    time: f64,
    facts: BlockFacts,
}

impl BlockWatch {
    pub fn new(time: f64) -> Self {
        let (stats, facts) = (BlockStats::default(), BlockFacts::default());
        Self { since: Instant::now(), stats, time, facts }
    }

    /// The facts about `steps` at simulated `time`.
    pub fn observe(&mut self, steps: &BlockSteps, time: f64) -> BlockFacts {
        let now = *steps.stats();
        let (blocks, secs) = (now.blocks - self.stats.blocks, self.since.elapsed().as_secs_f64());
        let first = self.facts.blocks == 0;
        if blocks > 0 && (secs > WINDOW_SECS || first) {
            let bodies = now.body_steps - self.stats.body_steps;
            self.facts.mean_active = bodies as f64 / blocks as f64;
            self.facts.blocks_per_time = blocks as f64 / (time - self.time).abs();
            self.facts.blocks_per_sec = blocks as f64 / secs.max(1e-9);
            (self.since, self.stats, self.time) = (Instant::now(), now, time);
        }
        self.facts.dt_max = steps.settings().dt_max;
        self.facts.steps_by_level = steps.steps_by_level();
        (self.facts.last_active, self.facts.blocks) = (now.last_active, now.blocks);
        self.facts.clone()
    }
}

impl Live {
    /// Requests [`Live::blocks`] and [`Live::varying`], which the worker reports between two steps;
    /// never blocks. Call in each frame that shows them.
    pub fn watch_blocks(&mut self) {
        self.mover.worker().into_iter().for_each(|worker| worker.request_blocks());
    }

    /// The individual steps as last reported; `None` if the integrator has none, or before
    /// [`Live::watch_blocks`].
    pub fn blocks(&self) -> Option<&BlockFacts> {
        self.blocks.as_ref()
    }

    /// The step of all bodies as last reported; `None` if it does not vary, or before
    /// [`Live::watch_blocks`].
    pub fn varying(&self) -> Option<&VaryingStep> {
        self.varying.as_ref()
    }
}
