//! The walks of a part's groups, with what they need of the other ranks, and the correction of the total
//! force.

use std::ops::Range;
use std::sync::Arc;

use minijinja::context;

use super::bodies::Counts;
use super::groups::{self, Crowds, Question};
use super::io::{Io, PartResources};
use super::sent::{self, Boxes, Sending};
use super::{FEW_GROUPS, LONG_WALK_SECS};
use super::{GROUPS_AT_ONCE, RuleKernels, SUBMISSION_SECS, Stages, tally, top};
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member};
use crate::forces::tree::GROUP;
use crate::forces::tree::gpu::balance::BalanceKernels;
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::{Build, ReceivedRoom, Strengths, TreeBuffers};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel, MappedCopy, Params};
use crate::stop;

/// NOBODY in `shaders/tree/sinks.wgsl`.
const NOBODY: u32 = u32::MAX;

/// The bits of the exponent of a positive f32, which decide the unit of sums
/// (`shaders/tree/balance.wgsl`).
const EXPONENT: u32 = 0x7f80_0000;

/// Compiles the kernel that applies the least acceleration of sinks.
pub(super) async fn floor(io: &Io, shared: &PartResources<'_>) -> Result<BoundKernel> {
    let PartResources { buffers, checks, .. } = *shared;
    use Binding::{Read, Write};
    let bound = [(Read, &buffers.state), (Write, &buffers.tally), (Write, &buffers.groups)];
    io.kernel("floor", context! {}, &bound, true, checks).await
}

/// What is known of a part when its groups walk.
pub(super) struct PartWork<'a> {
    pub tops: &'a top::Tops,
    /// Whether the common cells have their moments.
    pub has_moments: bool,
    /// Bodies of this part, and those that attract everywhere.
    pub own: Counts,
    pub everywhere: Counts,
    /// Cells of this part.
    pub cells: u32,
    /// A little less than the least acceleration with which sinks count.
    pub least: f32,
}

impl PartWork<'_> {
    /// Groups in the cube, and bodies outside.
    fn grouped(&self) -> u32 {
        self.own.inside.div_ceil(GROUP as u32) + self.own.outside
    }
}

/// What is still to be computed with the first choice of cells.
struct First<'a> {
    floor: Option<&'a BoundKernel>,
    /// Groups that this part's bodies make scattered.
    scattered: u32,
    gathered: groups::GatheredQuestions,
}

impl First<'_> {
    /// Records the moments of common cells and the least accelerations of groups.
    fn record(
        &self,
        (pass, params): (&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>),
        build: &Build,
        buffers: &TreeBuffers,
        work: &PartWork<'_>,
        most: u32,
    ) {
        if !work.has_moments {
            let all = &work.tops.top.cells;
            let levels = all.iter().map(|cell| cell.level).max().unwrap_or(0);
            build.record_top_moments(pass, params, all.len() as u32, levels);
        }
        if let Some(floor) = self.floor {
            let (singles, room) = buffers.singles;
            let count = work.grouped();
            let reserve = self.scattered.min(room) * GROUP as u32;
            let row = TreeParams { count, reserve, singles, ..Default::default() };
            let row = Some(params.offset_of(row));
            dispatch(pass, floor, row, (count + reserve, 256), most);
        }
    }
}

/// The sinks of scattered groups.
struct SingleSinks {
    /// Groups whose sinks walk one by one.
    walk: u32,
    /// Groups that bodies of other ranks make scattered, until the device has listed their sinks.
    to_scatter: u32,
    /// Whether scattered groups walk as others do.
    walk_together: bool,
}

/// How walks end.
pub(super) enum Walked {
    /// All is done; the sums for the correction of the total force, as far as they are known.
    Done(BalanceSums),
    /// A rank has no room, and this one needs that much.
    NeedsRoom(ReceivedRoom),
}

/// Records the groups of a part, the questions of those near its ends, and the boxes around them.
pub(super) struct Grouping<'a> {
    crowds: &'a Crowds,
    sending: &'a Sending,
    buffers: &'a TreeBuffers,
    own: Counts,
    half: f32,
    most: u32,
}

impl<'a> Grouping<'a> {
    /// For a part of `own` bodies in a cube whose edge is twice `half`; `most` workgroups are allowed in
    /// a row.
    pub fn new(
        (crowds, sending): (&'a Crowds, &'a Sending),
        buffers: &'a TreeBuffers,
        own: Counts,
        (half, most): (f32, u32),
    ) -> Self {
        Self { crowds, sending, buffers, own, half, most }
    }

    pub fn record(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        build: &Build,
        strengths: Strengths,
    ) {
        build.record_groups(pass, params, strengths);
        self.crowds.record(pass, self.own.inside, self.most);
        self.record_boxes(pass, params, false);
    }

    fn record_boxes(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        together: bool,
    ) {
        let groups = (self.own.inside.div_ceil(GROUP as u32), self.own.outside, together);
        self.sending.record_boxes(pass, params, self.buffers, groups, self.half, self.most);
    }

    /// The questions that [`ListedGroups`] needs besides the tally and a copy of the boxes.
    pub fn questions(&self) -> (&wgpu::Buffer, Range<u64>) {
        let expected = groups::EXPECTED.min(self.crowds.questions.size() / 32);
        (&self.crowds.questions, 0..32 * expected)
    }
}

/// What a part's device lists of its groups. The lists may be longer than what was read of them.
pub(super) struct ListedGroups {
    scattered: u32,
    question_count: u64,
    questions: Vec<u32>,
    boxed: u32,
    boxes: MappedCopy,
}

impl ListedGroups {
    /// From the tally, the first questions and the first boxes.
    pub fn new(all: &[u32], questions: Vec<u32>, boxes: MappedCopy) -> Self {
        Self {
            scattered: tally::word(all, tally::SCATTERED),
            question_count: u64::from(tally::word(all, groups::QUESTIONS)),
            questions,
            boxed: tally::word(all, sent::BOXES),
            boxes,
        }
    }
}

impl Stages {
    /// Groups, unless they are `listed` already, the cells that they need of others, and their walks.
    pub(super) async fn walk(
        &mut self,
        member: &mut Member,
        build: &mut Build,
        (rule, balance): (&RuleKernels, Option<&BalanceKernels>),
        (strengths, listed): (Strengths, Option<ListedGroups>),
        work: &PartWork<'_>,
    ) -> Result<Walked> {
        self.state.scattered = 0;
        self.state.outside = work.own.outside;
        self.write_sinks();
        let listed = match listed {
            Some(listed) => listed,
            None => self.list_groups(build, strengths, work.own).await?,
        };
        let own_scattered = listed.scattered;
        let (questions, boxes) = self.whole_lists(build, work.own, listed).await?;
        let gathered = self.crowds.ask(&mut self.io, member, questions)?;
        self.sending.share(&mut self.io, member, (boxes, work.least))?;
        self.io.lap("boxes");

        let margins = self.learnt.margins;
        let first = First { floor: rule.floor.as_ref(), scattered: own_scattered, gathered };
        let choice = (&rule.select, margins[0]);
        let (mut chosen, answers) = self.choose(member, build, choice, work, Some(&first)).await?;
        let mut singles = self.scattered(member, build, &first, &answers).await?;
        if singles.walk_together {
            // The other ranks have chosen without the boxes of scattered groups.
            let boxes = self.list_boxes(build, work.own, true).await?;
            self.sending.share(&mut self.io, member, (boxes, work.least))?;
            drop(chosen);
            (chosen, _) = self.choose(member, build, choice, work, None).await?;
        }
        let mut attempt = 0;
        loop {
            let choice = (&rule.select, margins[attempt]);
            let delivered = self
                .sending
                .deliver(
                    (&mut self.io, build),
                    member,
                    &self.buffers,
                    (choice, work.cells),
                    (work.tops, &work.everywhere),
                    chosen,
                )
                .await?;
            self.io.lap("cells of others");
            let joined = match delivered {
                Ok(joined) => joined,
                Err(needed) => return Ok(Walked::NeedsRoom(needed)),
            };
            self.learnt.report.received = joined.received;
            let begun = crate::wall_clock::Instant::now();
            self.join(build, strengths, &joined, &mut singles, work);
            let found =
                self.walk_groups(build, (rule, balance), singles.walk, work, member).await?;
            let secs = begun.elapsed().as_secs_f64();
            self.io.lap("walk");
            (self.state.outside, self.state.cells) = (work.own.outside, work.cells);
            let all = exchange::gather(member, &[found])?.concat();
            if all.iter().any(|of| of.stopped > 0) {
                return Err(Error::Stopped);
            }
            let is_whole = all.iter().all(|of| of.missing == 0);
            if is_whole || attempt + 1 == margins.len() {
                self.learnt.report.repeats += attempt as u64;
                self.learnt.report.walk_secs = secs;
                if self.counts_cost {
                    self.count_cost(secs);
                }
                return Ok(Walked::Done(self.sums_of(&all)));
            }
            attempt += 1;
            let choice = (&rule.select, margins[attempt]);
            (chosen, _) = self.choose(member, build, choice, work, None).await?;
        }
    }

    /// Chooses cells for the other ranks. In the same submission the `first` choice has the moments of
    /// the common cells, the least accelerations, and the answers about scattered groups, which are
    /// returned.
    async fn choose(
        &mut self,
        member: &Member,
        build: &mut Build,
        choice: (&sent::Select, f32),
        work: &PartWork<'_>,
        first: Option<&First<'_>>,
    ) -> Result<(sent::Chosen, Vec<u32>)> {
        self.write_sinks();
        let (crowds, buffers) = (&self.crowds, &self.buffers);
        let most = self.io.gpu.limits.workgroups;
        let none = groups::GatheredQuestions::default();
        let also = |pass: &mut wgpu::ComputePass<'_>,
                    params: &mut Params<TreeParams>,
                    build: &mut Build| {
            if let Some(first) = first {
                first.record((pass, params), build, buffers, work, most);
                crowds.record_answers(pass, params, &first.gathered, most);
            }
        };
        let answers = crowds.answers(first.map_or(&none, |first| &first.gathered));
        let ranks = (member.member(), member.members());
        let io = (&mut self.io, build);
        let chosen = self.sending.choose(io, ranks, choice, work.cells, also, answers).await;
        self.io.lap("choice");
        chosen
    }

    /// The sinks that walk one by one, given the answers to the questions of the first choice. A group
    /// that bodies of other ranks have made scattered keeps its box, which holds those of its sinks.
    async fn scattered(
        &mut self,
        member: &mut Member,
        build: &mut Build,
        first: &First<'_>,
        answers: &[u32],
    ) -> Result<SingleSinks> {
        let by_others =
            self.crowds.settle((&mut self.io, build), member, &first.gathered, answers).await?;
        let to_scatter = by_others.len() as u32;
        let mut total = [u64::from(first.scattered + to_scatter)];
        exchange::sum_integers(member, &mut total)?;
        // Without room for all their sinks, scattered groups walk as others do.
        let walk_together = total[0] > u64::from(self.buffers.singles.1);
        let part = self.buffers.part.as_ref().expect("a part");
        self.io.write(&part.scattered, 0, &by_others);
        let walk = if walk_together { 0 } else { first.scattered + to_scatter };
        Ok(SingleSinks { walk, to_scatter, walk_together })
    }

    /// Joins what was delivered to the tree, scatters groups if that is still to be done, and prepares
    /// the walks.
    fn join(
        &mut self,
        build: &mut Build,
        strengths: Strengths,
        joined: &sent::Joined,
        singles: &mut SingleSinks,
        work: &PartWork<'_>,
    ) {
        let buffers = Arc::clone(&self.buffers);
        // The others' bodies outside the cube attract, but do not walk here.
        let foreign = work.everywhere.outside - work.own.outside;
        let nobody: Vec<[u32; 8]> = vec![[0, 0, 0, 0, 0, 0, 0, NOBODY]; foreign as usize];
        self.io.write(&buffers.groups, 32 * u64::from(work.grouped()), &nobody);
        // A walk begins with the root if there are cells.
        (self.state.outside, self.state.cells) = (work.everywhere.outside, 1);
        self.state.scattered = singles.walk;
        self.write_sinks();
        self.io.write(&buffers.tally, tally::MISSING, &[0u32]);
        self.io.write(&buffers.tally, tally::GREATEST.start, &[0u32; 14]);
        self.io.write(&buffers.tally, tally::EXPECTED.start, &self.learnt.greatest);
        self.io.write(&buffers.tally, tally::EXPECTED_MEAN.start, &self.learnt.mean);
        let (sending, most) = (&self.sending, self.io.gpu.limits.workgroups);
        let to_scatter = std::mem::take(&mut singles.to_scatter);
        let record = |pass: &mut wgpu::ComputePass<'_>,
                      params: &mut Params<TreeParams>,
                      build: &mut Build| {
            build.record_scattered(pass, params, strengths, to_scatter);
            sending.record_grafts(pass, params, joined, most);
        };
        self.io.record(build, record, &[]);
    }

    /// Groups the sinks of a part and lists them.
    async fn list_groups(
        &mut self,
        build: &mut Build,
        strengths: Strengths,
        own: Counts,
    ) -> Result<ListedGroups> {
        let tally = self.buffers.tally.clone();
        for at in [tally::SCATTERED, groups::QUESTIONS, sent::BOXES] {
            self.io.write(&tally, at, &[0u32]);
        }
        let (half, most) = (self.state.half, self.io.gpu.limits.workgroups);
        let kernels = (&self.crowds, &self.sending);
        let grouping = Grouping::new(kernels, &self.buffers, own, (half, most));
        let mut read = self
            .io
            .submit(
                build,
                |pass, params, build| grouping.record(pass, params, build, strengths),
                &[self.sending.copy_of_boxes()],
                &[(&tally, 0..tally.size()), grouping.questions()],
            )
            .await?;
        let questions = read.swap_remove(1);
        Ok(ListedGroups::new(&read[0], questions, self.sending.copied_boxes(&self.io.gpu)?))
    }

    /// All questions and boxes, of which the device may have listed more than was read.
    async fn whole_lists(
        &mut self,
        build: &mut Build,
        own: Counts,
        listed: ListedGroups,
    ) -> Result<(Vec<Question>, Boxes)> {
        let ListedGroups { scattered, question_count, mut questions, boxed, boxes } = listed;
        let read = questions.len() as u64 / 8;
        if question_count > read {
            let range = 32 * read..32 * question_count;
            let questions_of = &self.crowds.questions;
            let more = self.io.submit(build, |_, _, _| (), &[], &[(questions_of, range)]).await?;
            questions.extend_from_slice(&more[0]);
        }
        questions.truncate(8 * question_count as usize);
        let questions = bytemuck::pod_collect_to_vec(&questions);
        let singles = scattered * GROUP as u32;
        let (is_complete, rest) = self.sending.other_boxes(&self.io.gpu, (boxed, singles));
        if !is_complete {
            self.sending.expect_singles(singles);
            drop(boxes);
            return Ok((questions, self.list_boxes(build, own, false).await?));
        }
        let rest = match rest.1.is_empty() {
            true => Vec::new(),
            false => self.io.submit(build, |_, _, _| (), &[], &[rest]).await?.remove(0),
        };
        Ok((questions, Boxes::new(boxes, &rest, boxed as usize)))
    }

    /// Lists the boxes again, with those of scattered groups if these walk as others do.
    async fn list_boxes(
        &mut self,
        build: &mut Build,
        own: Counts,
        together: bool,
    ) -> Result<Boxes> {
        let tally = self.buffers.tally.clone();
        self.io.write(&tally, sent::BOXES, &[0u32]);
        let (half, most) = (self.state.half, self.io.gpu.limits.workgroups);
        let kernels = (&self.crowds, &self.sending);
        let grouping = Grouping::new(kernels, &self.buffers, own, (half, most));
        let read = self
            .io
            .submit(
                build,
                |pass, params, _| grouping.record_boxes(pass, params, together),
                &[self.sending.copy_of_boxes()],
                &[(&tally, sent::BOXES..sent::BOXES + 4)],
            )
            .await?;
        let boxes = self.sending.copied_boxes(&self.io.gpu)?;
        let (listed, singles) = (read[0][0], self.sending.singles());
        let (_, rest) = self.sending.other_boxes(&self.io.gpu, (listed, singles));
        let rest = match rest.1.is_empty() {
            true => Vec::new(),
            false => self.io.submit(build, |_, _, _| (), &[], &[rest]).await?.remove(0),
        };
        Ok(Boxes::new(boxes, &rest, listed as usize))
    }

    /// Walks the groups, and the sinks of `scattered` groups one by one, unless it is stopped.
    async fn walk_groups(
        &mut self,
        build: &mut Build,
        (rule, balance): (&RuleKernels, Option<&BalanceKernels>),
        scattered: u32,
        work: &PartWork<'_>,
        member: &mut Member,
    ) -> Result<WalkResults> {
        let tally = &self.buffers.tally;
        let singles = self.buffers.singles.0;
        let ranges = [0..work.grouped(), singles..singles + scattered * GROUP as u32];
        let sinks = work.own.inside + work.own.outside;
        // Walks that take long, or whose time is not known, can be stopped between submissions.
        let is_long =
            self.learnt.report.walk_secs == 0.0 || self.learnt.report.walk_secs > LONG_WALK_SECS;
        let mut each = if is_long { FEW_GROUPS } else { GROUPS_AT_ONCE };
        for range in ranges {
            let mut begin = range.start;
            while begin < range.end {
                let (first, end) = (begin, range.end.min(begin + each));
                let record = |pass: &mut wgpu::ComputePass<'_>,
                              params: &mut Params<TreeParams>,
                              _: &mut Build| {
                    rule.walk.record(pass, params, first, end);
                    rule.walk.record_far(pass, params, first, end);
                };
                begin = end;
                if !is_long {
                    self.io.record(build, record, &[]);
                    self.io.send(build);
                    continue;
                }
                member.poll_stop();
                if stop::is_wanted() {
                    return Ok(WalkResults { stopped: 1, ..WalkResults::default() });
                }
                let begun = crate::wall_clock::Instant::now();
                self.io.submit(build, record, &[], &[(tally, 0..4)]).await?;
                let secs = begun.elapsed().as_secs_f64().max(1e-6);
                let next = f64::from(each) * (SUBMISSION_SECS / secs).clamp(0.25, 4.0);
                each = (next as u32).clamp(1, GROUPS_AT_ONCE);
            }
        }
        let (missing, most) = (&self.missing, self.io.gpu.limits.workgroups);
        let read = self
            .io
            .submit(
                build,
                |pass, params, _| {
                    let row = TreeParams { count: sinks, ..Default::default() };
                    let row = Some(params.offset_of(row));
                    dispatch(pass, missing, row, (sinks, 256), most);
                    if let Some(balance) = balance {
                        // In the unit and with the mean of the last time, which are nearly always
                        // those of now.
                        (0..3).for_each(|stage| balance.record_stage(pass, stage));
                    }
                },
                &[],
                &[(tally, 0..tally.size())],
            )
            .await?;
        let word = |at: u64| tally::word(&read[0], at);
        Ok(WalkResults {
            missing: word(tally::MISSING),
            stopped: 0,
            greatest: [0, 4].map(|at| word(tally::GREATEST.start + at)),
            sums: std::array::from_fn(|k| {
                tally::long(&read[0], tally::FORCES.start + 8 * k as u64)
            }),
        })
    }

    /// The sums of all ranks as far as they are right: those of forces, sizes and masses if they were
    /// in the unit that the greatest force needs, that of shares if also the mean was right. The next
    /// ones expect this unit and mean.
    fn sums_of(&mut self, all: &[WalkResults]) -> BalanceSums {
        // The bits of positive numbers have their order.
        let greatest = [0, 1].map(|k| all.iter().map(|of| of.greatest[k]).fold(0, u32::max));
        let tally = self.buffers.tally.clone();
        self.io.write(&tally, tally::GREATEST.start, &greatest);
        self.io.write(&tally, tally::EXPECTED.start, &[0u32; 2]);
        let needed = greatest.map(|bits| bits & EXPONENT);
        let unit_was_right = std::mem::replace(&mut self.learnt.greatest, needed) == needed;
        if !unit_was_right {
            return BalanceSums::default();
        }
        let mut forces = added(all.iter().map(|of| &of.sums[..]));
        let shares = forces.pop();
        let mean_was_right = self.expect_mean(&forces);
        BalanceSums { forces: Some(forces), shares: shares.filter(|_| mean_was_right) }
    }

    /// Expects the mean of these sums next; returns whether it was expected now.
    fn expect_mean(&mut self, forces: &[u64]) -> bool {
        let mean = [3, 4].map(|k| leading(forces[k])).map(|sum| [sum as u32, (sum >> 32) as u32]);
        std::mem::replace(&mut self.learnt.mean, mean) == mean
    }

    /// Corrects the total force of all ranks, whose greatest force and mass the tally has, and `sums`
    /// as far as they are known. The last kernel is recorded, not sent.
    pub(super) async fn balance(
        &mut self,
        member: &mut Member,
        build: &mut Build,
        balance: &BalanceKernels,
        sums: BalanceSums,
    ) -> Result<()> {
        let stage = |k: usize| {
            move |pass: &mut wgpu::ComputePass<'_>, _: &mut Params<TreeParams>, _: &mut Build| {
                balance.record_stage(pass, k);
            }
        };
        let forces = match sums.forces {
            Some(forces) => forces,
            None => {
                let forces = self.sum(member, build, stage(1), tally::FORCES).await?;
                self.expect_mean(&forces);
                forces
            }
        };
        let tally = self.buffers.tally.clone();
        self.io.write(&tally, tally::FORCES.start, &words_of(&forces));
        let shares = match sums.shares {
            Some(shares) => vec![shares],
            None => {
                self.io.write(&tally, tally::EXPECTED_MEAN.start, &[0u32; 4]);
                self.sum(member, build, stage(2), tally::SHARES).await?
            }
        };
        self.io.write(&tally, tally::SHARES.start, &words_of(&shares));
        self.io.record(build, stage(3), &[]);
        Ok(())
    }

    /// Sums that `record` adds to these words of the tally, over all ranks.
    async fn sum(
        &mut self,
        member: &mut Member,
        build: &mut Build,
        record: impl FnOnce(&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>, &mut Build),
        words: Range<u64>,
    ) -> Result<Vec<u64>> {
        let tally = self.buffers.tally.clone();
        self.io.write(&tally, words.start, &vec![0u32; (words.end - words.start) as usize / 4]);
        let read = self.io.submit(build, record, &[], &[(&tally, words)]).await?;
        let own: Vec<u64> =
            read[0].chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        let all = exchange::gather(member, &own)?;
        Ok(added(all.iter().map(Vec::as_slice)))
    }
}

/// Sums of all ranks for the correction of the total force, unless they are to be made again.
#[derive(Default)]
pub(super) struct BalanceSums {
    /// Of forces, of their sizes and of masses.
    forces: Option<Vec<u64>>,
    shares: Option<u64>,
}

/// The three leading bits of a sum, which decide the mean (`shaders/tree/balance.wgsl`).
fn leading(sum: u64) -> u64 {
    let low = 61u32.saturating_sub(sum.leading_zeros());
    sum >> low << low
}

fn words_of(sums: &[u64]) -> Vec<u32> {
    sums.iter().flat_map(|sum| [*sum as u32, (*sum >> 32) as u32]).collect()
}

/// Sums in two's complement.
fn added<'a>(all: impl Iterator<Item = &'a [u64]>) -> Vec<u64> {
    let mut sums = Vec::new();
    for own in all {
        sums.resize(own.len(), 0u64);
        sums.iter_mut().zip(own).for_each(|(sum, one)| *sum = sum.wrapping_add(*one));
    }
    sums
}

/// What a part has found in its walks.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct WalkResults {
    /// The sums of forces, of their sizes, of masses and of shares.
    sums: [u64; 6],
    /// The bits of the greatest force and mass.
    greatest: [u32; 2],
    /// Sinks that have met a cell that was not sent.
    missing: u32,
    /// Whether the walks were stopped.
    stopped: u32,
}
