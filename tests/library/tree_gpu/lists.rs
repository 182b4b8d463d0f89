//! Interaction lists of each group, compared exactly with a reference walk.

use std::collections::BTreeSet;
use std::sync::Arc;

use gravitile::forces::tree::gpu::{Field, GroupLists, TileWork, TreeForces, TreeShape};
use gravitile::forces::tree::{IS_LEAF, MultipoleOrder, Opening, PointMass};
use gravitile::forces::{Throughput, evaluate_blocking};
use gravitile::gpu::{Checks, Gpu};
use gravitile::measure::{BuiltTree, upload_places};

use super::bodies::{hard_cases, plummer};
use super::common;

/// Without known accelerations: the acceleration rule computes them first.
const FIELD: Field = Field {
    softening: 0.01,
    guarded: true,
    potential: false,
    has_accelerations: false,
    is_closed: true,
    external: None,
};

/// Relative difference of the sides of an opening criterion below which rounding decides.
const ROUNDING: f64 = 1e-5;

/// Reference walk of one group through the device's cells.
struct ReferenceWalk<'a> {
    tree: &'a BuiltTree,
    shape: TreeShape,
    group: &'a GroupLists,
    sinks: &'a [PointMass],
    device_cells: BTreeSet<u32>,
    cells: BTreeSet<u32>,
    bodies: BTreeSet<u32>,
}

fn float(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// The square of the distance from a box to another, or to a point.
fn distance_squared(group: &GroupLists, lower: [f32; 3], upper: [f32; 3]) -> f64 {
    let along = |axis: usize| {
        let below = float(group.lower[axis]) - f64::from(upper[axis]);
        let above = f64::from(lower[axis]) - float(group.upper[axis]);
        below.max(above).max(0.0).powi(2)
    };
    (0..3).map(along).sum()
}

impl ReferenceWalk<'_> {
    /// Whether a cell is accepted as a whole; where rounding decides, the device's decision is
    /// taken.
    fn accepts(&self, cell: u32) -> bool {
        let (open, bounds) = (&self.tree.open[cell as usize], &self.tree.bounds[cell as usize]);
        let opening = &self.shape.opening;
        let squared = distance_squared(self.group, open.centre, open.centre);
        let compared = match opening.is_between_boxes() {
            true => distance_squared(self.group, bounds.lower, bounds.upper),
            false => squared,
        };
        let reach = self
            .shape
            .config()
            .walked()
            .reach(float(self.group.least_acceleration), self.shape.order);
        let radius_squared = f64::from(open.radius_squared);
        let sides = [
            (squared, radius_squared * opening.least_distance_squared()),
            (compared * reach, f64::from(open.critical)),
        ];
        if sides.iter().any(|(a, b)| (a - b).abs() < ROUNDING * b.abs()) {
            return self.device_cells.contains(&cell);
        }
        sides.iter().all(|(a, b)| a > b)
    }

    /// Whether an accepted cell acts as a point: its quadrupole, at most 1.5 tr Q / d^4, is below
    /// 0.02 of the error allowed; `None` where rounding decides.
    fn is_point(&self, cell: u32) -> Option<bool> {
        let Opening::Acceleration { alpha } = self.shape.config().walked() else {
            return Some(false);
        };
        let (open, force) = (&self.tree.open[cell as usize], &self.tree.force[cell as usize]);
        let squared = distance_squared(self.group, open.centre, open.centre);
        let allowed = 0.02 * alpha * float(self.group.least_acceleration) * squared * squared;
        let trace = 0.5 * force.diagonal.iter().map(|&q| f64::from(q)).sum::<f64>();
        let is_close = (trace - allowed).abs() < ROUNDING * allowed;
        (!is_close).then_some(trace < allowed)
    }

    /// Whether an accepted cell is expanded: with R the distance of the farthest sink from the
    /// middle of the box, R < 0.7 d and 5 (m R^4 + 3 tr Q R^2) / d^6 is below 0.05 of the error
    /// allowed; `None` where rounding decides.
    fn is_expanded(&self, cell: u32) -> Option<bool> {
        let Opening::Acceleration { alpha } = self.shape.config().walked() else {
            return Some(false);
        };
        let force = &self.tree.force[cell as usize];
        let middle =
            |axis: usize| 0.5 * (float(self.group.lower[axis]) + float(self.group.upper[axis]));
        let square = |place: &[f32]| -> f64 {
            (0..3).map(|axis| (f64::from(place[axis]) - middle(axis)).powi(2)).sum()
        };
        let r2 = self.sinks.iter().map(|sink| square(sink)).fold(0.0, f64::max);
        let d2 = square(&force.centre) + f64::from(FIELD.softening).powi(2);
        let trace = force.diagonal.iter().map(|&q| f64::from(q)).sum::<f64>() / 3.0;
        let lost = 5.0 * r2 * (f64::from(force.mass) * r2 + 3.0 * trace) / d2.powi(3);
        let allowed = 0.05 * alpha * float(self.group.least_acceleration);
        let (near, small) = (r2 / (0.49 * d2), lost / allowed);
        let is_close = (near - 1.0).abs() < ROUNDING || (small - 1.0).abs() < ROUNDING;
        let is_one = near < 1.0 && small < 1.0 && self.sinks.len() >= 16;
        (!is_close).then_some(is_one)
    }

    fn walk(&mut self, cell: u32) {
        let open = self.tree.open[cell as usize];
        // Cells without mass are skipped.
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

/// The cells that act as a whole.
fn all_cells(group: &GroupLists) -> Vec<u32> {
    [&group.cells[..], &group.points, &group.far].concat()
}

/// Compares each group's lists with the reference walk's. Returns the number of groups.
fn compare(tree: &BuiltTree, shape: TreeShape, groups: &[GroupLists]) -> Result<usize, String> {
    let inside = tree.state.inside as usize;
    for (number, group) in groups.iter().enumerate() {
        // Groups of 64 come first; a single sink is never expanded for.
        let first = (64 * number).min(inside);
        let sinks = &tree.sources[first..(first + 64).min(inside)];
        let (cells, bodies) = (BTreeSet::new(), BTreeSet::new());
        let device_cells = all_cells(group).into_iter().collect();
        let mut reference =
            ReferenceWalk { tree, shape, group, sinks, device_cells, cells, bodies };
        if !tree.open.is_empty() {
            reference.walk(0);
        }
        let (inside, outside) = (tree.state.inside, tree.state.outside);
        reference.bodies.extend(inside..inside + outside);
        let once = |list: &[u32], reference: &BTreeSet<u32>, what: &str| {
            let set: BTreeSet<u32> = list.iter().copied().collect();
            match set == *reference && set.len() == list.len() {
                true => Ok(()),
                false => Err(format!(
                    "{} {what}, not {}; {:?} ...",
                    list.len(),
                    reference.len(),
                    set.symmetric_difference(reference).next()
                )),
            }
        };
        once(&all_cells(group), &reference.cells, "cells")?;
        let GroupLists { cells, points, far, .. } = group;
        for (list, are) in [(cells, (false, false)), (points, (false, true)), (far, (true, true))] {
            let is_wrong = |&&cell: &&u32| {
                let far = reference.is_expanded(cell);
                let wrong_kind = far == Some(!are.0);
                wrong_kind || (!are.0 && reference.is_point(cell) == Some(!are.1))
            };
            if let Some(cell) = list.iter().find(is_wrong) {
                return Err(format!("cell {cell} is on the wrong list"));
            }
        }
        once(&group.bodies, &reference.bodies, "bodies")?;
    }
    Ok(groups.len())
}

fn walked(places: &[PointMass], shape: TreeShape) -> (BuiltTree, Vec<GroupLists>) {
    let gpu = common::gpu();
    let bodies = upload_places(&gpu, places);
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, FIELD)).unwrap();
    evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let lists = pollster::block_on(forces.lists(&gpu)).unwrap();
    (BuiltTree::read(&gpu, &forces).unwrap(), lists)
}

#[test]
fn interaction_lists_equal_reference_walk() {
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
        // The comparison detects faults.
        let assert_detected = |change: &dyn Fn(&mut GroupLists)| {
            let mut other = lists.clone();
            change(&mut other[7]);
            assert!(compare(&tree, shape, &other).is_err());
        };
        assert_detected(&|group| group.bodies.truncate(group.bodies.len() - 1));
        assert_detected(&|group| group.bodies.push(group.bodies[0]));
        assert_detected(&|group| group.cells[0] += 1);
        assert_detected(&|group| group.points.push(group.cells.pop().unwrap()));
        assert_detected(&|group| group.far.push(group.cells.pop().unwrap()));
        let far: usize = lists.iter().map(|group| group.far.len()).sum();
        assert_eq!(far > 0, opening.needs_accelerations(), "{far} far cells");
        assert_detected(&|group| group.cells.truncate(group.cells.len() - 1));
    }
}

#[test]
fn interaction_lists_of_hard_cases_equal_reference_walk() {
    let shape = TreeShape::new(Opening::Acceleration { alpha: 0.003 }, MultipoleOrder::Quadrupole);
    // With 20,000 bodies the lists of all groups are too long to read back.
    for (name, places) in hard_cases().into_iter().filter(|(_, places)| places.len() < 4000) {
        let (tree, lists) = walked(&places, shape);
        compare(&tree, shape, &lists).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}

#[test]
fn probe_counts_the_interaction_lists() {
    let (gpu, n) = (common::gpu(), 3000);
    for opening in [Opening::Octgrav { theta: 0.5 }, Opening::Acceleration { alpha: 0.003 }] {
        probe_counts(&gpu, n, opening);
    }
}

fn probe_counts(gpu: &Arc<Gpu>, n: usize, opening: Opening) {
    let shape = TreeShape::new(opening, MultipoleOrder::Quadrupole);
    let bodies = upload_places(gpu, &plummer(n, 17));
    let mut forces = pollster::block_on(TreeForces::new(gpu, shape, &bodies, FIELD)).unwrap();
    evaluate_blocking(&mut forces, gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let lists = pollster::block_on(forces.lists(gpu)).unwrap();
    // Groups of 64 bodies come first, the last of which may be partial; then groups of one body.
    let inside = BuiltTree::read(gpu, &forces).unwrap().state.inside as usize;
    let sinks = |group: usize| if 64 * group < inside { 64.min(inside - 64 * group) } else { 1 };
    let total = |list: &dyn Fn(&GroupLists) -> usize| -> u64 {
        lists.iter().enumerate().map(|(k, group)| (sinks(k) * list(group)) as u64).sum()
    };
    let cells = total(&|group| group.cells.len());
    let met = total(&|group| group.points.len() + group.bodies.len());
    for (few_bodies, few_cells) in
        [(TileWork::All, TileWork::All), (TileWork::OneTurn, TileWork::OneTurn)]
    {
        let probe = pollster::block_on(forces.probe(gpu, few_bodies, few_cells));
        let (mut probe, mut begin) = (probe.unwrap(), Some(0));
        while let Some(from) = begin {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                begin = forces.record_probe(gpu, &mut pass, &mut probe, from, 1 << 20);
            }
            gpu.queue.submit([encoder.finish()]);
        }
        let counts = pollster::block_on(forces.probed(gpu)).unwrap();
        assert_eq!((counts.cell_interactions, counts.body_interactions), (cells, met));
        assert_eq!(counts.groups, lists.len() as u64);
        let far: usize = lists.iter().map(|group| group.far.len()).sum();
        assert_eq!(counts.far_cells, far as u64);
        let tiles = |size: usize, list: &dyn Fn(&GroupLists) -> usize| -> u64 {
            lists.iter().map(|group| list(group).div_ceil(size) as u64).sum()
        };
        let bodies = tiles(64, &|group| group.points.len() + group.bodies.len());
        assert_eq!(counts.tiles, [bodies, tiles(32, &|group| group.cells.len())]);
        // A turn tests up to 64 cells.
        assert!(counts.turns >= counts.looked_at.div_ceil(64) && counts.turns < counts.looked_at);
        let accepted: usize = lists.iter().map(|group| all_cells(group).len()).sum();
        assert!(counts.looked_at > accepted as u64);
    }
}
