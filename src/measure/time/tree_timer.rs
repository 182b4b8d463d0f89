//! Times the tree on the device, stage by stage and as a whole.

use std::sync::Arc;

use super::Stopwatch;
use crate::error::Result;
use crate::forces::tree::TreeConfig;
use crate::forces::tree::gpu::{Field, Part, TreeForces, TreeShape};
use crate::forces::{Budget, DeviceForces, Piece, Throughput, evaluate_blocking};
use crate::gpu::{BodyBuffers, Checks, Gpu, read_blocking, storage};

/// Seconds of one evaluation, by stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeTimes {
    /// The stages in the order in which they ran, with the seconds of each.
    pub parts: Vec<(Part, f64)>,
}

impl TreeTimes {
    /// Seconds of a stage; 0 if it did not run.
    pub fn of(&self, part: Part) -> f64 {
        self.parts.iter().filter(|(ran, _)| *ran == part).map(|(_, secs)| secs).sum()
    }

    /// Seconds of all stages.
    pub fn total(&self) -> f64 {
        self.parts.iter().map(|(_, secs)| secs).sum()
    }
}

/// Times evaluations of the tree on bodies that do not move.
pub struct TreeTimer {
    pub(super) gpu: Arc<Gpu>,
    pub(super) watch: Stopwatch,
    bodies: BodyBuffers,
    pub(super) forces: TreeForces,
    pub(super) throughput: Throughput,
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
        let n = places.len();
        let shape = TreeShape::of(config, Checks::Off);
        let bodies = BodyBuffers {
            count: n as u32,
            sinks: 0..n as u32,
            mass: places.iter().map(|place| place[3]).collect(),
            position_mass: storage(gpu, "position and mass", n),
            velocity: storage(gpu, "no velocity", 1),
            acceleration: storage(gpu, "acceleration", n),
            rests: Default::default(),
        };
        gpu.queue.write_buffer(&bodies.position_mass, 0, bytemuck::cast_slice(places));
        let field = Field {
            softening,
            guarded: false,
            potential: false,
            has_accelerations: false,
            is_closed: true,
        };
        let forces = pollster::block_on(TreeForces::new(gpu, shape, &bodies, field))?;
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
            let piece = self.throughput.interactions_in(Budget::HEADLESS.submission_secs);
            let mut done = Piece { interactions: 0, is_last: false };
            let secs = self.watch.time(|pass| {
                forces.begin_submission();
                done = forces.record(gpu, pass, piece);
                forces.end_submission(gpu);
            })?;
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
        let (mut total, mut is_last) = (0.0, false);
        while !is_last {
            let (gpu, forces, throughput) = (&self.gpu, &mut self.forces, &self.throughput);
            let (mut interactions, mut dispatches) = (0, 0);
            total += self.watch.time(|pass| {
                forces.begin_submission();
                while !is_last
                    && !forces.is_full()
                    && (dispatches == 0
                        || throughput.secs(interactions, dispatches)
                            < Budget::HEADLESS.submission_secs)
                {
                    let piece = throughput.interactions_in(Budget::HEADLESS.dispatch_secs);
                    let done = forces.record(gpu, pass, piece);
                    interactions += done.interactions;
                    dispatches += 1;
                    is_last = done.is_last;
                }
                forces.end_submission(gpu);
            })?;
        }
        Ok(total)
    }

    /// The accelerations (G = 1) of the last evaluation, in the order of the bodies.
    pub fn accelerations(&self) -> Result<Vec<[f32; 4]>> {
        let n = self.bodies.count as usize;
        Ok(read_blocking(&self.gpu, &[self.forces.partial_sums()], n)?.remove(0))
    }
}
