//! One tree over the bodies of several devices, each of which has a part of the curve: the construction of
//! `forces/tree/domains/`, with the kernels of one device.
//!
//! A walk reads records of cells, bodies, and nothing else, in an order that does not depend on
//! their numbers. So it is the same kernel, and forces have the bits of one device. The arrays are
//!
//! ```text
//! cells    common to all ranks | own | received | the absent one
//! bodies   own, in the order of the curve | outside the cube | of common leaves | received | the absent one
//! ```
//!
//! An evaluation:
//!
//! 1. the cube, from the distances of all bodies; bodies that have left their part go to its rank
//!    (`bodies.rs`);
//! 2. keys and sort; the cuts go to whole groups, and each rank has the keys next to its part
//!    (`order.rs`);
//! 3. cells and moments; the common cells from their children (`top.rs`);
//! 4. groups; those around which there may be bodies of other ranks ask (`groups.rs`);
//! 5. each rank is sent the cells and bodies that its groups open (`sent.rs`), walks, and shares in
//!    the correction of the total force (`walks.rs`).
//!
//! The host waits for the device in 1, 2, once in 3 and 4 together, and in 5 for the choice of cells
//! and the walk. Some of it assumes what was true the last time (the cube, the size of leaves, the unit
//! of sums, the mean acceleration), and is made again if it is not.
//!
//! The absent cell and body make forces that are not finite. If any are found, the walk is repeated
//! with more cells, at last with all; so the result never depends on the choice.

mod bodies;
mod groups;
mod io;
mod order;
mod sent;
mod top;
mod walks;

use std::sync::Arc;

use self::bodies::Migration;
pub use self::bodies::{PartBodies, Placed};
use self::groups::Crowds;
use self::io::{Io, PartResources};
use self::order::Ordering;
use self::sent::Sending;
use self::top::Common;
use self::walks::{Grouping, ListedGroups, PartWork, Walked};
use super::balance::BalanceKernels;
use super::buffers::TALLY;
use super::build::PARAMS_ROWS;
use super::forces::MOST_PIECES;
use super::walk::WalkOutput;
use super::{
    Build, Field, ReceivedRoom, Strengths, TreeBuffers, TreeResources, TreeShape, Walk, WalkVariant,
};
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member};
use crate::forces::tree::domains::cut::{Sample, cuts};
use crate::forces::tree::{Cube, Key, LEAF, LEVELS, PointMass, key};
use crate::forces::tree::{Opening, TreeConfig};
use crate::gpu::layout::{TreeParams, TreeState};
use crate::gpu::{BoundKernel, Gpu, Params, storage};

/// Factors on squared distances in the choice of cells that are sent: at first one that covers
/// rounding; in turn if a walk has missed a cell. The last sends all cells.
const MARGINS: &[f32] = &[1.0 - 1e-5, 0.8, 0.0];

/// The curve is cut anew if a part costs more than this times the mean: a cut moves bodies, which
/// takes as long as some steps.
const UNEVEN: f32 = 1.1;

/// Walks after a cut before the next one. A part's cost is the least time of so many walks: others on
/// the machine hold up some of them, up to ten times as long.
const WALKS: usize = 8;

/// The most that a body may cost in one part as a multiple of the mean, for the cuts: no part has
/// more than this times the mean number of bodies.
const MOST_UNEQUAL: f32 = 1.2;

/// Longer walks can be stopped: their groups are submitted so that each submission takes about
/// `SUBMISSION_SECS`, the first few ones less.
const LONG_WALK_SECS: f64 = 0.3;
const SUBMISSION_SECS: f64 = 0.1;
const FEW_GROUPS: u32 = 64;

/// The most parts: a submission has two rows of parameters for each, of [`MOST_PIECES`].
const MOST_PARTS: usize = MOST_PIECES / 2;

/// Rows of parameters of a submission besides those and the build's.
const OTHER_ROWS: usize = 4;

/// Groups that walk in one submission.
const GROUPS_AT_ONCE: u32 = 16_384;

/// What makes an evaluation start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The partial sums are complete.
    Complete,
    /// A rank has no room. This one needs room for that many bodies, and that much for those of
    /// others.
    NeedsRoom(u32, ReceivedRoom),
}

/// A walk and the choice of cells for it.
struct RuleKernels {
    walk: Walk,
    select: sent::Select,
    floor: Option<BoundKernel>,
}

/// Forces by one configuration.
struct ConfiguredForces {
    build: Build,
    rule: RuleKernels,
    first: Option<RuleKernels>,
    balance: Option<BalanceKernels>,
}

/// A part of a tree on a device.
pub struct PartTree {
    field: Field,
    shape: TreeShape,
    /// For accelerations; for energies, bound on the first request.
    forces: ConfiguredForces,
    potential: Option<ConfiguredForces>,
    has_accelerations: bool,
    stages: Stages,
}

/// What all forces share.
struct Stages {
    io: Io,
    /// Number of bodies of all ranks.
    all: u32,
    room: ReceivedRoom,
    buffers: Arc<TreeBuffers>,
    partial_sums: wgpu::Buffer,
    migration: Migration,
    ordering: Ordering,
    common: Common,
    crowds: Crowds,
    sending: Sending,
    missing: BoundKernel,
    sample: BoundKernel,
    samples: wgpu::Buffer,
    /// As on the device.
    state: TreeState,
    /// Whether the evaluation is one of a step.
    counts_cost: bool,
    learnt: Learnt,
}

/// What a part keeps from one evaluation to the next, also in buffers with more room: all ranks must
/// decide alike whether the curve is cut.
struct Learnt {
    /// Positions of some bodies at the last forces.
    sampled: Vec<PointMass>,
    /// Seconds per body that the last walks took, the next of which replaces one of them.
    walks: Vec<f32>,
    next: usize,
    /// Where the curve is cut, and half the edge of the cube in which it was.
    cuts: Vec<Key>,
    cut_in: f32,
    /// Evaluations since then.
    since_cut: usize,
    /// Cells of this part at the last evaluation, and levels of them that have children; 0 before the
    /// first.
    cells: u32,
    levels: u32,
    /// The bits of the greatest force and mass of all ranks then, without their mantissas.
    greatest: [u32; 2],
    /// The leading bits of the sums of sizes of forces and of masses then.
    mean: [[u32; 2]; 2],
    /// Whether the curve is cut anew for all forces, for tests.
    cuts_always: bool,
    /// [`MARGINS`], or others in tests.
    margins: &'static [f32],
    report: PartReport,
}

/// What the evaluations of a part have come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartReport {
    /// How often forces were computed again because a walk had missed a cell.
    pub repeats: u64,
    /// Bodies in the part, and cells and bodies received, at the last evaluation.
    pub bodies: u32,
    /// See `bodies`.
    pub received: [u32; 2],
    /// Seconds that the last walk took on this device.
    pub walk_secs: f64,
    /// Seconds of the last evaluation, and those of them that were spent waiting for the device.
    pub secs: f64,
    /// See `secs`.
    pub device_secs: f64,
}

/// Bodies of a part whose positions choose the next cuts.
const SAMPLES: u32 = 1024;

/// How many levels of a part's cells there are above the deepest, given the state on the device.
fn levels_with_children(state: &[u32]) -> u32 {
    let state: TreeState = bytemuck::pod_read_unaligned(bytemuck::cast_slice(state));
    let end = state.base + state.cells;
    (state.levels.iter().filter(|first| **first < end).count() as u32).saturating_sub(1)
}

/// A little less than the least acceleration with which sinks count (`shaders/tree/least.wgsl`), given
/// the sum of the logarithms of all of `counted` bodies.
fn least_strength(logs: u64, counted: u32) -> f32 {
    let mean = logs as f64 / (64.0 * f64::from(counted.max(1))) - 128.0;
    (0.001 * mean.exp2() * (1.0 - 1e-4)) as f32
}

/// Words of the tally (`shaders/tree/common.wgsl`), in bytes.
mod tally {
    pub const DISTANCES: std::ops::Range<u64> = 0..4 * 256;
    pub const CELLS_FOUND: u64 = 4 * 256;
    pub const LOGS: std::ops::Range<u64> = 4 * 264..4 * 266;
    pub const SCATTERED: u64 = 4 * 266;
    pub const GREATEST: std::ops::Range<u64> = 4 * 268..4 * 270;
    pub const FORCES: std::ops::Range<u64> = 4 * 270..4 * 280;
    pub const SHARES: std::ops::Range<u64> = 4 * 280..4 * 282;
    pub const MISSING: u64 = 4 * 285;
    pub const EXPECTED: std::ops::Range<u64> = 4 * 288..4 * 290;
    pub const EXPECTED_MEAN: std::ops::Range<u64> = 4 * 290..4 * 294;

    /// The word at a place of the whole tally.
    pub fn word(all: &[u32], at: u64) -> u32 {
        all[at as usize / 4]
    }

    /// The 64-bit integer at a place.
    pub fn long(all: &[u32], at: u64) -> u64 {
        u64::from(word(all, at)) | u64::from(word(all, at + 4)) << 32
    }
}

impl PartTree {
    /// Compiles the kernels and binds them to `bodies`, one of `parts` parts of `all`. The opening rule
    /// must compare distances from bodies, and the tree be built at each step.
    ///
    /// # Errors
    /// More bodies than the adapter's buffers hold; more than 128 parts.
    pub async fn new(
        gpu: Arc<Gpu>,
        shape: TreeShape,
        bodies: &PartBodies,
        (parts, all): (usize, u32),
        room: ReceivedRoom,
        field: Field,
    ) -> Result<Self> {
        if parts > MOST_PARTS {
            let allowed = format!("at most {MOST_PARTS}");
            return Err(Error::value("the number of domains", parts, allowed));
        }
        let buffers = Arc::new(TreeBuffers::of_part(&gpu, bodies.capacity(), all, room, &shape)?);
        let partial_sums = storage(&gpu, "partial sums", bodies.capacity() as usize);
        let params = Params::new(&gpu, "tree params", PARAMS_ROWS + MOST_PIECES + OTHER_ROWS);
        let io = Io::new(gpu, params);
        let checks = shape.checks;
        let shared =
            PartResources { buffers: &buffers, partial_sums: &partial_sums, bodies, checks };
        let migration = Migration::new(&io, &shared).await?;
        let ordering = Ordering::new(&io, &shared, &migration.records).await?;
        let common = Common::new(&io, &shared).await?;
        let crowds = Crowds::new(&io, &shared).await?;
        let sending = Sending::new(&io, &shared, &common, (parts, all), room).await?;
        use crate::gpu::Binding::{Read, Write};
        let none = minijinja::context! {};
        let bound = [(Read, &partial_sums), (Read, &buffers.order), (Write, &buffers.tally)];
        let missing = io.kernel("missing", none.clone(), &bound, true, checks).await?;
        let samples = storage(&io.gpu, "samples", SAMPLES as usize);
        let bound = [(Read, &buffers.sources), (Write, &samples)];
        let sample = io.kernel("sample", none, &bound, true, checks).await?;
        let forces = Self::bind(&io, &shape, &shared, &common, &sending, &field).await?;
        let stages = Stages {
            io,
            all,
            room,
            partial_sums,
            migration,
            ordering,
            common,
            crowds,
            sending,
            missing,
            sample,
            samples,
            state: TreeState::default(),
            counts_cost: false,
            learnt: Learnt {
                sampled: Vec::new(),
                walks: Vec::with_capacity(WALKS),
                next: 0,
                cuts: Vec::new(),
                cut_in: 0.0,
                since_cut: 0,
                cells: 0,
                levels: 0,
                greatest: [0; 2],
                mean: [[0; 2]; 2],
                cuts_always: false,
                margins: MARGINS,
                report: PartReport::default(),
            },
            buffers,
        };
        let has_accelerations = field.has_accelerations;
        Ok(Self { field, shape, forces, potential: None, has_accelerations, stages })
    }

    async fn bind(
        io: &Io,
        shape: &TreeShape,
        shared: &PartResources<'_>,
        common: &Common,
        sending: &Sending,
        field: &Field,
    ) -> Result<ConfiguredForces> {
        let PartResources { buffers, partial_sums, bodies, .. } = *shared;
        let bound =
            TreeResources { gpu: &io.gpu, shape, buffers, partial_sums, params: &io.params };
        let body_buffers = &bodies.buffers;
        let (places, last) = (&body_buffers.position_mass, &body_buffers.acceleration);
        let build = Build::new(&bound, places, last, field.external.as_ref()).await?;
        let rule = async |opening: &Opening, expands: bool| {
            let variant = WalkVariant {
                rule: opening.name(),
                potential: field.potential,
                expands,
                ..WalkVariant::new(shape, field.guarded, WalkOutput::Forces)
            };
            let walk = Walk::new(&bound, variant, opening, field.softening).await?;
            let select = sending.select(io, shared, common, opening, shape.order).await?;
            let floor = match opening.needs_accelerations() {
                true => Some(walks::floor(io, shared).await?),
                false => None,
            };
            Ok::<_, Error>(RuleKernels { walk, select, floor })
        };
        let config = shape.config();
        let needs_first = shape.opening.needs_accelerations() && !field.has_accelerations;
        let first = if needs_first { Some(rule(&TreeConfig::FIRST, false).await?) } else { None };
        let rule = rule(&config.walked(), config.expands()).await?;
        let balance =
            if field.is_closed { Some(BalanceKernels::new(&bound, places).await?) } else { None };
        Ok(ConfiguredForces { build, rule, first, balance })
    }

    /// Accelerations of the bodies at their places, and potentials if they were requested:
    /// `array<vec4<f32>>`.
    pub fn partial_sums(&self) -> &wgpu::Buffer {
        &self.stages.partial_sums
    }

    /// Whether the next forces are not the first ones, which take two walks.
    pub fn has_accelerations(&self) -> bool {
        self.has_accelerations || self.forces.first.is_none()
    }

    /// The shape.
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// Cuts the curve next so that `bodies` of this part are where these are.
    pub fn cut_by(&mut self, sampled: Vec<PointMass>, bodies: u32) {
        self.stages.learnt.sampled = sampled;
        self.stages.learnt.report.bodies = bodies;
    }

    /// Frees the memory of its largest buffers. Nothing but [`PartTree::continue_from`] may use it
    /// afterwards.
    ///
    /// # Errors
    /// The device failed.
    pub fn free(&self) -> Result<()> {
        let Stages { io, buffers, partial_sums, .. } = &self.stages;
        buffers.destroy();
        partial_sums.destroy();
        io.gpu.wait_for(io.gpu.queue.submit([]))
    }

    /// Continues where another part of the same tree, which had less room, has stopped.
    pub fn continue_from(&mut self, other: Self) {
        self.stages.learnt = other.stages.learnt;
        self.has_accelerations |= other.has_accelerations;
    }

    /// Cuts the curve anew for all forces.
    #[cfg(test)]
    pub(crate) fn cut_always(&mut self) {
        self.stages.learnt.cuts_always = true;
    }

    /// Expects next that the deepest cells are of the first level.
    #[cfg(test)]
    pub(crate) fn expect_few_levels(&mut self) {
        self.stages.learnt.levels = 0;
    }

    /// Chooses the cells that are sent with other factors on squared distances.
    #[cfg(test)]
    pub(crate) fn choose_by(&mut self, margins: &'static [f32]) {
        self.stages.learnt.margins = margins;
    }

    /// Room for what belongs to other ranks.
    pub fn room(&self) -> ReceivedRoom {
        self.stages.room
    }

    /// What the last evaluation has come to.
    pub fn report(&self) -> PartReport {
        self.stages.learnt.report
    }

    /// Uses another softening from the next evaluation on.
    pub fn set_softening(&mut self, softening: f32) {
        self.field.softening = softening;
        for forces in [Some(&mut self.forces), self.potential.as_mut()].into_iter().flatten() {
            forces.rule.walk.set_softening(softening);
            if let Some(first) = &mut forces.first {
                first.walk.set_softening(softening);
            }
        }
        self.has_accelerations = self.forces.first.is_none();
    }

    /// Forces of all bodies on all bodies, as [`PartTree::partial_sums`]; with `potential` also
    /// potentials, by the rule for energies. All members make the same call. Bodies change their
    /// places and their ranks. The last kernel is submitted by [`PartTree::send`].
    ///
    /// # Errors
    /// The device failed; another member aborted; too many bodies in one place; [`Error::Stopped`],
    /// for all members alike.
    pub async fn evaluate(
        &mut self,
        member: &mut Member,
        bodies: &mut PartBodies,
        potential: bool,
    ) -> Result<Outcome> {
        let begun = crate::wall_clock::Instant::now();
        if potential {
            self.send();
        }
        let Self { field, shape, forces, potential: with, has_accelerations, stages } = self;
        if potential && with.is_none() {
            let shape = shape.for_energies();
            let field = Field {
                potential: true,
                has_accelerations: true,
                is_closed: false,
                ..field.clone()
            };
            let (buffers, partial_sums) = (&stages.buffers, &stages.partial_sums);
            let shared = PartResources { buffers, partial_sums, bodies, checks: shape.checks };
            let Stages { io, common, sending, .. } = &*stages;
            *with = Some(Self::bind(io, &shape, &shared, common, sending, &field).await?);
        }
        let forces = match with {
            Some(with) if potential => with,
            _ => forces,
        };
        let is_first = !potential && !*has_accelerations;
        stages.counts_cost = !potential && !is_first;
        let done = stages.evaluate(member, bodies, forces, is_first).await;
        // The caller goes on with bodies that have changed their places already.
        if matches!(done, Ok(Outcome::NeedsRoom(..)) | Err(Error::Stopped)) {
            stages.io.send(&mut forces.build);
        }
        let done = done?;
        if done == Outcome::Complete && !potential {
            *has_accelerations = true;
        }
        stages.learnt.report.secs = begun.elapsed().as_secs_f64();
        stages.learnt.report.device_secs = std::mem::take(&mut stages.io.device_secs);
        Ok(done)
    }

    /// Records commands after those of the last evaluation, for the next submission.
    pub fn record(&mut self, record: impl FnOnce(&mut wgpu::ComputePass<'_>)) {
        let Self { forces, stages, .. } = self;
        stages.io.record(&mut forces.build, |pass, _, _| record(pass), &[]);
    }

    /// Submits what has been recorded.
    pub fn send(&mut self) {
        self.stages.io.send(&mut self.forces.build);
    }
}

impl Stages {
    async fn evaluate(
        &mut self,
        member: &mut Member,
        bodies: &mut PartBodies,
        forces: &mut ConfiguredForces,
        is_first: bool,
    ) -> Result<Outcome> {
        let rank = member.member();
        let most = self.io.gpu.limits.workgroups;
        let ConfiguredForces { build, rule, first, balance } = forces;
        // More room for bodies is more room for everything.

        // The cube, and who has which bodies: both change rarely, so that bodies leave by the cube
        // and the cuts of the last time, if these still hold.
        build.set_sizes(bodies.places, 0);
        let tally = self.buffers.tally.clone();
        let (parts, places) = (member.members(), bodies.places);
        let is_cut = !self.learnt.cuts.is_empty();
        if is_cut {
            self.migration.cut_at(&mut self.io, &self.learnt.cuts);
            let half = std::mem::offset_of!(TreeState, half) as u64;
            self.io.write(&self.buffers.state, half, &[self.learnt.cut_in]);
        }
        let migration = &self.migration;
        let mut ranges = vec![(&tally, tally::DISTANCES)];
        ranges.extend(is_cut.then(|| migration.leaving(&tally)).into_iter().flatten());
        let mut read = self
            .io
            .submit(
                build,
                |pass, params, build| {
                    build.record_distances(pass, params);
                    if is_cut {
                        migration.record_leaving(pass, params, (places, rank, parts), most);
                    }
                },
                &[],
                &ranges,
            )
            .await?;
        let listed = read.split_off(1);
        let mut counts: Vec<u64> = read[0].iter().map(|count| u64::from(*count)).collect();
        exchange::sum_integers(member, &mut counts)?;
        let (cube, mut own) = bodies::cube_of(&counts, &read[0], self.all);
        let counted = counts.iter().sum::<u64>() as u32;
        let all_inside: u32 = {
            let edge = (cube.half.to_bits() >> 23) as usize;
            counts[..edge].iter().sum::<u64>() as u32
        };
        let all_outside = counted - all_inside;
        self.state = TreeState {
            half: cube.half,
            counted,
            all_bodies: self.all,
            ahead: super::buffers::EDGE_KEYS,
            base: super::buffers::TOP_CELLS,
            ..TreeState::default()
        };
        self.io.write(&self.buffers.state, 0, &[self.state]);
        self.io.lap("cube");
        let is_new = self.cut(member, &cube)?;
        let listed = (is_cut && !is_new).then_some(listed);
        let cuts = self.learnt.cuts.clone();
        let moved = self
            .migration
            .migrate((&mut self.io, build), member, bodies, (&cuts, &mut own), &tally, listed)
            .await?;
        if let Some(needed) = moved {
            let lacks = needed > bodies.capacity();
            let room = if lacks { needed + needed / 16 } else { bodies.capacity() };
            return Ok(Outcome::NeedsRoom(room, ReceivedRoom::default()));
        }

        self.io.lap("migration");

        // Their order.
        let buffers = Arc::clone(&self.buffers);
        let (ends, ordered) = self
            .ordering
            .order((&mut self.io, build), member, &buffers, (bodies, &self.migration), &mut own)
            .await?;
        self.learnt.report.bodies = own.inside + own.outside;

        self.io.lap("order");

        // Copies in that order, the mean strength, cells, and groups if their accelerations are known.
        // Leaves nearly always have the smallest size, and there are about as many cells as the last
        // time. Other cells are made again.
        self.state = TreeState {
            inside: own.inside,
            outside: own.outside,
            own_bodies: bodies.places,
            before: ordered.before,
            after: ordered.after,
            ..self.state
        };
        self.io.write(&buffers.state, 0, &[self.state]);
        let (expected, levels) = match self.learnt {
            Learnt { cells: 0, .. } => (buffers.reserve, LEVELS),
            Learnt { cells, levels, .. } => {
                ((cells + cells / 16 + 256).min(buffers.reserve), (levels + 1).min(LEVELS))
            }
        };
        build.set_sizes(ordered.listed, expected);
        let edge = super::buffers::EDGE_KEYS;
        let near = [0..own.inside.min(edge), own.inside.saturating_sub(edge)..own.inside];
        let outside = own.inside..own.inside + own.outside;
        let of = |range: &std::ops::Range<u32>| {
            (&buffers.sources, 16 * u64::from(range.start)..16 * u64::from(range.end))
        };
        let strengths = if is_first { Strengths::Unknown } else { Strengths::Last };
        let (sample, samples, common) = (&self.sample, &self.samples, &self.common);
        let sampled = own.inside.min(SAMPLES);
        let stride = own.inside.checked_div(sampled).unwrap_or(1);
        let kernels = (&self.crowds, &self.sending);
        let grouping = Grouping::new(kernels, &buffers, own, (self.state.half, most));
        let mut ranges = vec![
            (&tally, 0..4 * u64::from(TALLY)),
            of(&near[0]),
            of(&near[1]),
            of(&outside),
            (samples, 0..16 * u64::from(sampled)),
            common.listed(),
            (&buffers.state, 0..size_of::<TreeState>() as u64),
        ];
        let mut copies = Vec::new();
        if !is_first {
            ranges.push(grouping.questions());
            copies.push(self.sending.copy_of_boxes());
        }
        // Sent before the rest is recorded, which takes the host some 0.1 ms.
        self.io.record(
            build,
            |pass, params, build| {
                build.record_gather(pass, params);
                build.record_own(pass, params, strengths);
                if !is_first {
                    grouping.record(pass, params, build, strengths);
                }
            },
            &[],
        );
        self.io.send(build);
        let mut read = self
            .io
            .submit(
                build,
                |pass, params, build| {
                    build.record_strengths(pass, params, strengths);
                    build.record_count(pass, params, 0);
                    build.record_choice(pass, params);
                    build.record_cells(pass);
                    build.record_moments(pass, params, levels);
                    common.record(pass, expected, most);
                    let row = TreeParams { count: sampled, level: stride, ..Default::default() };
                    let row = Some(params.offset_of(row));
                    super::build::dispatch(pass, sample, row, (sampled, 256), most);
                },
                &copies,
                &ranges,
            )
            .await?;
        let mut listed = None;
        if !is_first {
            let questions = read.pop().unwrap_or_default();
            let boxes = self.sending.copied_boxes(&self.io.gpu)?;
            listed = Some(ListedGroups::new(&read[0], questions, boxes));
        }
        let points = |words: &[u32]| -> Vec<PointMass> { bytemuck::pod_collect_to_vec(words) };
        let near = [points(&read[1]), points(&read[2])];
        let own_outside = points(&read[3]);
        self.learnt.sampled = points(&read[4]);
        let mut cells = tally::word(&read[0], tally::CELLS_FOUND);
        let mut sums = [u64::from(cells), tally::long(&read[0], tally::LOGS.start)];
        let mut roots = common.roots_of(&read[0], &read[5]);
        let mut deepest = levels_with_children(&read[6]);
        exchange::sum_integers(member, &mut sums)?;
        let mut level = 0;
        let reserve = u64::from(TreeBuffers::reserve_for(self.all));
        build.set_sizes(ordered.listed, 0);
        while sums[0] > reserve && level + 1 < build.leaf_sizes {
            level += 1;
            let at = tally::CELLS_FOUND + 4 * u64::from(level);
            let read = self
                .io
                .submit(
                    build,
                    |pass, params, build| build.record_count(pass, params, level),
                    &[],
                    &[(&tally, at..at + 4)],
                )
                .await?;
            cells = read[0][0];
            sums[0] = u64::from(cells);
            exchange::sum_integers(member, &mut sums[..1])?;
        }
        (self.state.leaf, self.state.cells) = ((LEAF as u32) << level, cells);
        if !member.all_agree(cells <= buffers.reserve)? {
            // Room for cells follows that for bodies.
            let more = if cells > buffers.reserve { bodies.capacity() / 4 } else { 0 };
            return Ok(Outcome::NeedsRoom(bodies.capacity() + more, ReceivedRoom::default()));
        }
        self.learnt.cells = cells;
        build.set_sizes(ordered.listed, cells);
        if level > 0 || cells > expected || deepest > levels {
            self.io.write(&buffers.state, 0, &[self.state]);
            self.io.write(&tally, top::ROOTS, &[0u32]);
            let common = &self.common;
            let read = self
                .io
                .submit(
                    build,
                    |pass, params, build| {
                        if level == 0 {
                            build.record_count(pass, params, 0);
                        }
                        build.record_cells(pass);
                        build.record_moments(pass, params, LEVELS);
                        common.record(pass, cells, most);
                    },
                    &[],
                    &[
                        (&tally, 0..4 * u64::from(TALLY)),
                        common.listed(),
                        (&buffers.state, 0..size_of::<TreeState>() as u64),
                    ],
                )
                .await?;
            roots = common.roots_of(&read[0], &read[1]);
            deepest = levels_with_children(&read[2]);
        }
        self.learnt.levels = deepest;
        self.write_logs(sums[1]);
        // Bodies outside the cube attract on all ranks.
        let mut outsiders = own_outside;
        if all_outside > 0 {
            outsiders = exchange::gather(member, &outsiders)?.concat();
            if own.outside == 0 {
                self.io.write(&buffers.sources, 16 * u64::from(own.inside), &outsiders);
            }
        }
        let everywhere = bodies::Counts { inside: own.inside, outside: outsiders.len() as u32 };

        self.io.lap("cells");

        let leaf = self.state.leaf;
        let tops = self.common.join(member, rank, &ends, (&roots, leaf), [&near[0], &near[1]])?;
        let [[first_copied, before], [last_copied, behind]] = tops.copied;
        let copies = everywhere.inside + everywhere.outside;
        (self.state.first_copied, self.state.first_copy) = (first_copied, copies + before);
        (self.state.last_copied, self.state.last_copy) = (last_copied, copies + behind);
        self.common.write(&mut self.io, &buffers, &everywhere, &tops);
        self.io.lap("common cells");

        let mut work =
            PartWork { tops: &tops, has_moments: false, own, everywhere, cells, least: 0.0 };
        if let Some(first) = first.as_ref().filter(|_| is_first) {
            let walked =
                self.walk(member, build, (first, None), (Strengths::Unknown, None), &work).await?;
            if let Walked::NeedsRoom(needed) = walked {
                return Ok(Outcome::NeedsRoom(bodies.capacity(), needed));
            }
            work.has_moments = true;
            // The mean strength of what has just been found, of this rank's own sinks.
            self.write_sinks();
            self.write_logs(0);
            let read = self
                .io
                .submit(
                    build,
                    |pass, params, build| build.record_strengths(pass, params, Strengths::Walked),
                    &[],
                    &[(&tally, tally::LOGS)],
                )
                .await?;
            sums[1] = u64::from(read[0][0]) | u64::from(read[0][1]) << 32;
            exchange::sum_integers(member, &mut sums[1..])?;
            self.write_logs(sums[1]);
        }
        if build.uses_strengths() {
            work.least = least_strength(sums[1], counted);
        }
        let strengths = if is_first { Strengths::Walked } else { Strengths::Last };
        let rule = (&*rule, balance.as_ref());
        let forces = match self.walk(member, build, rule, (strengths, listed), &work).await? {
            Walked::NeedsRoom(needed) => {
                return Ok(Outcome::NeedsRoom(bodies.capacity(), needed));
            }
            Walked::Done(forces) => forces,
        };
        if let Some(balance) = balance {
            self.balance(member, build, balance, forces).await?;
            self.io.lap("balance");
        }
        self.io.log_laps(rank, self.learnt.report.received);
        Ok(Outcome::Complete)
    }

    /// Cuts the curve so that all parts have about equal costs, by the last forces, unless they still
    /// have. Returns whether it did.
    fn cut(&mut self, member: &mut Member, cube: &Cube) -> Result<bool> {
        let parts = member.members();
        let bodies = self.learnt.report.bodies.max(1) as f32;
        let mut costs: Vec<[f32; 2]> = Vec::with_capacity(parts);
        let cost = self.learnt.walks.iter().copied().reduce(f32::min).unwrap_or(1.0);
        let own = [cost * bodies, bodies];
        let bytes = vec![size_of_val(&own); parts];
        member.all_gather(bytemuck::bytes_of(&own), &bytes, &mut |_, cost| {
            costs.push(bytemuck::pod_read_unaligned(cost));
        })?;
        let sum = |which: usize| costs.iter().map(|cost| cost[which]).sum::<f32>();
        let (mean, each) = (sum(0) / parts as f32, sum(0) / sum(1));
        let most = costs.iter().map(|cost| cost[0]).fold(0.0, f32::max);
        self.learnt.since_cut += 1;
        let is_due = match self.learnt.cuts_always {
            true => true,
            false => self.learnt.since_cut > WALKS && most > UNEVEN * mean,
        };
        if self.learnt.cut_in == cube.half && !is_due {
            return Ok(false);
        }
        log::debug!("new cuts: the part with the highest cost has {:.3} of the mean", most / mean);
        (self.learnt.cut_in, self.learnt.since_cut) = (cube.half, 0);
        // Or one device that was held up would give nearly all of its bodies away.
        let cost = cost.clamp(each / MOST_UNEQUAL, each * MOST_UNEQUAL);
        let each = cost * bodies / self.learnt.sampled.len().max(1) as f32;
        let sample = |place: &PointMass| Sample { key: key(cube, place), cost: each };
        let samples: Vec<Sample> = self.learnt.sampled.iter().map(sample).collect();
        let all = exchange::gather(member, &samples)?.concat();
        self.learnt.cuts = cuts(all, parts);
        Ok(true)
    }

    /// Learns what a body costs from the time of a walk.
    fn count_cost(&mut self, secs: f64) {
        let cost = (secs / f64::from(self.learnt.report.bodies.max(1))) as f32;
        let Learnt { walks, next, .. } = &mut self.learnt;
        match walks.get_mut(*next) {
            Some(oldest) => *oldest = cost,
            None => walks.push(cost),
        }
        *next = (*next + 1) % WALKS;
    }

    /// Writes what says which sinks walk. The levels, which kernels have written, stay.
    fn write_sinks(&mut self) {
        let TreeState {
            inside,
            outside,
            cells,
            scattered,
            first_copied,
            first_copy,
            last_copied,
            last_copy,
            ..
        } = self.state;
        let state = &self.buffers.state;
        self.io.write(state, 0, &[inside, outside, cells]);
        self.io.write(state, std::mem::offset_of!(TreeState, scattered) as u64, &[scattered]);
        let copies = [first_copied, first_copy, last_copied, last_copy];
        self.io.write(state, std::mem::offset_of!(TreeState, first_copied) as u64, &copies);
    }

    fn write_logs(&mut self, sum: u64) {
        self.io.write(&self.buffers.tally, tally::LOGS.start, &[sum as u32, (sum >> 32) as u32]);
    }
}
