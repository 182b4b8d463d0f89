//! Walks that count interactions and may skip most of them, to time the lists of a tree separately.

use super::walk::{TILES, WalkOutput};
use super::{TreeForces, TreeResources, Walk, WalkVariant};
use crate::error::Result;
use crate::forces::tree::GROUP;
use crate::gpu::layout::TreeParams;
use crate::gpu::{Gpu, Params, read};

/// How much of each tile of a list is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileWork {
    /// All of it, as in a run.
    All,
    /// One turn of the unrolled loop, the least that a compiler cannot remove.
    OneTurn,
}

/// The counts of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCounts {
    /// Groups that walked, and sinks that walked by themselves.
    pub groups: u64,
    /// Turns of their walks, of up to 64 cells.
    pub turns: u64,
    /// Tiles of up to 64 bodies and of up to 32 cells.
    pub tiles: [u64; 2],
    /// Cells that are expanded, once for each group.
    pub far_cells: u64,
    /// Cells that groups tested, to open or to accept them.
    pub looked_at: u64,
    /// Sum over cells that act as a whole of the sinks they act on.
    pub cell_interactions: u64,
    /// Sum over bodies that act individually of the sinks they act on.
    pub body_interactions: u64,
}

/// A walk through the tree of the last evaluation, whose forces are discarded.
pub struct WalkProbe {
    walk: Walk,
    params: Params<TreeParams>,
    /// The part of the interactions with bodies that is computed.
    pub body_part: f64,
    /// The same for cells.
    pub cell_part: f64,
}

impl TreeForces {
    /// Compiles such a walk. Its counts are written in place of forces.
    ///
    /// # Errors
    /// The kernel does not compile here.
    pub async fn probe(&self, gpu: &Gpu, bodies: TileWork, cells: TileWork) -> Result<WalkProbe> {
        let shape = &self.shape;
        let params = Params::new(gpu, "tree params", super::forces::MOST_PIECES);
        let bound = TreeResources {
            gpu,
            shape,
            buffers: &self.buffers,
            partial_sums: &self.partial_sums,
            params: &params,
        };
        let entries = |taken: TileWork, tile: u32| match taken {
            TileWork::All => tile,
            TileWork::OneTurn => shape.walk.unroll,
        };
        let (bodies, cells) = (entries(bodies, TILES[0]), entries(cells, TILES[1]));
        let variant = WalkVariant::new(shape, self.guarded, WalkOutput::Counts { bodies, cells });
        let walk = Walk::new(&bound, variant, &shape.config().walked(), self.softening).await?;
        let [body_part, cell_part] = [(bodies, TILES[0]), (cells, TILES[1])]
            .map(|(taken, tile)| f64::from(taken) / f64::from(tile));
        Ok(WalkProbe { walk, params, body_part, cell_part })
    }

    /// Records a probe's groups from `begin` on, for about this many interactions; returns where to
    /// continue.
    pub fn record_probe(
        &self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        probe: &mut WalkProbe,
        begin: u32,
        interactions: u64,
    ) -> Option<u32> {
        let end = self.groups(gpu, begin, interactions);
        probe.params.clear();
        probe.walk.record(pass, &mut probe.params, begin, end);
        probe.params.upload(gpu);
        (end < self.buffers.most_walks()).then_some(end)
    }

    /// The counts of the last probe.
    pub async fn probed(&self, gpu: &Gpu) -> Result<WalkCounts> {
        let count = self.buffers.count as usize;
        let answers = read::<[f32; 4]>(gpu, &[&self.partial_sums], count).await?.remove(0);
        let mut counts = WalkCounts::default();
        // A group extends to the next sink with a count, and has at most a group's number of sinks.
        let counted: Vec<usize> = (0..count).filter(|&sink| answers[sink][1] > 0.0).collect();
        for (k, &begin) in counted.iter().enumerate() {
            let next = counted.get(k + 1).copied().unwrap_or(count);
            let sinks = (next - begin).min(GROUP) as u64;
            let [turns, looked_at, cells, bodies] = answers[begin].map(|number| number as u64);
            counts.groups += 1;
            counts.turns += turns;
            counts.tiles[0] += bodies.div_ceil(TILES[0].into());
            counts.tiles[1] += cells.div_ceil(TILES[1].into());
            if sinks > 1 {
                counts.far_cells += answers[begin + 1][0] as u64;
            }
            counts.looked_at += looked_at;
            counts.cell_interactions += sinks * cells;
            counts.body_interactions += sinks * bodies;
        }
        Ok(counts)
    }
}
