//! One force evaluation: a frame, a tree over the sources, groups of sinks, and their interaction
//! lists.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;
use rayon::prelude::*;

use super::super::CellMoments;
use super::super::domains::{graft::Grafted, select::SinkBox};
use super::super::far::Expansion;
use super::super::{CellForce, Cells, GROUP, MultipoleOrder, Opening, PointMass, Tree, TreeConfig};
use super::SinkForce;
use super::groups::{Groups, Logarithms};
use super::kernel::{GroupSums, SinkBlock};
use super::loops::{self, TreeLoops};
use super::walk::{InteractionLists, Opened};
use crate::error::Result;
use crate::forces::direct::cpu::{InstructionSet, at_own_source, same_places, softening_squared};
use crate::forces::{Forces, Identity, Outputs, Sinks, Sources};
use crate::frame::Frame;
use crate::settings::Rebuild;
use crate::stop;

/// Index that means no source.
const NONE: u32 = u32::MAX;

/// Groups whose sums are stored, 32 bytes for each sink, before they go to the caller's arrays:
/// 262,144 sinks, enough for the cores of a large machine.
const STORED: usize = 4096;

/// Sinks per group whose accelerations [`TreeCall::estimate`] computes.
const SAMPLED: usize = 4;

/// The rule for these estimates. Their rms error of some percent changes the opening criterion by
/// as much.
const COARSE: TreeConfig = TreeConfig {
    opening: Opening::Radius { theta: 1.0 },
    moments: MultipoleOrder::Monopole,
    far: false,
    rebuild: Rebuild::EACH_STEP,
};

/// The tree and the sinks, from which forces by any rule can be computed.
pub(super) struct TreeCall {
    frame: Frame,
    loops: &'static TreeLoops,
    softening_squared: f32,
    tree: Tree,
    groups: Groups,
    /// The bodies outside the cube, in the tree's order: first and number.
    outside: (u32, u32),
    /// See [`Grafted::absent`].
    absent: Option<u32>,
    /// For each sink, in the groups' order, the index of its source along the curve, or [`NONE`];
    /// left out if that is the sink's own index.
    own: Option<Vec<u32>>,
    /// Whether sinks' pairs with themselves add nothing to accelerations.
    at_own_source: bool,
    /// Sinks without a finite position.
    lost: Vec<u32>,
}

/// A tree over bodies with the groups of the same bodies, for reuse.
pub(super) type Reusable = (Tree, Groups);

/// The result of one group's walk.
#[derive(Debug, Default)]
pub(super) struct OfGroup {
    /// One per sink.
    pub sums: Vec<SinkForce>,
    /// Number of interactions.
    pub interactions: u64,
    /// Number of cells that the walk had to open but whose contents this rank has not received.
    pub missing: u32,
}

/// Parameters shared by all groups of an evaluation.
struct EvaluationRule {
    opened: Opened,
    forces: Vec<CellForce>,
    config: TreeConfig,
    potential: bool,
    excludes: bool,
}

impl TreeCall {
    /// Builds a tree, or reuses `stored`, built over the same bodies at earlier positions, if they
    /// are also the sinks.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`].
    pub fn new(
        kernel: InstructionSet,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        stored: Option<Reusable>,
    ) -> Result<Self> {
        let same = are_the_same(sinks, sources);
        // The frame's origin and units follow from the finite positions alone.
        let (at, from) = (finite(sinks.position), finite(sources.position));
        let frame = Frame::of_call(&at, &from, sources.mass, softening);
        frame.check_reach(&from)?;
        let place = |(&position, &mass): (&DVec3, &f64)| -> PointMass {
            let [x, y, z] = frame.position(position);
            [x, y, z, (mass / frame.mass) as f32]
        };
        let places: Vec<PointMass> =
            sources.position.par_iter().zip(sources.mass).map(place).collect();
        let (mut tree, groups) = match stored.filter(|_| same) {
            Some((mut tree, mut groups)) => {
                tree.refit(&places);
                groups.refit(&tree);
                (tree, groups)
            }
            None => {
                // Each stage takes a tenth of a second or more for a million bodies. An evaluation
                // with a reused tree is not interrupted here.
                stop::check()?;
                // On one of the pool's threads, which wakes the others more cheaply than this one.
                let tree = rayon::scope(|_| Tree::new(places));
                stop::check()?;
                let groups = match same {
                    true => Groups::of_tree(&tree),
                    false => {
                        let places = sinks.position.par_iter().map(|x| place((x, &0.0)));
                        Groups::new(&tree, &places.collect::<Vec<_>>())
                    }
                };
                (tree, groups)
            }
        };
        // Needed for making groups only; frees 8 bytes per body.
        tree.keys = Vec::new();
        let own = (!same).then(|| own_places(&tree, &groups, sinks));
        let lost = match at.len() == sinks.position.len() {
            true => Vec::new(),
            false => {
                let all = 0..sinks.position.len() as u32;
                all.filter(|&i| !sinks.position[i as usize].is_finite()).collect()
            }
        };
        let (inside, all) = (tree.inside as u32, tree.sorted.len() as u32);
        Ok(Self {
            softening_squared: softening_squared(&frame, softening),
            loops: loops::of(kernel),
            frame,
            tree,
            groups,
            outside: (inside, all - inside),
            absent: None,
            own,
            at_own_source: same || at_own_source(sinks, sources),
            lost,
        })
    }

    /// A call for sinks `sorted` along the curve, of which each range in `ranges` walks together.
    /// The cells are set by [`TreeCall::walk_over`]; `own` are the sinks' indices among the bodies
    /// of these.
    pub fn over(
        kernel: InstructionSet,
        (frame, softening): (Frame, f64),
        (own, sorted, ranges): (Vec<u32>, Vec<PointMass>, Vec<Range<usize>>),
    ) -> Self {
        let order = Arc::new((0..sorted.len() as u32).collect());
        Self {
            softening_squared: softening_squared(&frame, softening),
            loops: loops::of(kernel),
            frame,
            tree: Tree::default(),
            own: Some(own),
            groups: Groups { order, sorted: Arc::new(sorted), ranges },
            outside: (0, 0),
            absent: None,
            at_own_source: true,
            lost: Vec::new(),
        }
    }

    /// Sets the cells to walk. Their list of bodies begins with the `inside` sinks in the cube,
    /// followed by the `outside` bodies.
    pub fn walk_over(&mut self, cells: Grafted<CellMoments>, (inside, outside): (usize, usize)) {
        let Grafted { cells, moments, bodies, absent, .. } = cells;
        self.tree.cells.cells = cells;
        self.tree.moments = moments;
        self.tree.sorted = Arc::new(bodies);
        self.outside = (inside as u32, outside as u32);
        self.absent = Some(absent);
    }

    /// Number of sinks of each group, and the box around them.
    pub fn boxes(
        &self,
        config: &TreeConfig,
        sizes: &[f64],
        mean: &Logarithms,
    ) -> Vec<(usize, SinkBox)> {
        let least = self.least(config, sizes, mean);
        let of_group = |(range, least): (&Range<usize>, f64)| {
            let reach = self.groups.block(range.clone()).reach(config, least);
            (range.len(), reach.sink_box())
        };
        self.groups.ranges.par_iter().zip(least).map(of_group).collect()
    }

    /// The squared softening in the frame's units, at least the minimum that the kernels need.
    pub fn softening_squared(&self) -> f32 {
        self.softening_squared
    }

    /// The tree and its groups, for another evaluation.
    pub fn into_reusable(self) -> Reusable {
        (self.tree, self.groups)
    }

    /// The least of the sinks' known accelerations in each group, for rules that need them.
    pub fn least_of(&self, acceleration: &[DVec3]) -> Vec<f64> {
        let sizes = self.sizes(acceleration);
        self.groups.least_accelerations(&sizes, &Logarithms::of(&sizes))
    }

    /// The magnitudes of the sinks' accelerations in the frame's units, in the order of the groups.
    pub fn sizes(&self, acceleration: &[DVec3]) -> Vec<f64> {
        self.groups.sizes(acceleration, self.frame.acceleration_unit())
    }

    /// Estimates the least acceleration in each group from [`SAMPLED`] of its sinks; also returns
    /// the number of interactions. Leaves attract as points at their centres of mass, and a sink's
    /// own leaf not at all: estimates that are too small for that reason only cost time.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`].
    pub fn estimate(&mut self) -> Result<(Vec<f64>, u64)> {
        let every = |range: &Range<usize>| {
            let (start, count) = (range.start, range.len());
            let samples = SAMPLED.min(count);
            (0..samples).map(move |k| start + (2 * k + 1) * count / (2 * samples))
        };
        let sampled: Vec<usize> = self.groups.ranges.iter().flat_map(every).collect();
        let n = sampled.len();
        let is_inside = |sink: &usize| self.tree.cube.holds(&self.groups.sorted[*sink]);
        let inside = sampled.partition_point(is_inside);
        let outside = (inside..n).map(|k| k..k + 1);
        let ranges = (0..inside).step_by(GROUP).map(|k| k..(k + GROUP).min(inside));
        let groups = Groups {
            order: Arc::new((0..n as u32).collect()),
            sorted: Arc::new(sampled.iter().map(|&sink| self.groups.sorted[sink]).collect()),
            ranges: ranges.chain(outside).collect(),
        };
        let (mut cells, mut points) = (self.tree.cells.cells.clone(), Vec::new());
        // For each body the index of its leaf's point.
        let mut point_of = vec![NONE; self.outside.0 as usize];
        let leaves = cells.iter_mut().zip(&self.tree.moments).filter(|(cell, _)| cell.is_leaf());
        for (leaf, moment) in leaves {
            let point = points.len() as u32;
            point_of[leaf.first as usize..][..leaf.count as usize].fill(point);
            (leaf.first, leaf.count) = (point, 1);
            let [x, y, z] = moment.centre_f32();
            points.push([x, y, z, moment.mass as f32]);
        }
        let first = points.len() as u32;
        let (inside, along) = (self.outside.0, self.tree.sorted.len() as u32);
        points.extend_from_slice(&self.tree.sorted[inside as usize..]);
        point_of.extend((first..).take((along - inside) as usize));
        let own = |&sink: &usize| {
            let own = self.own.as_ref().map_or(sink as u32, |own| own[sink]);
            point_of.get(own as usize).copied().unwrap_or(NONE)
        };
        let own = Some(sampled.iter().map(own).collect());
        let mut rough = Self {
            tree: Tree {
                cells: Cells { cells, levels: Vec::new() },
                moments: std::mem::take(&mut self.tree.moments),
                sorted: Arc::new(points),
                ..Tree::default()
            },
            groups,
            outside: (first, self.outside.1),
            own,
            at_own_source: false,
            lost: Vec::new(),
            ..*self
        };
        let mut found = Forces::default();
        found.resize(n, &Outputs::ACCELERATION);
        let evaluated = rough.evaluate(&COARSE, &[], false, &mut found);
        self.tree.moments = std::mem::take(&mut rough.tree.moments);
        let sizes = rough.sizes(&found.acceleration);
        let mut sizes = sizes.as_slice();
        let least = self.groups.ranges.iter().map(|range| {
            let (own, rest) = sizes.split_at(SAMPLED.min(range.len()));
            sizes = rest;
            own.iter().copied().fold(f64::INFINITY, f64::min)
        });
        Ok((self.groups.floored(least.collect()), evaluated?))
    }

    /// Computes `out` by this rule and returns the number of interactions. `least` are the groups'
    /// least accelerations, if the rule needs them.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`].
    pub fn evaluate(
        &self,
        config: &TreeConfig,
        least: &[f64],
        potential: bool,
        out: &mut Forces,
    ) -> Result<u64> {
        let rule = self.rule(config, potential);
        let none = vec![0.0; if least.is_empty() { self.groups.ranges.len() } else { 0 }];
        let least = if least.is_empty() { &none[..] } else { least };
        let mut order = self.groups.order.iter();
        let mut interactions = 0;
        for (ranges, least) in self.groups.ranges.chunks(STORED).zip(least.chunks(STORED)) {
            for group in self.of_groups(ranges, least, &rule)? {
                interactions += group.interactions;
                for (sum, &sink) in group.sums.iter().zip(order.by_ref()) {
                    out.acceleration[sink as usize] = sum.acceleration;
                    if potential {
                        out.potential[sink as usize] = sum.potential;
                    }
                }
            }
        }
        for &sink in &self.lost {
            out.acceleration[sink as usize] = DVec3::NAN;
            if potential {
                out.potential[sink as usize] = f64::NAN;
            }
        }
        Ok(interactions)
    }

    /// The least accelerations of the groups, whose sinks have these `sizes` of accelerations.
    fn least(&self, config: &TreeConfig, sizes: &[f64], mean: &Logarithms) -> Vec<f64> {
        match config.opening.needs_accelerations() {
            true => self.groups.least_accelerations(sizes, mean),
            false => vec![0.0; self.groups.ranges.len()],
        }
    }

    /// The sums of all groups by this rule, whose sinks have these `sizes` of accelerations.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`].
    pub fn sums(
        &self,
        config: &TreeConfig,
        sizes: &[f64],
        mean: &Logarithms,
        potential: bool,
    ) -> Result<Vec<OfGroup>> {
        let least = self.least(config, sizes, mean);
        self.of_groups(&self.groups.ranges, &least, &self.rule(config, potential))
    }

    /// The parameters that all groups share.
    fn rule(&self, config: &TreeConfig, potential: bool) -> EvaluationRule {
        let (opening, order) = (config.walked(), config.moments);
        let (cells, moments) = (&self.tree.cells.cells, &self.tree.moments);
        let eps2 = self.softening_squared;
        EvaluationRule {
            opened: Opened::new(cells, moments, self.absent, &opening, order, eps2),
            forces: moments.par_iter().map(CellForce::of).collect(),
            config: *config,
            potential,
            excludes: potential || !self.at_own_source,
        }
    }

    /// The sums of these groups, whose least accelerations are known.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`].
    fn of_groups(
        &self,
        ranges: &[Range<usize>],
        least: &[f64],
        rule: &EvaluationRule,
    ) -> Result<Vec<OfGroup>> {
        let stop_token = stop::of_caller();
        let found: Vec<OfGroup> = ranges
            .par_iter()
            .zip(least)
            .map_init(InteractionLists::default, |lists, (range, &least)| {
                if stop_token.is_requested() {
                    return OfGroup::default();
                }
                self.group(range.clone(), least, rule, lists)
            })
            .collect();
        stop_token.check()?;
        Ok(found)
    }

    /// One group: its walk and its sums.
    fn group(
        &self,
        range: Range<usize>,
        least: f64,
        rule: &EvaluationRule,
        lists: &mut InteractionLists,
    ) -> OfGroup {
        let mut block = self.groups.block(range.clone());
        // SAFETY of all calls below: unavailable kernels cannot be constructed.
        let mut reach = block.reach(&rule.config, least);
        if rule.potential {
            // Potentials have errors of a few 10^-5, which omitted quadrupoles would exceed.
            reach.near.allowance = 0.0;
        }
        unsafe { (self.loops.walk)(&rule.opened, &reach, lists) };
        if self.outside.1 > 0 {
            lists.runs.push(self.outside);
        }
        let own = |k: usize| match &self.own {
            Some(own) => own[range.start + k],
            None => (range.start + k) as u32,
        };
        let missed = match rule.excludes {
            true => find_own(&mut block, &own, &lists.runs),
            false => Vec::new(),
        };
        let mut sums = GroupSums::ZERO;
        let (loops, eps2) = (self.loops, self.softening_squared);
        let bodies = match (rule.potential, rule.excludes) {
            (true, _) => loops.bodies_potential,
            (false, true) => loops.bodies_excluding,
            (false, false) => loops.bodies,
        };
        let cells = match (rule.config.moments, rule.potential) {
            (MultipoleOrder::Monopole, false) => loops.monopoles,
            (MultipoleOrder::Monopole, true) => loops.monopoles_potential,
            (MultipoleOrder::Quadrupole, false) => loops.quadrupoles,
            (MultipoleOrder::Quadrupole, true) => loops.quadrupoles_potential,
        };
        unsafe { cells(&lists.cells, &rule.forces, &block, &mut sums, eps2) };
        let guard = self.softening_squared <= softening_squared(&self.frame, 0.0);
        // Runs are concatenated, so that all tiles but the last are full.
        lists.places.clear();
        for &(first, count) in &lists.runs {
            lists.places.extend_from_slice(&self.tree.sorted[first as usize..][..count as usize]);
        }
        lists.places.extend(lists.points.iter().map(|&number| {
            let CellForce { centre: [x, y, z], mass, .. } = rule.forces[number as usize];
            [x, y, z, mass]
        }));
        unsafe { bodies(&lists.places, &block, &mut sums, eps2, guard) };
        if !lists.far.is_empty() {
            let mut expansion = Expansion::new(&reach.near);
            unsafe { (loops.expand)(&lists.far, &rule.forces, eps2, &mut expansion) };
            unsafe { (loops.add)(&mut sums, &expansion, &block) };
        }
        for k in missed {
            self.take_off(&mut sums, &block, k, &self.tree.sorted[own(k) as usize]);
        }
        let units = (self.frame.acceleration_unit(), self.frame.potential_unit());
        let [x, y, z] = &sums.acceleration;
        let gathered = |k: usize| SinkForce {
            acceleration: DVec3::new(x[k], y[k], z[k]) * units.0,
            potential: sums.potential[k] * units.1,
        };
        let interactions =
            (lists.cells.len() + lists.far.len() + lists.places.len()) as u64 * block.count as u64;
        let sums = (0..block.count).map(gathered).collect();
        OfGroup { sums, interactions, missing: lists.missing }
    }

    /// Subtracts what a sink's own source contributes as part of a cell.
    fn take_off(&self, sums: &mut GroupSums, block: &SinkBlock, k: usize, source: &PointMass) {
        let d = DVec3::from_array(std::array::from_fn(|axis| {
            f64::from(source[axis]) - f64::from(block.position[axis][k])
        }));
        let inverse = (d.length_squared() + f64::from(self.softening_squared)).sqrt().recip();
        let pull = f64::from(source[3]) * inverse * inverse * inverse;
        for (lanes, d) in sums.acceleration.iter_mut().zip(d.to_array()) {
            lanes[k] -= pull * d;
        }
        sums.potential[k] += f64::from(source[3]) * inverse;
    }
}

/// Whether the sinks are the sources, in the same order.
pub(super) fn are_the_same(sinks: &Sinks, sources: &Sources) -> bool {
    sinks.identity == Identity::Offset(0) && same_places(sinks, sources)
}

/// The finite positions; usually all, without a copy.
pub(super) fn finite(position: &[DVec3]) -> Cow<'_, [DVec3]> {
    match position.par_iter().all(|x| x.is_finite()) {
        true => Cow::Borrowed(position),
        false => Cow::Owned(position.iter().copied().filter(|x| x.is_finite()).collect()),
    }
}

/// The index along the curve of each sink's own source.
fn own_places(tree: &Tree, groups: &Groups, sinks: &Sinks) -> Vec<u32> {
    let mut place = vec![NONE; tree.order.len()];
    for (along, &source) in (0..).zip(tree.order.iter()) {
        place[source as usize] = along;
    }
    let of_sink = |&i: &u32| {
        let source = sinks.identity.of(i as usize);
        source.and_then(|j| place.get(j).copied()).unwrap_or(NONE)
    };
    groups.order.iter().map(of_sink).collect()
}

/// Sets for each sink its own index in the list of bodies. Returns the sinks that are sources but
/// are not in the list: their source is in a cell that acts as a whole, which happens only to sinks
/// away from their sources, or in one without mass.
fn find_own(block: &mut SinkBlock, own: &impl Fn(usize) -> u32, runs: &[(u32, u32)]) -> Vec<usize> {
    let mut missed: Vec<usize> = (0..block.count).filter(|&k| own(k) != NONE).collect();
    let mut sorted: Vec<(u32, usize)> = missed.iter().map(|&k| (own(k), k)).collect();
    sorted.sort_unstable();
    let mut index = 0;
    for &(first, count) in runs {
        let begin = sorted.partition_point(|(own, _)| *own < first);
        for &(own, k) in sorted[begin..].iter().take_while(|(own, _)| own - first < count) {
            block.own[k] = (index + own - first) as f32;
        }
        index += count;
    }
    missed.retain(|&k| block.own[k] < 0.0);
    missed
}
