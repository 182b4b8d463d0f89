//! A tree on each of several devices, each of which computes forces for a range of the sinks along
//! the curve, which is the same on all devices.

use std::ops::Range;

use super::forces::SharedWalk;
use super::walk::WalkOutput;
use super::{TreeForces, TreeResources, Walk, WalkVariant};
use crate::error::Result;
use crate::forces::tree::GROUP;
use crate::forces::{BoxFuture, SharedForces};
use crate::gpu::{Binding, Gpu, compile, rows_of_workgroups, storage, template};

/// Threads of a workgroup that scatters results.
const THREADS: u32 = 256;

impl SharedForces for TreeForces {
    fn prepare<'a>(&'a mut self, gpu: &'a Gpu) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let (shape, buffers) = (&self.shape, &*self.buffers);
            let answers = storage(gpu, "answers along the curve", buffers.count as usize);
            let bound =
                TreeResources { gpu, shape, buffers, partial_sums: &answers, params: &self.params };
            let variant = WalkVariant::new(shape, self.guarded, WalkOutput::Share);
            let walk = Walk::new(&bound, variant, &shape.config().walked(), self.softening).await?;
            use Binding::{Read, Write};
            let text = template::assemble("tree/put.wgsl", minijinja::context! {})?;
            let bindings = [Read, Read, Read, Write];
            let put = compile(gpu, "tree/put.wgsl", &text, &bindings, shape.checks).await?;
            let resources = [&answers, &buffers.order, &buffers.state, &self.partial_sums]
                .map(wgpu::Buffer::as_entire_binding);
            let put = put.bind(gpu, "put", &resources);
            self.shared = Some(SharedWalk { walk, put, answers, is_on: false });
            Ok(())
        })
    }

    fn unit(&self) -> usize {
        GROUP
    }

    fn answer_for(&mut self, sinks: Option<&Range<u32>>) {
        let Some(shared) = &mut self.shared else { return };
        shared.is_on = sinks.is_some();
        if let Some(sinks) = sinks {
            shared.walk.take_part(sinks);
        }
    }

    fn answers(&self) -> &wgpu::Buffer {
        self.shared.as_ref().map_or(&self.partial_sums, |shared| &shared.answers)
    }

    fn take_answers(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>) {
        let Some(shared) = &self.shared else { return };
        shared.put.set(pass, &[]);
        let groups = self.buffers.count.div_ceil(THREADS);
        let [x, y] = rows_of_workgroups(groups, gpu.limits.workgroups);
        pass.dispatch_workgroups(x, y, 1);
        if let Some(balance) = &self.balance {
            balance.record(pass);
        }
    }
}
