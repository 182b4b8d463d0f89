//! The tree as a method for forces on bodies that live on a device.

use std::sync::Arc;

use super::super::pace::RebuildPace;
use super::balance::BalanceKernels;
use super::buffers::{BYTES_PER_BODY, REUSED_BYTES_PER_BODY};
use super::build::PARAMS_ROWS;
use super::walk::WalkOutput;
use super::{Build, Stage, Strengths, TreeBuffers, TreeResources, TreeShape, Walk, WalkVariant};
use crate::error::{Error, Result};
use crate::forces::tree::{GROUP, Opening, TreeConfig};
use crate::forces::{BoxFuture, DeviceField, DeviceForces, RecordedChunk, StepForces};
use crate::gpu::layout::TreeParams;
use crate::gpu::{BodyBuffers, Gpu, Params, storage};

/// The most chunks of walks in one submission.
pub(super) const MOST_PIECES: usize = 256;

/// The interactions that a sink counts as: about the number it has with typical openings, with
/// cells weighted by their cost.
const PER_SINK: u64 = 1000;

/// The interactions of an evaluation for `n` bodies, as [`TreeForces`] counts them; `walks` is 2 if
/// it begins with a walk for first forces, else 1.
pub fn interactions(n: u32, walks: u64) -> u64 {
    let stages: u64 = Stage::ALL.into_iter().map(Stage::interactions).sum();
    let groups = Stage::Groups.interactions() * (walks - 1);
    u64::from(n) * (stages + groups) + walks * TreeForces::of_groups(0, TreeBuffers::walks_for(n))
}

/// Initial chunks of a walk that has not been timed are as small as still keeps the device busy,
/// each in its own submission: with strict openings a sink may have a thousand times as many
/// interactions as it counts for.
const CAREFUL: u32 = 2;

/// The next step of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A stage of the build.
    Build(usize),
    /// Groups from this one on, by the rule for first forces.
    First(u32),
    /// The grouping again, with the accelerations from the first walk.
    Groups,
    /// Groups from this one on.
    Walk(u32),
    /// The far cells of these groups, which have just walked.
    Far(u32, u32),
    /// The correction of the total force, in a closed system.
    Balance,
}

/// A part of an evaluation, for timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedStage {
    /// A stage of the build.
    Build(Stage),
    /// Forces by the rule for first forces.
    FirstWalk,
    /// Forces by the chosen rule.
    Walk,
    /// Those of far cells.
    Far,
    /// The correction of the total force.
    Balance,
}

const BEGIN: Next = Next::Build(0);

/// The first stage to repeat when bodies have moved.
const MOMENTS: usize = 3;

/// Forces by the tree, bound to bodies.
pub struct TreeForces {
    pub(super) shape: TreeShape,
    pub(super) softening: f32,
    pub(super) guarded: bool,
    external: Option<DeviceField>,
    pub(super) buffers: Arc<TreeBuffers>,
    pub(super) build: Build,
    walk: Walk,
    /// The walk for first forces, if the rule needs accelerations.
    pub(super) first: Option<Walk>,
    /// Whether the next evaluation begins with `first`, because there are no accelerations yet.
    pub(super) is_first: bool,
    pub(super) partial_sums: wgpu::Buffer,
    /// Only in a closed system.
    pub(super) balance: Option<BalanceKernels>,
    pub(super) params: Params<TreeParams>,
    next: Next,
    /// The number of chunks that must still be small, and whether the submission ends with one.
    careful: u32,
    ends_submission: bool,
    pub(super) steps: RebuildState,
}

/// State between evaluations.
#[derive(Clone, Copy, Debug)]
pub(super) struct RebuildState {
    /// How often the tree is rebuilt.
    pub pace: RebuildPace,
    /// The step whose forces are computed next.
    pub next: u64,
    /// Whether the bodies had moved since the build at the last forces.
    pub is_refitted: bool,
    /// Whether these forces are those of steps; others, for potentials between steps, leave the
    /// tree unchanged.
    pub are_counted: bool,
}

/// Parameters of a tree's kernels besides its shape.
#[derive(Clone, Debug)]
pub struct Field {
    /// Plummer softening length.
    pub softening: f32,
    /// Whether to include the guard that softening 0 needs: see
    /// [`crate::forces::direct::gpu::KernelVariant::new`].
    pub guarded: bool,
    /// Whether to compute potentials.
    pub potential: bool,
    /// Whether the bodies' accelerations are those of an earlier step.
    pub has_accelerations: bool,
    /// Whether nothing else acts on the bodies: then the total force is corrected to 0
    /// ([`crate::forces::tree::balance()`]).
    pub is_closed: bool,
    /// The external field in the bodies' accelerations, if there is one.
    pub external: Option<DeviceField>,
}

impl Field {
    /// For bodies on which nothing else acts, without accelerations of an earlier step.
    pub fn closed(softening: f32, guarded: bool, potential: bool) -> Self {
        let (has_accelerations, is_closed, external) = (false, true, None);
        Self { softening, guarded, potential, has_accelerations, is_closed, external }
    }
}

impl TreeForces {
    /// Compiles the kernels and binds them to `bodies`.
    ///
    /// # Errors
    /// More bodies than the adapter's buffers hold; bodies of which the device moves only a range.
    pub async fn new(
        gpu: &Gpu,
        shape: TreeShape,
        bodies: &BodyBuffers,
        field: Field,
    ) -> Result<Self> {
        if bodies.sink_count() < bodies.count {
            let allowed = "direct if a device moves only a part of the bodies";
            return Err(Error::value("the method", "tree", allowed));
        }
        let is_reused = shape.rebuild.keeps();
        if is_reused {
            let bytes = BYTES_PER_BODY + REUSED_BYTES_PER_BODY;
            gpu.check_bodies(u64::from(bodies.count), bytes, "tree")?;
        }
        let buffers = Arc::new(TreeBuffers::new(gpu, bodies.count, &shape)?);
        let partial_sums = storage(gpu, "partial sums", bodies.count as usize);
        Self::on(gpu, shape, bodies, field, buffers, partial_sums).await
    }

    async fn on(
        gpu: &Gpu,
        shape: TreeShape,
        bodies: &BodyBuffers,
        field: Field,
        buffers: Arc<TreeBuffers>,
        partial_sums: wgpu::Buffer,
    ) -> Result<Self> {
        let Field { softening, guarded, potential, has_accelerations, is_closed, external } = field;
        let params = Params::new(gpu, "tree params", PARAMS_ROWS + MOST_PIECES);
        let (places, last) = (&bodies.position_mass, &bodies.acceleration);
        let bound = TreeResources {
            gpu,
            shape: &shape,
            buffers: &buffers,
            partial_sums: &partial_sums,
            params: &params,
        };
        let build = Build::new(&bound, places, last, external.as_ref()).await?;
        let walk = async |opening: &Opening, expands: bool| {
            let variant = WalkVariant {
                rule: opening.name(),
                potential,
                expands,
                ..WalkVariant::new(&shape, guarded, WalkOutput::Forces)
            };
            Walk::new(&bound, variant, opening, softening).await
        };
        let needs_first = shape.opening.needs_accelerations() && !has_accelerations;
        let is_first = needs_first;
        let first = if needs_first { Some(walk(&TreeConfig::FIRST, false).await?) } else { None };
        let config = shape.config();
        let walk = walk(&config.walked(), config.expands()).await?;
        let balance =
            if is_closed { Some(BalanceKernels::new(&bound, places).await?) } else { None };
        let next = BEGIN;
        let pace = RebuildPace::new(shape.rebuild);
        let steps = RebuildState { pace, next: 0, is_refitted: false, are_counted: !potential };
        Ok(Self {
            shape,
            softening,
            guarded,
            external,
            buffers,
            build,
            walk,
            first,
            is_first,
            partial_sums,
            balance,
            params,
            next,
            careful: CAREFUL,
            ends_submission: false,
            steps,
        })
    }

    /// The stage of the evaluation that is recorded next.
    pub fn part(&self) -> TimedStage {
        match self.next {
            Next::Build(k) => TimedStage::Build(Stage::ALL[k]),
            Next::First(_) => TimedStage::FirstWalk,
            Next::Groups => TimedStage::Build(Stage::Groups),
            Next::Walk(_) => TimedStage::Walk,
            Next::Far(..) => TimedStage::Far,
            Next::Balance => TimedStage::Balance,
        }
    }

    /// The buffers of the stages, for tests and for drawing cells.
    pub fn buffers(&self) -> &TreeBuffers {
        &self.buffers
    }

    /// The end of the groups from `begin` on that take about this many interactions, but enough to
    /// keep the device busy.
    pub(super) fn groups(&self, gpu: &Gpu, begin: u32, interactions: u64) -> u32 {
        let busy = u64::from(gpu.adapter.class.threads_to_fill() / GROUP as u32);
        let count = (interactions / (PER_SINK * GROUP as u64)).max(busy);
        let count = match self.buffers.far_groups {
            0 => count,
            most => count.min(most.into()),
        };
        let most = u64::from(self.buffers.most_walks());
        (u64::from(begin) + count).min(most) as u32
    }

    /// Updates the state after a complete evaluation.
    fn note_end(&mut self) {
        self.is_first = false;
        self.note_step();
    }

    /// Continues after the groups up to `end`; returns whether the evaluation is complete.
    fn end_walk(&mut self, end: u32) -> bool {
        let balances = self.balance.is_some();
        let is_whole = end == self.buffers.most_walks();
        self.next = match (is_whole, balances) {
            (false, _) => Next::Walk(end),
            (true, true) => Next::Balance,
            (true, false) => BEGIN,
        };
        let is_last = is_whole && !balances;
        if is_last {
            self.note_end();
        }
        is_last
    }

    fn of_groups(begin: u32, end: u32) -> u64 {
        u64::from(end - begin) * GROUP as u64 * PER_SINK
    }
}

impl DeviceForces for TreeForces {
    fn describe(&self) -> String {
        format!("{}{}", self.shape, self.steps.pace.description())
    }

    fn interactions(&self) -> u64 {
        let stages: u64 = Stage::ALL.into_iter().map(Stage::interactions).sum();
        u64::from(self.buffers.count) * (PER_SINK + stages)
    }

    fn is_even(&self) -> bool {
        false
    }

    fn begin_submission(&mut self) {
        self.ends_submission = false;
        self.params.clear();
        self.build.begin_submission();
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
        self.build.end_submission(gpu);
    }

    fn is_full(&self) -> bool {
        self.ends_submission || !self.params.has_room(PARAMS_ROWS)
    }

    fn is_begun(&self) -> bool {
        self.next != BEGIN
    }

    fn restart(&mut self) {
        self.next = BEGIN;
    }

    fn set_softening(&mut self, softening: f32) {
        self.softening = softening;
        self.walk.set_softening(softening);
        if let Some(first) = &mut self.first {
            first.set_softening(softening);
        }
        // As newly bound forces do: a first walk, over a new tree.
        self.is_first = self.first.is_some();
        self.set_tree_complete(false);
        self.restart();
    }

    /// Records a stage of the build, or some groups of sinks.
    fn record(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        interactions: u64,
    ) -> RecordedChunk {
        let count = u64::from(self.buffers.count);
        let most = self.buffers.most_walks();
        let stage = |stage: Stage| RecordedChunk {
            interactions: count * stage.interactions(),
            is_last: false,
        };
        match self.next {
            Next::Build(k) if Stage::ALL[k] == Stage::Groups => {
                let is_first = self.is_first;
                let strengths = if is_first { Strengths::Unknown } else { Strengths::Last };
                self.build.record(pass, &mut self.params, Stage::Groups, strengths);
                self.next = if is_first { Next::First(0) } else { Next::Walk(0) };
                stage(Stage::Groups)
            }
            BEGIN if self.reuses_tree() => {
                self.build.record_refit(pass, &mut self.params);
                self.steps.is_refitted |= self.steps.are_counted;
                self.next = Next::Build(MOMENTS);
                stage(Stage::Keys)
            }
            Next::Build(k) => {
                if self.next == BEGIN {
                    self.set_tree_complete(false);
                }
                self.build.record(pass, &mut self.params, Stage::ALL[k], Strengths::Last);
                if k + 1 == MOMENTS {
                    self.set_tree_complete(true);
                }
                self.next = Next::Build(k + 1);
                stage(Stage::ALL[k])
            }
            Next::Groups => {
                self.build.record(pass, &mut self.params, Stage::Groups, Strengths::Walked);
                self.next = Next::Walk(0);
                stage(Stage::Groups)
            }
            Next::First(begin) | Next::Walk(begin) => {
                self.ends_submission = self.careful > 0;
                let interactions = if self.ends_submission { 0 } else { interactions };
                self.careful = self.careful.saturating_sub(1);
                let end = self.groups(gpu, begin, interactions);
                let first = self.first.as_ref().filter(|_| matches!(self.next, Next::First(_)));
                let walk = first.unwrap_or(&self.walk);
                walk.record(pass, &mut self.params, begin, end);
                let leaves_far_cells = walk.leaves_far_cells();
                if end == most && first.is_some() {
                    self.careful = CAREFUL;
                }
                let mut is_last = false;
                match (end == most, self.next) {
                    _ if leaves_far_cells => self.next = Next::Far(begin, end),
                    (true, Next::First(_)) => self.next = Next::Groups,
                    (false, Next::First(_)) => self.next = Next::First(end),
                    _ => is_last = self.end_walk(end),
                }
                RecordedChunk { interactions: Self::of_groups(begin, end), is_last }
            }
            Next::Far(begin, end) => {
                self.walk.record_far(pass, &mut self.params, begin, end);
                // A tenth of the walk's time, with which it is counted.
                RecordedChunk { interactions: 0, is_last: self.end_walk(end) }
            }
            Next::Balance => {
                if let Some(balance) = &self.balance {
                    balance.record(pass);
                }
                self.next = BEGIN;
                self.note_end();
                // A hundredth of the walk's time, so it is not counted.
                RecordedChunk { interactions: 0, is_last: true }
            }
        }
    }

    fn partial_sums(&self) -> &wgpu::Buffer {
        &self.partial_sums
    }

    fn slices(&self) -> u32 {
        1
    }

    fn steps(&mut self) -> Option<&mut dyn StepForces> {
        Some(self)
    }

    fn with_both<'a>(
        &'a self,
        _: &'a Gpu,
        _: &'a BodyBuffers,
    ) -> Option<BoxFuture<'a, Result<Box<dyn DeviceForces>>>> {
        None
    }

    fn with_potential<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> BoxFuture<'a, Result<Box<dyn DeviceForces>>> {
        let field = Field {
            softening: self.softening,
            guarded: self.guarded,
            potential: true,
            // Potentials are requested between steps, when accelerations are known.
            has_accelerations: true,
            is_closed: false,
            external: self.external.clone(),
        };
        let (buffers, sums) = (Arc::clone(&self.buffers), self.partial_sums.clone());
        Box::pin(async move {
            let shape = self.shape.for_energies();
            let made = Self::on(gpu, shape, bodies, field, buffers, sums).await?;
            Ok(Box::new(made) as Box<dyn DeviceForces>)
        })
    }
}
