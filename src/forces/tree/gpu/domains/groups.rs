//! Which groups are scattered: those near the ends of a part ask the other ranks for their bodies.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::io::{Io, PartResources};
use crate::error::Result;
use crate::exchange::{self, Member};
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::forces::tree::{CROWD, GROUP};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel, Params, storage};

/// QUESTIONS in `shaders/tree/common.wgsl`, in bytes.
pub(super) const QUESTIONS: u64 = 4 * 284;

/// Questions that are read at once, and that are answered at a time.
pub(super) const EXPECTED: u64 = 256;
const AT_ONCE: usize = 1 << 14;

/// What a group asks: its number and the box around its sinks, in intervals of the cube.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Question {
    group: u32,
    nearest: [u32; 3],
    coarse: u32,
    farthest: [u32; 3],
}

/// The questions of all ranks, in the order of these.
#[derive(Default)]
pub(super) struct GatheredQuestions {
    own: Vec<Question>,
    counts: Vec<usize>,
    all: Vec<Question>,
}

/// The kernels and their buffers.
pub(super) struct Crowds {
    ask: BoundKernel,
    answer: BoundKernel,
    pub questions: wgpu::Buffer,
    received: wgpu::Buffer,
    answers: wgpu::Buffer,
}

impl Crowds {
    pub async fn new(io: &Io, shared: &PartResources<'_>) -> Result<Self> {
        let PartResources { buffers, checks, .. } = *shared;
        let groups = buffers.count.div_ceil(GROUP as u32) as usize + 1;
        let questions = storage(&io.gpu, "questions", 2 * groups);
        let received = storage(&io.gpu, "questions of others", 2 * AT_ONCE);
        let answers = io.gpu.words("answers", 2 * AT_ONCE as u64);
        use Binding::{Read, Write};
        let TreeBuffers { groups, keys, state, tally, .. } = buffers;
        let values = context! { crowd => CROWD };
        let kernel = async |name: &str, bound: &[(Binding, &wgpu::Buffer)], has_params: bool| {
            io.kernel(name, values.clone(), bound, has_params, checks).await
        };
        let bound =
            [(Read, groups), (Read, keys), (Read, state), (Write, &questions), (Write, tally)];
        let ask = kernel("ask", &bound, false).await?;
        let bound = [(Read, keys), (Read, state), (Read, &received), (Write, &answers)];
        let answer = kernel("answer", &bound, true).await?;
        Ok(Self { ask, answer, questions, received, answers })
    }

    /// Records the questions, after the groups of `inside` bodies.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, inside: u32, most: u32) {
        dispatch(pass, &self.ask, None, (inside.div_ceil(GROUP as u32), 256), most);
    }

    /// Gathers the questions of all ranks and writes the first of them before the next submission.
    ///
    /// # Errors
    /// As of [`exchange::gather`].
    pub fn ask(
        &self,
        io: &mut Io,
        member: &mut Member,
        own: Vec<Question>,
    ) -> Result<GatheredQuestions> {
        let of = exchange::gather(member, &own)?;
        let all = of.concat();
        io.write(&self.received, 0, &all[..all.len().min(AT_ONCE)]);
        Ok(GatheredQuestions { own, counts: of.iter().map(Vec::len).collect(), all })
    }

    /// Records the answers to `count` questions that have been written.
    fn record_answers_to(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        count: u32,
        most: u32,
    ) {
        let row = Some(params.offset_of(TreeParams { count, ..Default::default() }));
        dispatch(pass, &self.answer, row, (count, 1), most);
    }

    /// Records the answers to the first questions, which [`Crowds::answers`] reads.
    pub fn record_answers(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        gathered: &GatheredQuestions,
        most: u32,
    ) {
        if !gathered.all.is_empty() {
            self.record_answers_to(pass, params, gathered.all.len().min(AT_ONCE) as u32, most);
        }
    }

    /// See [`Crowds::record_answers`].
    pub fn answers(&self, gathered: &GatheredQuestions) -> (&wgpu::Buffer, Range<u64>) {
        (&self.answers, 0..8 * gathered.all.len().min(AT_ONCE) as u64)
    }

    /// The groups of this rank that are scattered by the bodies of all; `answers` are those to the
    /// first questions.
    ///
    /// # Errors
    /// The device failed; as of [`exchange::send_each`].
    pub async fn settle(
        &self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        gathered: &GatheredQuestions,
        answers: &[u32],
    ) -> Result<Vec<u32>> {
        if gathered.all.is_empty() {
            return Ok(Vec::new());
        }
        let most = io.gpu.limits.workgroups;
        let mut found: Vec<[u32; 2]> = bytemuck::pod_collect_to_vec(answers);
        for chunk in gathered.all.chunks(AT_ONCE).skip(1) {
            io.write(&self.received, 0, chunk);
            let count = chunk.len() as u32;
            let read = io
                .submit(
                    build,
                    |pass, params, _| self.record_answers_to(pass, params, count, most),
                    &[],
                    &[(&self.answers, 0..8 * u64::from(count))],
                )
                .await?;
            found.extend(bytemuck::pod_collect_to_vec::<u32, [u32; 2]>(&read[0]));
        }
        let mut found = found.into_iter();
        let answers: Vec<Vec<[u32; 2]>> =
            gathered.counts.iter().map(|count| found.by_ref().take(*count).collect()).collect();
        let answers = exchange::send_each(member, &answers)?;
        let is_scattered = |k: usize| {
            let total =
                |which: usize| answers.iter().map(|of| of[k][which] as usize).sum::<usize>();
            total(0) > CROWD && total(1) > CROWD
        };
        let own = gathered.own.iter().enumerate();
        Ok(own.filter(|(k, _)| is_scattered(*k)).map(|(_, question)| question.group).collect())
    }
}
