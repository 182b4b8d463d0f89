//! Times the tree on the device: stage by stage, as a whole, and the walk with most of one list
//! skipped, for the cost of each list and of the rest of the walk.

use std::sync::Arc;

use super::Stopwatch;
use crate::error::Result;
use crate::forces::tree::TreeConfig;
use crate::forces::tree::gpu::{
    Field, TileWork, TimedStage, TreeForces, TreeShape, WalkCounts, WalkProbe,
};
use crate::forces::{Budget, DeviceForces, RecordedChunk, Throughput, evaluate_blocking};
use crate::gpu::{BodyBuffers, Checks, Gpu, blocking};
use crate::measure::upload_places;

/// Seconds of one evaluation, by stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeTimes {
    /// The stages in the order in which they ran, with the seconds of each.
    pub parts: Vec<(TimedStage, f64)>,
}

impl TreeTimes {
    /// Seconds of a stage; 0 if it did not run.
    pub fn of(&self, part: TimedStage) -> f64 {
        self.parts.iter().filter(|(ran, _)| *ran == part).map(|(_, secs)| secs).sum()
    }

    /// Seconds of all stages.
    pub fn total(&self) -> f64 {
        self.parts.iter().map(|(_, secs)| secs).sum()
    }
}

/// Seconds of a walk by component, one entry per round, fastest first.
#[derive(Clone, Debug, Default)]
pub struct WalkSamples {
    /// The walk as in a run, including all lists.
    pub whole: Vec<f64>,
    /// The contribution of interactions with bodies.
    pub bodies: Vec<f64>,
    /// The contribution of interactions with cells.
    pub cells: Vec<f64>,
    /// The time without both: cells tested, lists filled, tiles read.
    pub rest: Vec<f64>,
    /// The time with one iteration per tile of either list.
    pub bare: Vec<f64>,
    /// The amount of work.
    pub counts: WalkCounts,
}

/// Times evaluations of the tree on bodies that do not move.
pub struct TreeTimer {
    gpu: Arc<Gpu>,
    watch: Stopwatch,
    bodies: BodyBuffers,
    forces: TreeForces,
    throughput: Throughput,
}

impl TreeTimer {
    /// A timer on `gpu` for bodies at `places` (position and mass). The first evaluation, which
    /// finds the accelerations that the rule `acceleration` needs, is done here and not timed.
    ///
    /// # Errors
    ///
    /// Bodies that do not fit on the device.
    pub fn new(
        gpu: &Arc<Gpu>,
        config: &TreeConfig,
        places: &[[f32; 4]],
        softening: f32,
    ) -> Result<Self> {
        let shape = TreeShape::of(config, Checks::Off);
        let bodies = upload_places(gpu, places);
        let field = Field::closed(softening, false, false);
        let forces = blocking(TreeForces::new(gpu, shape, &bodies, field))?;
        let throughput = Throughput::guess(gpu.adapter.class);
        let watch = Stopwatch::new(gpu);
        let mut timer = Self { gpu: Arc::clone(gpu), watch, bodies, forces, throughput };
        evaluate_blocking(&mut timer.forces, gpu, &mut timer.throughput)?;
        // As after a step: the last accelerations are stored with the bodies.
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let (from, to) = (timer.forces.partial_sums(), &timer.bodies.acceleration);
        encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size());
        gpu.queue.submit([encoder.finish()]);
        Ok(timer)
    }

    /// The clock that it uses.
    pub fn stopwatch(&self) -> &Stopwatch {
        &self.watch
    }

    /// Times one evaluation with each stage in a pass of its own.
    pub fn parts(&mut self) -> Result<TreeTimes> {
        let mut times = TreeTimes::default();
        loop {
            let part = self.forces.part();
            let (gpu, forces) = (&self.gpu, &mut self.forces);
            let chunk = self.throughput.interactions_in(Budget::HEADLESS.submission_secs);
            let mut done = RecordedChunk { interactions: 0, is_last: false };
            let secs = blocking(self.watch.time(|pass| {
                forces.begin_submission();
                done = forces.record(gpu, pass, chunk);
                forces.end_submission(gpu);
            }))?;
            self.throughput.learn(done.interactions, 1, secs);
            match times.parts.last_mut() {
                Some((last, sum)) if *last == part => *sum += secs,
                _ => times.parts.push((part, secs)),
            }
            if done.is_last {
                return Ok(times);
            }
        }
    }

    /// Seconds of one evaluation in as few passes as possible: one, except on slow devices.
    pub fn whole(&mut self) -> Result<f64> {
        blocking(self.watch.evaluations(&mut self.forces, &mut self.throughput, 1))
    }

    /// Walks `rounds` times through the tree, alternately in full, with one iteration per tile of
    /// bodies, of cells, and of both. The cost of a list is the time saved
    /// without it, divided by the fraction that was skipped; if other work of the same workgroups
    /// hides it, this is less than it would take alone.
    pub fn walk_samples(&mut self, warming: usize, rounds: usize) -> Result<WalkSamples> {
        let make = |bodies, cells| blocking(self.forces.probe(&self.gpu, bodies, cells));
        let mut whole = make(TileWork::All, TileWork::All)?;
        let mut few_bodies = make(TileWork::OneTurn, TileWork::All)?;
        let mut few_cells = make(TileWork::All, TileWork::OneTurn)?;
        let mut bare = make(TileWork::OneTurn, TileWork::OneTurn)?;
        let mut times = [const { Vec::new() }; 4];
        for round in 0..warming + rounds {
            let probes = [&mut whole, &mut few_bodies, &mut few_cells, &mut bare];
            for (probe, times) in probes.into_iter().zip(&mut times) {
                let secs = self.walk(probe)?;
                if round >= warming {
                    times.push(secs);
                }
            }
        }
        // The bodies do not move, so all walks have the same counts.
        let counts = blocking(self.forces.probed(&self.gpu))?;
        // Sorted times are compared: other load on the machine affects all variants.
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [whole_secs, without_bodies, without_cells, bare] = times;
        let mut samples = WalkSamples { counts, bare, ..WalkSamples::default() };
        for ((all, no_bodies), no_cells) in
            whole_secs.into_iter().zip(without_bodies).zip(without_cells)
        {
            let bodies = (all - no_bodies) / (1.0 - few_bodies.body_part);
            let cells = (all - no_cells) / (1.0 - few_cells.cell_part);
            samples.whole.push(all);
            samples.bodies.push(bodies);
            samples.cells.push(cells);
            samples.rest.push(all - bodies - cells);
        }
        Ok(samples)
    }

    /// Seconds of one walk, in as few submissions as the driver's watchdog allows.
    fn walk(&mut self, probe: &mut WalkProbe) -> Result<f64> {
        let Self { gpu, watch, forces, throughput, .. } = self;
        let (mut total, mut begin) = (0.0, Some(0));
        while let Some(from) = begin {
            let chunk = throughput.interactions_in(Budget::HEADLESS.submission_secs);
            total += blocking(watch.time(|pass| {
                begin = forces.record_probe(gpu, pass, probe, from, chunk);
            }))?;
        }
        Ok(total)
    }
}
