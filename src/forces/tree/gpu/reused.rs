//! A tree reused for several steps: when it is rebuilt, and how a run resumes with one.
//!
//! With `--rebuild K`, a tree serves K steps, starting at each multiple of K; the window also has
//! `auto`, which goes by the clock (`forces/tree/pace.rs`). The order of the bodies and the cells
//! stay; everything that depends on positions is recomputed. A restart needs the positions over
//! which the tree was built: a snapshot holds them if they differ from the current ones
//! (`forces/rebuilds.rs`).

use std::sync::atomic::Ordering;

use super::forces::RebuildState;
use super::{Stage, Strengths, TreeForces};
use crate::forces::StepForces;
use crate::gpu::{BodyBuffers, Gpu, storage};

impl TreeForces {
    /// Whether the next evaluation reuses the existing tree.
    pub(super) fn reuses_tree(&self) -> bool {
        let RebuildState { next, are_counted, .. } = self.steps;
        let is_due = are_counted && self.steps.pace.builds_at(next);
        self.steps.pace.keeps() && !is_due && self.buffers.is_reused.load(Ordering::Relaxed)
    }

    /// Called before the build begins, and when the cells are complete.
    pub(super) fn set_tree_complete(&mut self, is_reused: bool) {
        if self.steps.pace.keeps() && self.steps.are_counted {
            self.buffers.is_reused.store(is_reused, Ordering::Relaxed);
            self.steps.is_refitted = false;
        }
    }

    /// Updates the state after a complete evaluation.
    pub(super) fn note_step(&mut self) {
        if self.steps.are_counted {
            self.steps.next += 1;
        }
    }
}

impl StepForces for TreeForces {
    fn needs_last_accelerations(&self) -> bool {
        self.shape.config().needs_accelerations()
    }

    fn built_at(&self) -> Option<&wgpu::Buffer> {
        self.steps.is_refitted.then_some(&self.buffers.built_at)
    }

    fn begin_step(&mut self, step: u64) {
        self.steps.next = step;
    }

    fn learn_steps(&mut self, steps: u64, secs: f64) {
        self.steps.pace.learn(steps, secs);
    }

    fn resume(
        &mut self,
        gpu: &Gpu,
        bodies: &BodyBuffers,
        step: u64,
        built_at: Option<&[[f32; 4]]>,
    ) {
        self.is_first = false;
        self.steps.next = step + 1;
        let have_moved = built_at.is_some();
        if !self.steps.pace.keeps() || !(have_moved || self.steps.pace.builds_at(step)) {
            return;
        }
        let places = &bodies.position_mass;
        let now = storage(gpu, "bodies now", bodies.count as usize);
        let copy = |from: &wgpu::Buffer, to: &wgpu::Buffer| {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
            gpu.queue.submit([encoder.finish()]);
        };
        // Kernels are bound to one buffer of bodies, so the earlier positions are put into it for
        // the build.
        if let Some(then) = built_at {
            copy(places, &now);
            gpu.queue.write_buffer(places, 0, bytemuck::cast_slice(then));
        }
        self.build.begin_submission();
        self.params.clear();
        gpu.submit_pass(|pass| {
            for stage in [Stage::Keys, Stage::Sort, Stage::Cells] {
                self.build.record(pass, &mut self.params, stage, Strengths::Unknown);
            }
            self.params.upload(gpu);
            self.build.end_submission(gpu);
        });
        if have_moved {
            copy(&now, places);
        }
        self.set_tree_complete(true);
        self.steps.is_refitted = have_moved;
    }
}
