//! Records that changed: made where they are sent from, sent in one piece, put in place by a kernel. Where the host writes
//! in place, many are made where that kernel reads them: to copy them there takes as long as to make them.

use super::records::first_refused;
use super::rows::Word;
use crate::error::Result;
use crate::gpu::layout::{ScatterParams, VEC4};
use crate::gpu::{
    Batch, Binding, BoundKernel, Checks, ComputeKernel, Gpu, Transfer, compile, storage, template,
};

/// The device's records of some bodies, and which of them are to be replaced.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Words of a record.
    words: usize,
    /// Bodies whose records changed, each once.
    changed: Vec<u32>,
    /// Whether a body is one of them.
    is_changed: Vec<bool>,
    /// As they are sent, each a body's number in a word of its own and its record: those of `changed`, or made when
    /// they are sent.
    staging: Vec<Word>,
    /// Words of the records that are staged; `None`: those of `changed` are not.
    staged: Option<usize>,
    /// Whether they are in `alone` rather than in `staging`.
    in_place: bool,
    /// Whether all records are to be sent.
    pub all: bool,
    records: Option<wgpu::Buffer>,
    kernel: Option<ComputeKernel>,
    /// Where many changes arrive by themselves.
    alone: Option<Transfer>,
    /// The kernel bound to the buffers of changes, records and parameters as they are now: for those that go along with a
    /// batch, and for those that are sent alone.
    bound: [Option<([wgpu::Buffer; 3], BoundKernel)>; 2],
}

/// Words from which on changes have a buffer of their own, which takes less time than to copy them once more.
const ALONG: usize = 4096;

impl Changes {
    /// Other bodies, `count` of them, in records of `words` words: all are to be sent.
    pub fn restart(&mut self, count: usize, words: usize) {
        self.words = words;
        self.changed.clear();
        self.is_changed.clear();
        self.is_changed.resize(count, false);
        self.all = true;
    }

    /// Whether nothing is to be sent yet.
    pub fn is_clean(&self) -> bool {
        !self.all && self.changed.is_empty()
    }

    /// These bodies have other records, which are to be written into what this returns: for each a word that has its
    /// number, and the first `words` of the record, whose others are 0. Nothing else may have changed
    /// ([`Changes::is_clean`]). `None`: a body comes twice, and nothing is done.
    pub fn stage(
        &mut self,
        gpu: &Gpu,
        bodies: impl Iterator<Item = u32>,
        words: usize,
    ) -> Option<&mut [Word]> {
        for j in bodies {
            if std::mem::replace(&mut self.is_changed[j as usize], true) {
                self.unstage();
                return None;
            }
            self.changed.push(j);
        }
        let all = self.changed.len() * (words + 1);
        self.staged = Some(words);
        self.in_place = all >= ALONG
            && gpu.tier.mapped_storage
            && !gpu.is_lost()
            && self.fit_alone(gpu, all).is_at_hand();
        if self.in_place
            && let Some(there) = &mut self.alone
            && let Some(bytes) = there.bytes(0..all * size_of::<Word>())
        {
            return Some(bytemuck::cast_slice_mut(bytes));
        }
        self.in_place = false;
        if self.staging.len() < all {
            self.staging.resize(all, Word::default());
        }
        Some(&mut self.staging[..all])
    }

    /// Where so many words arrive by themselves.
    fn fit_alone(&mut self, gpu: &Gpu, words: usize) -> &mut Transfer {
        let bytes = words as u64 * VEC4;
        self.alone.take_if(|there| there.buffer.size() < bytes);
        self.alone.get_or_insert_with(|| Transfer::new(gpu, bytes.next_power_of_two()))
    }

    /// What was staged is not to be sent.
    pub fn unstage(&mut self) {
        self.changed.drain(..).for_each(|j| self.is_changed[j as usize] = false);
        (self.staged, self.in_place) = (None, false);
    }

    /// Body `j` has another record.
    pub fn note(&mut self, j: u32) {
        if !std::mem::replace(&mut self.is_changed[j as usize], true) {
            self.changed.push(j);
        }
        (self.staged, self.in_place) = (None, false);
    }

    /// Bytes that are to be sent.
    pub fn bytes(&self) -> u64 {
        let whole = self.is_changed.len() * self.words;
        let some = self.changed.len() * (self.staged.unwrap_or(self.words) + 1);
        VEC4 * (if self.is_whole() { whole } else { some }) as u64
    }

    /// Whether all records are to be sent rather than those that changed.
    pub fn is_whole(&self) -> bool {
        self.all || self.are_most(self.changed.len())
    }

    /// Whether so many are more than half: then all are sent, by one copy.
    pub fn are_most(&self, count: usize) -> bool {
        count > self.is_changed.len() / 2
    }

    /// The buffer of the records. Of a new one, which is empty, all are to be sent. There must be bodies.
    pub fn fit(&mut self, gpu: &Gpu, label: &str) -> wgpu::Buffer {
        let need = self.is_changed.len() * self.words;
        if let Some(buffer) = &self.records
            && buffer.size() >= need as u64 * VEC4
        {
            return buffer.clone();
        }
        // A client that adds one body at a time does not get a new buffer for each.
        let most = (gpu.limits.storage_buffer / VEC4) as usize;
        let room = if self.records.is_some() { need + need / 2 } else { need };
        let buffer = storage(gpu, label, room.min(most));
        self.records = Some(buffer.clone());
        self.all = true;
        buffer
    }

    /// Sends what changed into the buffer of [`Changes::fit`], by a kernel in `batch`. `make` makes the record of a body
    /// and tells whether it fits the tier. The first body whose record does not, if any: nothing is to be submitted then.
    ///
    /// Errors: a kernel that does not compile.
    pub async fn scatter(
        &mut self,
        gpu: &Gpu,
        batch: &mut Batch,
        records: &wgpu::Buffer,
        make: impl Fn(u32, &mut [Word]) -> bool + Sync,
    ) -> Result<Option<u32>> {
        let count = self.changed.len();
        if count == 0 {
            return Ok(None);
        }
        if self.kernel.is_none() {
            let name = "direct/scatter.wgsl";
            let text = template::assemble(name, minijinja::context! {})?;
            let params = Binding::Params(size_of::<ScatterParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            self.kernel = Some(compile(gpu, name, &text, &bindings, Checks::default()).await?);
        }
        let sent = self.staged.unwrap_or(self.words);
        let each = sent + 1;
        if self.staged.is_none() {
            let changed = &self.changed;
            if self.staging.len() < count * each {
                self.staging.resize(count * each, Word::default());
            }
            let refused = first_refused(&mut self.staging[..count * each], each, |(k, out)| {
                out[0] = [changed[k], 0, 0, 0];
                make(changed[k], &mut out[1..])
            });
            if let Some(k) = refused {
                return Ok(Some(changed[k]));
            }
        }
        let all = count * each;
        let (at, from, which) = if all < ALONG || batch.is_in_place() && !self.in_place {
            let (at, there) = batch.part::<Word>(all);
            there.copy_from_slice(&self.staging[..all]);
            (at, batch.buffer().clone(), 0)
        } else {
            let is_there = self.in_place;
            let alone = self.fit_alone(gpu, all);
            // It may have been asked for.
            alone.is_at_hand();
            alone.release();
            let buffer = alone.buffer.clone();
            if !is_there {
                let bytes = bytemuck::cast_slice(&self.staging[..all]);
                gpu.queue.write_buffer(&buffer, 0, bytes);
            }
            (0, buffer, 1)
        };
        let offset = batch.row(ScatterParams {
            count: count as u32,
            words: self.words as u32,
            at: at / VEC4 as u32,
            sent: sent as u32,
        });
        let goal = [&from, records, batch.buffer()];
        if self.bound[which].as_ref().is_none_or(|(known, _)| known.each_ref() != goal) {
            let kernel = self.kernel.as_ref().expect("made above");
            let row = batch.row_binding::<ScatterParams>();
            let resources = [goal[0].as_entire_binding(), goal[1].as_entire_binding(), row];
            let bound = kernel.bind(gpu, "scatter", &resources);
            self.bound[which] = Some((goal.map(Clone::clone), bound));
        }
        let (_, bound) = self.bound[which].as_ref().expect("made above");
        // Threads take several words where there are more than a dispatch may have.
        let groups = (count * self.words).div_ceil(64).min(4096) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        Ok(None)
    }

    /// All is sent: nothing has changed any more.
    pub fn sent(&mut self) {
        self.unstage();
        self.all = false;
    }

    /// After the submission that uses what was sent: once the device is done the host may write again.
    pub fn submitted(&mut self) {
        self.alone.iter_mut().for_each(Transfer::ask);
    }
}
