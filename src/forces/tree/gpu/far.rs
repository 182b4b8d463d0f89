//! The expansions of far cells alone, for checks.

use super::walk::{FAR_LENGTH, WalkOutput};
use super::{TreeForces, TreeResources, Walk, WalkVariant};
use crate::error::Result;
use crate::gpu::{Gpu, Params, read, storage};

/// The far cells of a tree's groups, and their forces alone.
#[derive(Clone, Debug)]
pub struct FarForces {
    /// For each group along the curve its far cells, in the order in which they are added.
    pub cells: Vec<Vec<u32>>,
    /// For each body, in the bodies' own order, the acceleration and potential by them.
    pub forces: Vec<[f32; 4]>,
}

impl TreeForces {
    /// Repeats the walk through the tree of the last evaluation and computes the expansions alone;
    /// `None` if there are none, or more groups than there is room for at a time.
    ///
    /// # Errors
    /// The device failed.
    pub async fn far_forces(&self, gpu: &Gpu) -> Result<Option<FarForces>> {
        let (buffers, shape) = (&self.buffers, &self.shape);
        let (walks, count) = (buffers.most_walks(), buffers.count as usize);
        if walks > buffers.far_groups {
            return Ok(None);
        }
        let partial_sums = &storage(gpu, "forces of far cells", count);
        let mut params = Params::new(gpu, "tree params", 2);
        let bound = TreeResources { gpu, shape, buffers, partial_sums, params: &params };
        let variant = WalkVariant {
            potential: true,
            ..WalkVariant::new(shape, self.guarded, WalkOutput::Forces)
        };
        let walk = Walk::new(&bound, variant, &shape.config().walked(), self.softening).await?;
        gpu.submit_pass(|pass| {
            walk.record(pass, &mut params, 0, walks);
            params.upload(gpu);
        });
        let zero = vec![[0.0f32; 4]; count];
        gpu.queue.write_buffer(partial_sums, 0, bytemuck::cast_slice(&zero));
        gpu.submit_pass(|pass| {
            params.clear();
            walk.record_far(pass, &mut params, 0, walks);
            params.upload(gpu);
        });
        let forces = read::<[f32; 4]>(gpu, &[partial_sums], count).await?.remove(0);
        let groups = count / crate::forces::tree::GROUP;
        let words = groups * FAR_LENGTH as usize;
        let lists = match groups {
            0 => Vec::new(),
            _ => read::<u32>(gpu, &[&buffers.far_cells], words).await?.remove(0),
        };
        let list = |list: &[u32]| list[1..1 + list[0] as usize].to_vec();
        Ok(Some(FarForces { cells: lists.chunks(FAR_LENGTH as usize).map(list).collect(), forces }))
    }
}
