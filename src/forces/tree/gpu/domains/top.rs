//! The common cells: those that reach over a cut, and their children.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::bodies::Counts;
use super::io::{Io, PartResources};
use super::order::{DeviceKey, Ends};
use super::tally;
use crate::error::{Error, Result};
use crate::exchange::{self, Member};
use crate::forces::tree::domains::top::{Announced, Root, Summed, Top};
use crate::forces::tree::gpu::TreeBuffers;
use crate::forces::tree::gpu::buffers::{EDGE_KEYS, TOP_CELLS};
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::record::{CellBox, CellForce, CellOpen, IS_LEAF};
use crate::forces::tree::{Key, LEVELS, NO_PARENT, PointMass};
use crate::gpu::layout::TreeState;
use crate::gpu::{Binding, BoundKernel, storage};

/// ROOTS in `shaders/tree/common.wgsl`, in bytes.
pub(super) const ROOTS: u64 = 4 * 283;

/// The most roots and crossing cells of a part: 22 levels with 7 siblings at either end are 308.
pub(super) const MOST_ROOTS: u32 = 1024;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// A record of `shaders/tree/domains/roots.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct RootRecord {
    key: DeviceKey,
    level: u32,
    /// Its first body along the part; along the whole curve once it has been sent.
    pub first: u32,
    /// 0 if it reaches beyond the part.
    pub count: u32,
    pub child: u32,
    radius_squared: f32,
    /// Its number on its device.
    pub cell: u32,
    centre: [f32; 3],
    critical: f32,
    force: CellForce,
    bounds: CellBox,
}

impl RootRecord {
    fn key(&self) -> Key {
        self.key.into()
    }

    /// Number of children.
    pub fn children(&self) -> u32 {
        if self.child == IS_LEAF { 0 } else { (self.child & 15) + 1 }
    }
}

/// Stands for the moments of a common cell, which its device sums.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct DeviceMoment([u8; 0]);

impl Summed for DeviceMoment {
    fn of_children(_: &[Self]) -> Self {
        Self([])
    }

    fn of_bodies(_: &[PointMass]) -> Self {
        Self([])
    }
}

/// The common cells as all ranks know them.
pub(super) struct Tops {
    pub top: Top<DeviceMoment>,
    /// Of each rank, the roots in the order of its list.
    pub roots: Vec<Vec<RootRecord>>,
    /// Which entries of this device's list they are.
    pub own_entries: Vec<usize>,
    /// The first body of the part along the whole curve.
    pub begin: u32,
    /// How many of the part's first bodies, and of its last, are in leaves that cross, and where they
    /// are among the bodies of these leaves.
    pub copied: [[u32; 2]; 2],
}

/// The kernels and their buffers.
pub(super) struct Common {
    list: BoundKernel,
    /// [`RootRecord`]s in any order.
    pub roots: wgpu::Buffer,
}

impl Common {
    pub async fn new(io: &Io, shared: &PartResources<'_>) -> Result<Self> {
        let PartResources { buffers, checks, .. } = *shared;
        let roots = storage(&io.gpu, "roots", 8 * MOST_ROOTS as usize);
        use Binding::{Read, Write};
        let bound = [
            (Read, &buffers.keys),
            (Read, &buffers.state),
            (Read, &buffers.cell_open),
            (Read, &buffers.cell_force),
            (Read, &buffers.cell_box),
            (Write, &roots),
            (Write, &buffers.tally),
        ];
        let list = io.kernel("roots", context! {}, &bound, false, checks).await?;
        Ok(Self { list, roots })
    }

    /// Records the list of a part's roots and crossing cells, of `cells` cells.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, cells: u32, most: u32) {
        dispatch(pass, &self.list, None, (cells, THREADS), most);
    }

    /// The list and the room for it. [`ROOTS`] counts its entries.
    pub fn listed(&self) -> (&wgpu::Buffer, Range<u64>) {
        (&self.roots, 0..128 * u64::from(MOST_ROOTS))
    }

    /// The entries of the list, given the tally and the words of [`Common::listed`].
    pub fn roots_of(&self, all: &[u32], listed: &[u32]) -> Vec<RootRecord> {
        let count = tally::word(all, ROOTS).min(MOST_ROOTS) as usize;
        bytemuck::pod_collect_to_vec(&listed[..32 * count])
    }

    /// Joins the lists of all ranks. `near` are this rank's bodies at the ends of its part, at most
    /// [`EDGE_KEYS`] each; `listed` is what the list says, of `count` entries.
    pub fn join(
        &self,
        member: &mut Member,
        rank: usize,
        ends: &Ends,
        (listed, leaf): (&[RootRecord], u32),
        near: [&[PointMass]; 2],
    ) -> Result<Tops> {
        let begin = ends.parts[rank].start as u32;
        let mut crossing = Vec::new();
        let mut roots = Vec::new();
        let mut own_entries = Vec::new();
        for (entry, record) in listed.iter().enumerate() {
            let record = RootRecord { first: record.first + begin, ..*record };
            match record.count {
                0 => crossing.push(Announced {
                    key: record.key(),
                    level: record.level,
                    first: record.first,
                }),
                _ => {
                    roots.push(record);
                    own_entries.push(entry);
                }
            }
        }
        let crossing: Vec<Announced> =
            exchange::gather(member, &crossing)?.into_iter().flatten().collect();
        let roots = exchange::gather(member, &roots)?;

        // Leaves that cross have few bodies, all near the cuts.
        let mut counted = Vec::with_capacity(crossing.len());
        let mut own_bodies: Vec<PointMass> = Vec::new();
        let mut copied = [[0; 2]; 2];
        let mut of_leaves_so_far = 0;
        for cell in &crossing {
            let mut count = 0;
            for (part, range) in ends.parts.iter().enumerate() {
                let here = bodies_in(cell, range, &ends.first[part]);
                if cell.level == LEVELS && here >= EDGE_KEYS as usize {
                    let allowed = format!("below {EDGE_KEYS} next to a cut between domains");
                    return Err(Error::value("the number of bodies in one place", here, allowed));
                }
                count += here;
            }
            if cell.is_leaf(count, leaf as usize) {
                let range = &ends.parts[rank];
                let here = bodies_in(cell, range, &ends.first[rank]);
                let [first, last] = near;
                let begins_here = range.contains(&(cell.first as usize));
                own_bodies.extend(match begins_here {
                    true => &last[last.len() - here..],
                    false => &first[..here],
                });
                if here > 0 {
                    let into = begin.saturating_sub(cell.first);
                    copied[usize::from(begins_here)] = [here as u32, of_leaves_so_far + into];
                }
                of_leaves_so_far += count as u32;
            }
            counted.push((*cell, count));
        }
        let is_leaf: Vec<bool> =
            counted.iter().map(|(cell, count)| cell.is_leaf(*count, leaf as usize)).collect();
        let mut of_leaves: Vec<Vec<PointMass>> =
            vec![Vec::new(); is_leaf.iter().filter(|is| **is).count()];
        for (part, bodies) in exchange::gather(member, &own_bodies)?.iter().enumerate() {
            let mut rest = &bodies[..];
            let leaves = counted.iter().zip(&is_leaf).filter(|(_, is)| **is);
            for (into, ((cell, _), _)) in of_leaves.iter_mut().zip(leaves) {
                let here = bodies_in(cell, &ends.parts[part], &ends.first[part]);
                let (some, left) = rest.split_at(here.min(rest.len()));
                into.extend_from_slice(some);
                rest = left;
            }
        }
        // Those of other cells are the sums of what is in them.
        let mut items: Vec<(Key, u32, u32, usize)> = Vec::new();
        for root in roots.iter().flatten() {
            items.push((root.key(), root.first, root.level, root.count as usize));
        }
        for ((cell, count), _) in counted.iter().zip(&is_leaf).filter(|(_, is)| **is) {
            items.push((cell.key, cell.first, cell.level, *count));
        }
        for ((cell, count), is_leaf) in counted.iter_mut().zip(&is_leaf) {
            if !is_leaf {
                let inside = items.iter().filter(|(key, first, level, _)| {
                    *first >= cell.first
                        && *level > cell.level
                        && key.shared(cell.key) >= cell.level
                });
                *count = inside.map(|item| item.3).sum();
            }
        }
        let described: Vec<(Vec<Root>, Vec<DeviceMoment>)> = roots
            .iter()
            .map(|roots| {
                let root = |of: &RootRecord| Root {
                    first: of.first,
                    count: of.count,
                    level: of.level,
                    children: of.children(),
                };
                (roots.iter().map(root).collect(), vec![DeviceMoment([]); roots.len()])
            })
            .collect();
        let top = Top::new(&counted, of_leaves.concat(), &described, leaf as usize);
        if top.cells.len() > TOP_CELLS as usize {
            let allowed = format!("at most {TOP_CELLS}");
            return Err(Error::value("the number of common cells", top.cells.len(), allowed));
        }
        Ok(Tops { top, roots, own_entries, begin, copied })
    }

    /// Writes the common cells before the next submission, which has to compute their moments
    /// (`Build::record_top_moments`).
    pub fn write(&self, io: &mut Io, buffers: &TreeBuffers, counts: &Counts, tops: &Tops) {
        let Tops { top, roots, .. } = tops;
        let cells = top.cells.len();
        let bodies_at = counts.inside + counts.outside;
        let mut open = vec![CellOpen::zeroed(); cells];
        let mut force = vec![CellForce::zeroed(); cells];
        let mut bounds = vec![CellBox::zeroed(); cells];
        let mut state =
            TreeState { cells: cells as u32, levels: [cells as u32; 24], ..Default::default() };
        for (number, (cell, owner)) in top.cells.iter().zip(&top.owners).enumerate().rev() {
            state.levels[cell.level as usize] = number as u32;
            bounds[number] = CellBox { level: cell.level, parent: NO_PARENT, ..CellBox::zeroed() };
            // A root is a leaf without bodies as long as moments are summed.
            open[number].child = IS_LEAF;
            match *owner {
                Some((rank, root)) => {
                    let record = &roots[rank][root];
                    open[number] = CellOpen {
                        centre: record.centre,
                        critical: record.critical,
                        radius_squared: record.radius_squared,
                        child: IS_LEAF,
                        first: 0,
                        count: 0,
                    };
                    force[number] = record.force;
                    bounds[number] = CellBox { parent: NO_PARENT, ..record.bounds };
                }
                None if cell.is_leaf() => {
                    (open[number].first, open[number].count) = (bodies_at + cell.first, cell.count);
                }
                None => open[number].child = cell.child << 4 | (cell.children - 1),
            }
        }
        // Levels without cells begin where the next one does.
        for level in (0..23).rev() {
            state.levels[level] = state.levels[level].min(state.levels[level + 1]);
        }
        io.write(&buffers.cell_open, 0, &open);
        io.write(&buffers.cell_force, 0, &force);
        io.write(&buffers.cell_box, 0, &bounds);
        io.write(&buffers.sources, 16 * u64::from(bodies_at), &top.bodies);
        io.write(&buffers.part.as_ref().expect("a part").top_state, 0, &[state]);
    }

    /// The child word, first body and number of bodies of each common cell, given those of the
    /// roots: `of_root` has a rank and the number of one of its roots.
    pub fn links(
        tops: &Tops,
        counts: &Counts,
        of_root: impl Fn(usize, usize, &RootRecord) -> [u32; 3],
    ) -> Vec<[u32; 4]> {
        let bodies_at = counts.inside + counts.outside;
        let Tops { top, roots, .. } = tops;
        let mut links = Vec::with_capacity(top.cells.len());
        for (number, (cell, owner)) in top.cells.iter().zip(&top.owners).enumerate() {
            let [child, first, count] = match *owner {
                Some((rank, root)) => of_root(rank, root, &roots[rank][root]),
                None if cell.is_leaf() => [IS_LEAF, bodies_at + cell.first, cell.count],
                None => [cell.child << 4 | (cell.children - 1), 0, cell.count],
            };
            links.push([number as u32, child, first, count]);
        }
        links
    }
}

/// How many bodies of the part with this range, whose first keys are given, are in a crossing cell;
/// at most as many as there are keys if it begins before the part.
fn bodies_in(cell: &Announced, range: &std::ops::Range<usize>, first: &[Key]) -> usize {
    let at = cell.first as usize;
    if range.end <= at {
        0
    } else if range.contains(&at) {
        range.end - at
    } else {
        first.partition_point(|key| key.shared(cell.key) >= cell.level)
    }
}
