//! Compares the stages of a tree built on a device with the host's functions, each applied to the
//! output of the device's previous stage. Integers must be equal, sums equal up to rounding.

use crate::error::Result;
use crate::forces::tree::gpu::{FarForces, Field, TreeForces, TreeShape};
use crate::forces::tree::{
    Cell, CellBox, CellForce, CellMoments, CellOpen, CellRecord, Cells, Cube, Expansion, GROUP,
    Key, PointMass, SinkGroup, key, moments, order, split,
};
use crate::forces::{Throughput, evaluate_blocking};
use crate::gpu::layout::TreeState;
use crate::gpu::{BodyBuffers, Gpu, read_blocking, storage};

/// The result of a comparison; the error describes the first difference.
pub type StageResult = std::result::Result<(), String>;

macro_rules! ensure {
    ($holds:expr, $($says:tt)*) => {
        if !$holds {
            return Err(format!($($says)*));
        }
    };
}

/// Uploads bodies at rest, unscaled.
pub fn upload_places(gpu: &Gpu, places: &[PointMass]) -> BodyBuffers {
    let buffers = BodyBuffers {
        count: places.len() as u32,
        sinks: 0..places.len() as u32,
        mass: places.iter().map(|place| place[3]).collect(),
        position_mass: storage(gpu, "position and mass", places.len()),
        velocity: storage(gpu, "velocity", places.len()),
        acceleration: storage(gpu, "acceleration", places.len()),
        rests: Default::default(),
    };
    gpu.queue.write_buffer(&buffers.position_mass, 0, bytemuck::cast_slice(places));
    buffers
}

/// A tree as built by a device.
#[derive(Clone, Debug)]
pub struct BuiltTree {
    /// Cube, numbers of bodies inside and of cells, leaf size, levels.
    pub state: TreeState,
    /// Keys along the curve.
    pub keys: Vec<Key>,
    /// The bodies' indices along the curve.
    pub order: Vec<u32>,
    /// The bodies along the curve.
    pub sources: Vec<PointMass>,
    /// Opening records of the cells.
    pub open: Vec<CellOpen>,
    /// Force records of the cells.
    pub force: Vec<CellForce>,
    /// Boxes of cells.
    pub bounds: Vec<CellBox>,
}

impl BuiltTree {
    /// Builds a tree over `places` and reads it back.
    ///
    /// # Errors
    ///
    /// More bodies than the buffers hold; the device failed.
    pub fn build(gpu: &Gpu, shape: TreeShape, places: &[PointMass]) -> Result<Self> {
        let bodies = upload_places(gpu, places);
        let field = Field { has_accelerations: true, ..Field::closed(0.01, true, false) };
        let mut forces = pollster::block_on(TreeForces::new(gpu, shape, &bodies, field))?;
        evaluate_blocking(&mut forces, gpu, &mut Throughput::guess(gpu.adapter.class))?;
        Self::read(gpu, &forces)
    }

    /// Reads back the tree of the last evaluation.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub fn read(gpu: &Gpu, forces: &TreeForces) -> Result<Self> {
        let buffers = forces.buffers();
        let n = buffers.count as usize;
        let words = |buffer, count| -> Result<Vec<u32>> {
            Ok(read_blocking::<u32>(gpu, &[buffer], count)?.remove(0))
        };
        let state: TreeState =
            bytemuck::cast_slice(&words(&buffers.state, size_of::<TreeState>() / 4)?)[0];
        let cells = state.cells.min(buffers.reserve) as usize;
        let keys = words(&buffers.keys, 2 * n)?;
        Ok(Self {
            state,
            keys: keys.chunks(2).map(|key| Key { hi: key[1], lo: key[0] }).collect(),
            order: words(&buffers.order, n)?,
            sources: read_blocking(gpu, &[&buffers.sources], n)?.remove(0),
            open: read_blocking(gpu, &[&buffers.cell_open], cells)?.remove(0),
            force: read_blocking(gpu, &[&buffers.cell_force], cells)?.remove(0),
            bounds: read_blocking(gpu, &[&buffers.cell_box], cells)?.remove(0),
        })
    }

    /// Compares each stage with the host's for these bodies.
    ///
    /// # Errors
    ///
    /// The first difference, in words.
    pub fn compare(&self, places: &[PointMass], shape: &TreeShape) -> StageResult {
        self.compare_moved(places, places, shape)
    }

    /// [`BuiltTree::compare`] for bodies that are at `now` and were at `built_at` when keys and
    /// cells were found.
    ///
    /// # Errors
    ///
    /// The first difference, in words.
    pub fn compare_moved(
        &self,
        built_at: &[PointMass],
        now: &[PointMass],
        shape: &TreeShape,
    ) -> StageResult {
        let inside = self.compare_order(built_at, now)?;
        let cells = Cells::new(&self.keys[..inside], self.state.leaf as usize);
        self.compare_cells(&cells)?;
        let moments = moments(&cells, &self.sources);
        for (k, (cell, moment)) in cells.cells.iter().zip(&moments).enumerate() {
            self.compare_moment(k, cell, moment, shape)
                .map_err(|what| format!("{what} of cell {k} ({cell:?})"))?;
        }
        Ok(())
    }

    /// Compares what the expansions of far cells do with the same sums in f64, for the forces of
    /// the last evaluation.
    ///
    /// # Errors
    ///
    /// The first group whose forces differ.
    pub fn compare_far(&self, far: &FarForces, softening: f64) -> StageResult {
        if self.state.scattered > 0 {
            // Their sinks walk one by one, and their lists are those of an earlier walk.
            return Ok(());
        }
        let inside = self.state.inside as usize;
        for (group, cells) in far.cells.iter().enumerate().take(inside / GROUP) {
            let sinks = GROUP * group..GROUP * (group + 1);
            let place = |along: usize| self.sources[along];
            let corner = |choose: fn(f32, f32) -> f32| -> [f32; 3] {
                let fold = |axis| sinks.clone().map(|k| place(k)[axis]).reduce(choose);
                std::array::from_fn(|axis| fold(axis).unwrap_or_default())
            };
            let (low, high) = (corner(f32::min), corner(f32::max));
            let middle = std::array::from_fn(|axis| 0.5 * (low[axis] + high[axis]));
            let side = |axis: usize| 0.5 * (high[axis] - low[axis]);
            let extent_squared = (0..3).map(|axis| side(axis).powi(2)).sum();
            let mut expansion =
                Expansion::new(&SinkGroup { middle, extent_squared, ..Default::default() });
            let mut scale = 0.0;
            for &cell in cells {
                let force = &self.force[cell as usize];
                expansion.add(force, softening * softening);
                let away: f32 = (0..3).map(|k| (force.centre[k] - middle[k]).powi(2)).sum();
                scale += f64::from(force.mass) / (f64::from(away) + softening * softening);
            }
            for along in sinks {
                let [x, y, z, _] = place(along);
                let ((pull, potential), found) =
                    (expansion.at([x, y, z]), far.forces[self.order[along] as usize]);
                let off: f64 =
                    (0..3).map(|k| (f64::from(found[k]) - pull[k]).powi(2)).sum::<f64>().sqrt();
                ensure!(
                    off <= 4e-6 * scale,
                    "far cells of group {group} attract by {found:?} instead of {pull:?}"
                );
                let off = (f64::from(found[3]) - potential).abs();
                ensure!(
                    off <= 4e-6 * potential.abs(),
                    "far cells of group {group} have the potential {} instead of {potential}",
                    found[3]
                );
            }
        }
        Ok(())
    }

    /// Compares cube, keys and order. Returns the number of bodies inside.
    fn compare_order(
        &self,
        places: &[PointMass],
        now: &[PointMass],
    ) -> std::result::Result<usize, String> {
        let state = &self.state;
        let cube = Cube { half: state.half };
        let around = Cube::around(places);
        ensure!(cube == around, "the cube is {cube:?}, not {around:?}");
        let inside = places.iter().filter(|place| cube.holds(place)).count();
        ensure!(state.inside as usize == inside, "{} bodies inside, not {inside}", state.inside);
        let unsorted: Vec<_> = places.iter().map(|place| key(&cube, place)).collect();
        let expected = order(&unsorted);
        ensure!(self.order[..inside] == expected[..inside], "the order along the curve differs");
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        let is_whole = sorted.iter().enumerate().all(|(i, &body)| body as usize == i);
        ensure!(is_whole, "the order along the curve is not a permutation");
        for (k, &body) in self.order[..inside].iter().enumerate() {
            ensure!(self.keys[k] == unsorted[body as usize], "key {k} differs");
            let is_same = self.sources[k] == now[body as usize];
            ensure!(is_same, "body {k} along the curve differs");
        }
        let scattered = split(&cube, &self.keys[..inside], &self.sources[..inside]);
        let scattered = scattered.into_iter().filter(|is| *is).count();
        ensure!(
            state.scattered as usize == scattered,
            "{} scattered groups, not {scattered}",
            state.scattered
        );
        Ok(inside)
    }

    fn compare_cells(&self, cells: &Cells) -> StageResult {
        ensure!(cells.len() == self.open.len(), "{} cells, not {}", self.open.len(), cells.len());
        for (k, cell) in cells.cells.iter().enumerate() {
            let (open, bounds) = (&self.open[k], &self.bounds[k]);
            let found = (open.first, open.count, bounds.level, bounds.parent);
            let expected = (cell.first, cell.count, cell.level, cell.parent);
            ensure!(found == expected, "cell {k} is {found:?}, not {cell:?}");
        }
        let mut levels = cells.levels.clone();
        levels.resize(24, cells.len() as u32);
        ensure!(levels == self.state.levels, "levels begin at {:?}", self.state.levels);
        Ok(())
    }

    fn compare_moment(
        &self,
        k: usize,
        cell: &Cell,
        moment: &CellMoments,
        shape: &TreeShape,
    ) -> StageResult {
        let expected = CellRecord::of(cell, moment, &shape.opening, shape.order);
        let (open, force, bounds) = (&self.open[k], &self.force[k], &self.bounds[k]);
        ensure!(open.child == expected.open.child, "other children");
        let boxes = (bounds.lower, bounds.upper);
        ensure!(boxes == (expected.bounds.lower, expected.bounds.upper), "another box");
        // Sums of up to eight children or 32 bodies per level: a few units in f32's last place.
        let near = |a: f32, b: f32, scale: f32, what: &str| {
            ensure!((a - b).abs() <= 1e-6 * scale, "{what} {a} instead of {b}");
            Ok(())
        };
        near(force.mass, expected.force.mass, expected.force.mass, "mass")?;
        let size = (moment.radius as f32).max(1e-30);
        for axis in 0..3 {
            // Positions far from the origin are no more precise than this.
            let place = size + open.centre[axis].abs();
            near(force.centre[axis], expected.force.centre[axis], place, "centre")?;
            ensure!(force.centre[axis] == open.centre[axis], "two centres");
            // The device's moments are about f32 centres, of the cell and of its children.
            let reach: f32 = open.centre.iter().map(|x| 1.2e-7 * x.abs()).sum();
            let moved = 1e6 * reach * (reach + size);
            let scale = 3.0 * expected.force.mass * (size * size + moved);
            near(force.diagonal[axis], expected.force.diagonal[axis], scale, "second moment")?;
            near(
                force.off_diagonal[axis],
                expected.force.off_diagonal[axis],
                scale,
                "second moment",
            )?;
        }
        // In inner cells the radius may be larger by the rounding of the centre.
        let far = open.radius_squared.sqrt();
        let off = (f64::from(far) - moment.radius).abs();
        let room = 1e-5 * moment.radius + 1e-6 * moment.centre.length();
        ensure!(off <= room, "radius {far} instead of {}", moment.radius);
        let first = cell.first as usize;
        for place in &self.sources[first..first + cell.count as usize] {
            let square: f64 =
                (0..3).map(|a| (f64::from(place[a]) - f64::from(open.centre[a])).powi(2)).sum();
            ensure!(square <= f64::from(open.radius_squared), "a body beyond the radius");
        }
        // From the device's own radius, with powers computed by logarithms.
        let moment = CellMoments { radius: f64::from(far), ..*moment };
        let expected = shape.opening.critical(&moment, shape.order) as f32;
        let off = (open.critical - expected).abs();
        ensure!(
            off <= 1e-4 * expected.abs() + 1e-20,
            "critical number {} instead of {expected}",
            open.critical
        );
        Ok(())
    }
}
