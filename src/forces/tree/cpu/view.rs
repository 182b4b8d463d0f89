//! A tree for inspection: its cells, and the interaction list of the group of one body.

use std::borrow::Cow;

use glam::DVec3;
use rayon::prelude::*;

use super::super::{CellBox, CellRecord, MultipoleOrder, NO_PARENT, PointMass, Tree, TreeConfig};
use super::call::finite;
use super::groups::{Groups, Logarithms};
use super::walk::{InteractionLists, Opened, walk};
use crate::forces::direct::cpu::softening_squared;
use crate::frame::Frame;

/// The tree over the bodies at one time as the CPU engine builds it, for inspection.
#[derive(Debug)]
pub struct TreeView {
    frame: Frame,
    softening_squared: f32,
    tree: Tree,
    groups: Groups,
}

/// The interaction list of one group, found by one walk for all of its bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupWalk {
    /// Indices of the group's bodies, 64 or fewer.
    pub members: Vec<u32>,
    /// Cells that act as a whole, some of them as points, by their numbers in [`TreeView::boxes`].
    pub cells: Vec<u32>,
    /// Cells that act on all of them by an expansion, by their numbers there.
    pub far: Vec<u32>,
    /// Indices of bodies that act individually: those of opened leaves and those outside the cube,
    /// including the group's own.
    pub bodies: Vec<u32>,
    /// Counts per level, the root's first.
    pub levels: Vec<LevelWalk>,
}

/// Counts of a walk on one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelWalk {
    /// Cells that were tested.
    pub tested: u32,
    /// Tested cells that act as a whole.
    pub accepted: u32,
    /// Tested cells whose bodies act individually.
    pub leaves: u32,
}

impl GroupWalk {
    /// Number of cells tested on all levels.
    pub fn tests(&self) -> u32 {
        self.levels.iter().map(|level| level.tested).sum()
    }
}

impl TreeView {
    /// The tree over bodies at `position` with `gravitating_mass` G m, one for each, and the
    /// `softening` of their forces.
    pub fn new(position: &[DVec3], gravitating_mass: &[f64], softening: f64) -> Self {
        let known: Cow<'_, [DVec3]> = finite(position);
        let frame = Frame::of_call(&known, &known, gravitating_mass, softening);
        let place = |(&position, &mass): (&DVec3, &f64)| -> PointMass {
            let [x, y, z] = frame.position(position);
            [x, y, z, (mass / frame.mass) as f32]
        };
        let places: Vec<PointMass> = position.par_iter().zip(gravitating_mass).map(place).collect();
        let tree = Tree::new(places);
        let softening_squared = softening_squared(&frame, softening);
        Self { frame, softening_squared, groups: Groups::of_tree(&tree), tree }
    }

    /// The frame of its boxes.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.tree.order.len()
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.tree.cells.len()
    }

    /// The start of each level among the cells, followed by the end of the last; empty without
    /// cells.
    pub fn levels(&self) -> &[u32] {
        &self.tree.cells.levels
    }

    /// The boxes around the bodies of the given range of cells, level by level, the root first.
    pub fn boxes(&self, cells: std::ops::Range<usize>) -> impl Iterator<Item = CellBox> + '_ {
        cells.map(|number| self.cell_box(number))
    }

    /// The box of one cell.
    pub fn cell_box(&self, number: usize) -> CellBox {
        let (cell, moment) = (&self.tree.cells.cells[number], &self.tree.moments[number]);
        // Boxes do not depend on the opening rule.
        let rule = (&TreeConfig::FIRST, MultipoleOrder::Monopole);
        CellRecord::of(cell, moment, rule.0, rule.1).bounds
    }

    /// The box around the sinks of a group as used in its walk: lower and upper corner.
    pub fn group_box(&self, walk: &GroupWalk) -> [[f32; 3]; 2] {
        let first = walk.members.first().map_or(0, |first| self.along(*first));
        let block = self.groups.block(first..first + walk.members.len().max(1));
        let reach = block.reach(&TreeConfig::default(), 0.0);
        [reach.lower, reach.upper]
    }

    /// The interaction list of the group of `body` if cells are opened by `config`. `acceleration`
    /// has those of the last step, one per body; if it is empty and the rule needs them, cells are
    /// opened as for a first force. `None` if there is no such body.
    pub fn walk(
        &self,
        body: usize,
        config: &TreeConfig,
        acceleration: &[DVec3],
    ) -> Option<GroupWalk> {
        if body >= self.bodies() {
            return None;
        }
        let along = self.along(body as u32);
        let mut ranges = self.groups.ranges.iter().enumerate();
        let (number, range) = ranges.find(|(_, range)| range.contains(&along))?;
        let by_angle = TreeConfig { opening: TreeConfig::FIRST, ..*config };
        let (config, least) = match config.opening.needs_accelerations() {
            true if acceleration.len() == self.bodies() => {
                let sizes = self.groups.sizes(acceleration, self.frame.acceleration_unit());
                let mean = Logarithms::of(&sizes);
                (config, self.groups.least_accelerations(&sizes, &mean)[number])
            }
            true => (&by_angle, 0.0),
            false => (config, 0.0),
        };
        let reach = self.groups.block(range.clone()).reach(config, least);
        let mut lists = InteractionLists::default();
        let (cells, moments) = (&self.tree.cells.cells, &self.tree.moments);
        let (rule, eps2) = (config.walked(), self.softening_squared);
        let opened = Opened::new(cells, moments, None, &rule, config.moments, eps2);
        walk(&opened, &reach, &mut lists);
        Some(self.group_walk(range.clone(), &lists))
    }

    /// Index along the curve of the body with this number.
    fn along(&self, body: u32) -> usize {
        self.tree.order.iter().position(|&other| other == body).unwrap_or(0)
    }

    fn group_walk(&self, range: std::ops::Range<usize>, lists: &InteractionLists) -> GroupWalk {
        let Tree { order, inside, cells, .. } = &self.tree;
        let mut levels = vec![LevelWalk::default(); cells.levels.len().saturating_sub(1)];
        let mut is_opened = vec![false; cells.len()];
        let leaf_of_run: std::collections::HashMap<u32, usize> = (0..cells.len())
            .filter(|&number| cells.cells[number].is_leaf())
            .map(|number| (cells.cells[number].first, number))
            .collect();
        let leaves = lists.runs.iter().filter_map(|(first, _)| leaf_of_run.get(first).copied());
        let near = [&lists.cells[..], &lists.points].concat();
        let accepted = near.iter().chain(&lists.far).map(|&number| number as usize);
        for number in leaves.clone() {
            levels[cells.cells[number].level as usize].leaves += 1;
        }
        for number in accepted.clone() {
            levels[cells.cells[number].level as usize].accepted += 1;
        }
        // Everything that acts was tested because its parent was opened.
        for number in accepted.chain(leaves) {
            let mut parent = cells.cells[number].parent;
            while parent != NO_PARENT && !std::mem::replace(&mut is_opened[parent as usize], true) {
                parent = cells.cells[parent as usize].parent;
            }
        }
        if let Some(root) = levels.first_mut() {
            root.tested = 1;
        }
        for (cell, _) in cells.cells.iter().zip(&is_opened).filter(|(_, is_opened)| **is_opened) {
            levels[cell.level as usize + 1].tested += cell.children;
        }
        let runs =
            lists.runs.iter().map(|&(first, count)| first as usize..(first + count) as usize);
        let bodies = runs.flatten().chain(*inside..order.len()).map(|along| order[along]).collect();
        GroupWalk {
            members: order[range].to_vec(),
            far: lists.far.clone(),
            cells: near,
            bodies,
            levels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::Identity;
    use crate::forces::direct::CpuDouble;
    use crate::forces::tree::Opening;
    use crate::forces::{ForceEngine, Forces, Outputs, Sinks, Sources};
    use crate::scene::Scene;

    fn plummer(n: usize) -> crate::bodies::Bodies {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(n).unwrap();
        scene.build().unwrap()
    }

    #[test]
    fn each_body_acts_once_and_tests_are_counted() {
        let mut bodies = plummer(12_000);
        // One body outside the cube.
        bodies.position[17] = DVec3::splat(1e7);
        let view = TreeView::new(&bodies.position, &bodies.mass, 0.01);
        let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
        let mut found = Forces::default();
        let sources = Sources::new(&bodies.position, &bodies.mass);
        let mut engine = CpuDouble::new();
        engine.evaluate_from(&sources, &sinks, 0.01, &Outputs::ACCELERATION, &mut found).unwrap();
        for config in [
            TreeConfig::default(),
            TreeConfig { opening: Opening::Octgrav { theta: 0.7 }, ..TreeConfig::default() },
            TreeConfig {
                opening: TreeConfig::FIRST,
                moments: MultipoleOrder::Monopole,
                ..TreeConfig::default()
            },
        ] {
            for body in [0, 5000, 17, 11_999] {
                let walk = view.walk(body, &config, &found.acceleration).unwrap();
                assert!(walk.members.contains(&(body as u32)));
                assert!(walk.members.len() <= super::super::super::GROUP);
                let mut times = vec![0u32; bodies.len()];
                walk.bodies.iter().for_each(|&body| times[body as usize] += 1);
                for &number in walk.cells.iter().chain(&walk.far) {
                    let cell = &view.tree.cells.cells[number as usize];
                    let run = cell.first as usize..(cell.first + cell.count) as usize;
                    view.tree.order[run].iter().for_each(|&body| times[body as usize] += 1);
                }
                assert!(times.iter().all(|&times| times == 1), "{config}: body {body}");
                assert!(walk.members.iter().all(|member| walk.bodies.contains(member)));
                let sum = |of: fn(&LevelWalk) -> u32| walk.levels.iter().map(of).sum::<u32>();
                let accepted = sum(|level| level.accepted) as usize;
                assert_eq!(accepted, walk.cells.len() + walk.far.len());
                // A tested cell acts, or is opened and its children are tested.
                let opened = sum(|l| l.tested) - sum(|l| l.accepted) - sum(|l| l.leaves);
                // For a body outside the cube the root acts as a whole.
                assert_eq!(opened == 0, body == 17, "{walk:?}");
                for pair in walk.levels.windows(2) {
                    let opened = pair[0].tested - pair[0].accepted - pair[0].leaves;
                    assert!(pair[1].tested <= 8 * opened && pair[1].tested >= opened);
                }
            }
        }
        assert!(view.walk(12_000, &TreeConfig::default(), &found.acceleration).is_none());
    }

    #[test]
    fn finer_rule_accepts_smaller_cells_and_boxes_contain_bodies() {
        let bodies = plummer(8000);
        let view = TreeView::new(&bodies.position, &bodies.mass, 0.01);
        let tests = |theta| {
            let opening = Opening::Radius { theta };
            view.walk(3, &TreeConfig { opening, ..TreeConfig::default() }, &[]).unwrap().tests()
        };
        assert!(tests(0.9) < tests(0.6) && tests(0.6) < tests(0.3));
        let all: Vec<CellBox> = view.boxes(0..view.cells()).collect();
        assert_eq!((all.len(), all[0].level), (view.cells(), 0));
        for position in &bodies.position {
            let x = view.frame().position(*position);
            let holds = |b: &CellBox| (0..3).all(|k| b.lower[k] <= x[k] && x[k] <= b.upper[k]);
            assert!(holds(&all[0]));
            assert!(all.iter().rev().any(|b| b.level > 0 && holds(b)));
        }
        // No bodies, and bodies without mass.
        assert_eq!(TreeView::new(&[], &[], 0.0).cells(), 0);
        let light = TreeView::new(&bodies.position, &vec![0.0; 8000], 0.0);
        let walk = light.walk(1, &TreeConfig::default(), &[]).unwrap();
        assert_eq!((walk.cells.len(), walk.bodies.len()), (0, 0));
    }
}
