//! Which cells and bodies act on each group, against the walk written down once more: equal as whole numbers.

use std::collections::BTreeSet;

use gravitile::forces::tree::gpu::{Field, GroupLists, Taken, TreeForces, TreeShape};
use gravitile::forces::tree::{IS_LEAF, MultipoleOrder, Opening, Place};
use gravitile::forces::{Throughput, evaluate_blocking};
use gravitile::gpu::Checks;
use gravitile::measure::{BuiltTree, upload_places};

use super::bodies::{hard_cases, plummer};
use super::common;

/// The rule by accelerations finds them first.
const FIELD: Field = Field {
    softening: 0.01,
    guarded: true,
    potential: false,
    has_accelerations: false,
    is_closed: true,
};

/// Where both sides of a comparison are as near as this, rounding decides.
const ROUNDING: f64 = 1e-5;

/// The walk of one group through the device's own cells.
struct Twin<'a> {
    tree: &'a BuiltTree,
    shape: TreeShape,
    group: &'a GroupLists,
    told: BTreeSet<u32>,
    cells: BTreeSet<u32>,
    bodies: BTreeSet<u32>,
}

fn float(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// The square of the distance from a box to another, or to a point.
fn apart(group: &GroupLists, lower: [f32; 3], upper: [f32; 3]) -> f64 {
    let along = |axis: usize| {
        let below = float(group.lower[axis]) - f64::from(upper[axis]);
        let above = f64::from(lower[axis]) - float(group.upper[axis]);
        below.max(above).max(0.0).powi(2)
    };
    (0..3).map(along).sum()
}

impl Twin<'_> {
    /// Whether a cell acts as a whole; where rounding decides, as the device has it.
    fn accepts(&self, cell: u32) -> bool {
        let (open, bounds) = (&self.tree.open[cell as usize], &self.tree.bounds[cell as usize]);
        let opening = &self.shape.opening;
        let squared = apart(self.group, open.centre, open.centre);
        let compared = match opening.is_between_boxes() {
            true => apart(self.group, bounds.lower, bounds.upper),
            false => squared,
        };
        let reach = opening.reach(float(self.group.least_acceleration), self.shape.order);
        let radius_squared = f64::from(open.radius_squared);
        let sides = [
            (squared, radius_squared * opening.least_distance_squared()),
            (compared * reach, f64::from(open.critical)),
        ];
        if sides.iter().any(|(a, b)| (a - b).abs() < ROUNDING * b.abs()) {
            return self.told.contains(&cell);
        }
        sides.iter().all(|(a, b)| a > b)
    }

    fn walk(&mut self, cell: u32) {
        let open = self.tree.open[cell as usize];
        // Without mass it is passed over.
        if open.critical < 0.0 {
            return;
        }
        if self.accepts(cell) {
            self.cells.insert(cell);
        } else if open.child == IS_LEAF {
            self.bodies.extend(open.first..open.first + open.count);
        } else {
            (0..=open.child & 15).for_each(|k| self.walk((open.child >> 4) + k));
        }
    }
}

/// Each group's lists against the twin's. Returns how many groups there are.
fn compare(tree: &BuiltTree, shape: TreeShape, groups: &[GroupLists]) -> Result<usize, String> {
    for group in groups {
        let (cells, bodies) = (BTreeSet::new(), BTreeSet::new());
        let told: BTreeSet<u32> = group.cells.iter().copied().collect();
        let mut twin = Twin { tree, shape, group, told, cells, bodies };
        if !tree.open.is_empty() {
            twin.walk(0);
        }
        let (inside, outside) = (tree.state.inside, tree.state.outside);
        twin.bodies.extend(inside..inside + outside);
        let once = |list: &[u32], twin: &BTreeSet<u32>, what: &str| {
            let set: BTreeSet<u32> = list.iter().copied().collect();
            match set == *twin && set.len() == list.len() {
                true => Ok(()),
                false => Err(format!(
                    "{} {what}, not {}; {:?} ...",
                    list.len(),
                    twin.len(),
                    set.symmetric_difference(twin).next()
                )),
            }
        };
        once(&group.cells, &twin.cells, "cells")?;
        once(&group.bodies, &twin.bodies, "bodies")?;
    }
    Ok(groups.len())
}

fn walked(places: &[Place], shape: TreeShape) -> (BuiltTree, Vec<GroupLists>) {
    let gpu = common::gpu();
    let bodies = upload_places(&gpu, places);
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, FIELD)).unwrap();
    evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let lists = pollster::block_on(forces.lists(&gpu)).unwrap();
    (BuiltTree::read(&gpu, &forces).unwrap(), lists)
}

#[test]
fn every_group_takes_the_cells_and_bodies_of_the_host() {
    for opening in [
        Opening::Acceleration { alpha: 0.003 },
        Opening::Radius { theta: 0.6 },
        Opening::Bonsai { theta: 0.7 },
        Opening::Octgrav { theta: 0.7 },
    ] {
        let shape = TreeShape::new(opening, MultipoleOrder::Quadrupole);
        let shape = TreeShape { checks: Checks::On, ..shape };
        let (tree, lists) = walked(&plummer(3000, 17), shape);
        let groups = compare(&tree, shape, &lists).unwrap_or_else(|e| panic!("{opening:?}: {e}"));
        assert!(groups >= 3000 / 64, "{groups} groups");
        // What is wrong is seen.
        let seen = |change: &dyn Fn(&mut GroupLists)| {
            let mut other = lists.clone();
            change(&mut other[7]);
            assert!(compare(&tree, shape, &other).is_err());
        };
        seen(&|group| group.bodies.truncate(group.bodies.len() - 1));
        seen(&|group| group.bodies.push(group.bodies[0]));
        seen(&|group| group.cells[0] += 1);
        seen(&|group| group.cells.truncate(group.cells.len() - 1));
    }
}

#[test]
fn hard_cases_have_the_lists_of_the_host() {
    let shape = TreeShape::new(Opening::Acceleration { alpha: 0.003 }, MultipoleOrder::Quadrupole);
    // Lists of 20,000 bodies are too long to be told for all groups.
    for (name, places) in hard_cases().into_iter().filter(|(_, places)| places.len() < 4000) {
        let (tree, lists) = walked(&places, shape);
        compare(&tree, shape, &lists).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}

#[test]
fn a_probe_counts_what_is_on_the_lists() {
    let (gpu, n) = (common::gpu(), 3000);
    let shape = TreeShape::new(Opening::Octgrav { theta: 0.5 }, MultipoleOrder::Quadrupole);
    let bodies = upload_places(&gpu, &plummer(n, 17));
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, FIELD)).unwrap();
    evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let lists = pollster::block_on(forces.lists(&gpu)).unwrap();
    // Whole groups stand first; those whose last one is not full walk with fewer.
    let inside = BuiltTree::read(&gpu, &forces).unwrap().state.inside as usize;
    let sinks = |group: usize| if 64 * group < inside { 64.min(inside - 64 * group) } else { 1 };
    let of = |list: &dyn Fn(&GroupLists) -> usize| -> u64 {
        lists.iter().enumerate().map(|(k, group)| (sinks(k) * list(group)) as u64).sum()
    };
    let cells = of(&|group| group.cells.len());
    let met = of(&|group| group.bodies.len());
    for (few_bodies, few_cells) in [(Taken::All, Taken::All), (Taken::OneTurn, Taken::OneTurn)] {
        let probe = pollster::block_on(forces.probe(&gpu, few_bodies, few_cells));
        let (mut probe, mut begin) = (probe.unwrap(), Some(0));
        while let Some(from) = begin {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                begin = forces.record_probe(&gpu, &mut pass, &mut probe, from, 1 << 20);
            }
            gpu.queue.submit([encoder.finish()]);
        }
        let counts = pollster::block_on(forces.probed(&gpu)).unwrap();
        assert_eq!((counts.cell_interactions, counts.body_interactions), (cells, met));
        let accepted: usize = lists.iter().map(|group| group.cells.len()).sum();
        assert!(counts.looked_at > accepted as u64);
    }
}
