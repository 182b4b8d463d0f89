//! The interaction list of each group of a tree, as found by the walk on the device: for tests and
//! inspection.

use super::walk::WalkOutput;
use super::{TreeForces, TreeResources, Walk, WalkVariant};
use crate::error::Result;
use crate::gpu::{Gpu, read};

/// Added to the number of a cell in the list of bodies, as in `shaders/tree/walk.wgsl`.
const IS_CELL: u32 = 1 << 31;

/// The interaction list of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupLists {
    /// The lower corner of the box around the sinks, as the bits of f32.
    pub lower: [u32; 3],
    /// Its upper corner, as the bits of f32.
    pub upper: [u32; 3],
    /// The least of the sinks' last accelerations in the frame's units, as the bits of f32.
    pub least_acceleration: u32,
    /// Numbers of the cells that act with all their moments.
    pub cells: Vec<u32>,
    /// Numbers of the cells that act as points.
    pub points: Vec<u32>,
    /// Numbers of the cells that are expanded.
    pub far: Vec<u32>,
    /// Indices along the curve of the bodies that act individually.
    pub bodies: Vec<u32>,
}

impl TreeForces {
    /// Repeats the walk through the tree of the last evaluation and returns the lists of every
    /// group. Takes 4 bytes for each cell and body, for each group and single sink: only for a few
    /// thousand bodies.
    ///
    /// # Errors
    /// Lists larger than a storage buffer; the device failed.
    pub async fn lists(&self, gpu: &Gpu) -> Result<Vec<GroupLists>> {
        let (buffers, shape) = (&self.buffers, &self.shape);
        let most = [buffers.reserve, buffers.count];
        let length = 3 + u64::from(most[0]) + u64::from(most[1]);
        let walks = u64::from(buffers.most_walks());
        let bytes = 4 * length * walks;
        if bytes > gpu.limits.storage_buffer {
            let most = gpu.limits.storage_buffer;
            return Err(gpu.refuse(format!("lists of {bytes} bytes, but it allows {most}")));
        }
        let lists = gpu.words("lists of groups", length * walks);
        let mut params = crate::gpu::Params::new(gpu, "tree params", 1);
        let bound = TreeResources { gpu, shape, buffers, partial_sums: &lists, params: &params };
        let variant = WalkVariant::new(shape, true, WalkOutput::Lists(most));
        let walk = Walk::new(&bound, variant, &shape.config().walked(), self.softening).await?;
        gpu.submit_pass(|pass| {
            walk.record(pass, &mut params, 0, walks as u32);
            params.upload(gpu);
        });
        let all = read::<u32>(gpu, &[&lists], (length * walks) as usize).await?.remove(0);
        let groups = read::<[u32; 4]>(gpu, &[&buffers.groups], 2 * walks as usize).await?.remove(0);
        let found = all.chunks(length as usize).zip(groups.chunks(2)).map(|(list, group)| {
            let [cells, bodies, far] = [0, 1, 2].map(|k| list[k] as usize);
            let from = 3 + most[0] as usize;
            let (points, bodies): (Vec<u32>, _) =
                list[from..from + bodies].iter().partition(|&&number| number >= IS_CELL);
            let three = |v: [u32; 4]| [v[0], v[1], v[2]];
            GroupLists {
                lower: three(group[0]),
                upper: three(group[1]),
                least_acceleration: group[0][3],
                cells: list[3..3 + cells].to_vec(),
                far: list[from - far..from].to_vec(),
                points: points.into_iter().map(|number| number - IS_CELL).collect(),
                bodies,
            }
        });
        let acts = |lists: &GroupLists| {
            let GroupLists { cells, points, far, bodies, .. } = lists;
            [cells, points, far, bodies].iter().any(|list| !list.is_empty())
        };
        Ok(found.filter(acts).collect())
    }
}
