//! Which groups are scattered: those near the ends of a part ask the other ranks for their bodies.

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::io::{Io, Shared};
use crate::error::Result;
use crate::exchange::{self, Member};
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::{Build, Strengths, TreeBuffers};
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

/// The kernels and their buffers.
pub(super) struct Crowds {
    ask: BoundKernel,
    answer: BoundKernel,
    pub questions: wgpu::Buffer,
    asked: wgpu::Buffer,
    answers: wgpu::Buffer,
}

impl Crowds {
    pub async fn new(io: &Io, shared: &Shared<'_>) -> Result<Self> {
        let Shared { buffers, checks, .. } = *shared;
        let groups = buffers.count.div_ceil(GROUP as u32) as usize + 1;
        let questions = storage(&io.gpu, "questions", 2 * groups);
        let asked = storage(&io.gpu, "questions of others", 2 * AT_ONCE);
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
        let bound = [(Read, keys), (Read, state), (Read, &asked), (Write, &answers)];
        let answer = kernel("answer", &bound, true).await?;
        Ok(Self { ask, answer, questions, asked, answers })
    }

    /// Records the questions, after the groups of `inside` bodies.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, inside: u32, most: u32) {
        dispatch(pass, &self.ask, None, (inside.div_ceil(GROUP as u32), 256), most);
    }

    /// Answers the questions of all ranks, and makes those groups scattered that are. Returns their
    /// number.
    pub async fn settle(
        &self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        buffers: &TreeBuffers,
        (questions, strengths): (&[Question], Strengths),
    ) -> Result<u32> {
        let most = io.gpu.limits.workgroups;
        let asked = exchange::gather(member, questions)?;
        if asked.iter().all(Vec::is_empty) {
            return Ok(0);
        }
        let mut found: Vec<[u32; 2]> = Vec::new();
        for chunk in asked.concat().chunks(AT_ONCE) {
            io.write(&self.asked, 0, chunk);
            let count = chunk.len() as u32;
            let read = io
                .submit(
                    build,
                    |pass, params, _| {
                        let row = TreeParams { count, ..Default::default() };
                        let row = Some(params.offset_of(row));
                        dispatch(pass, &self.answer, row, (count, 1), most);
                    },
                    &[],
                    &[(&self.answers, 0..8 * u64::from(count))],
                )
                .await?;
            found.extend(bytemuck::pod_collect_to_vec::<u32, [u32; 2]>(&read[0]));
        }
        let mut found = found.into_iter();
        let answers: Vec<Vec<[u32; 2]>> =
            asked.iter().map(|questions| found.by_ref().take(questions.len()).collect()).collect();
        let answers = exchange::send_each(member, &answers)?;
        let mut scattered = Vec::new();
        for (k, question) in questions.iter().enumerate() {
            let total =
                |which: usize| answers.iter().map(|of| of[k][which] as usize).sum::<usize>();
            if total(0) > CROWD && total(1) > CROWD {
                scattered.push(question.group);
            }
        }
        let count = scattered.len() as u32;
        if count > 0 {
            io.write(&buffers.part.as_ref().expect("a part").scattered, 0, &scattered);
            let record = |pass: &mut wgpu::ComputePass<'_>,
                          params: &mut Params<TreeParams>,
                          build: &mut Build| {
                build.record_scattered(pass, params, strengths, count);
            };
            io.submit(build, record, &[], &[]).await?;
        }
        Ok(count)
    }
}
