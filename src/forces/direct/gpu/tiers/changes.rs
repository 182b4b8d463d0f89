//! Incremental updates of device records: changed records are staged, uploaded in one transfer and
//! scattered by a kernel. With mapped storage many are written directly into the buffer that the
//! kernel reads, since copying them there takes as long as computing them.

use super::records::first_refused;
use super::rows::Word;
use crate::error::Result;
use crate::gpu::layout::{ScatterParams, VEC4};
use crate::gpu::{
    Batch, Binding, BoundKernel, Checks, ComputeKernel, Gpu, Transfer, compile, storage, template,
};

/// The device's records of bodies, and which of them have to be updated.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Words of a record.
    words: usize,
    /// Bodies whose records changed, without duplicates.
    changed: Vec<u32>,
    /// For each body, whether it is in `changed`.
    is_changed: Vec<bool>,
    /// Upload format: for each body in `changed` a word with its index, then its record. Filled by
    /// [`Changes::stage`] or in [`Changes::scatter`].
    staging: Vec<Word>,
    /// Words of the staged records; `None` if those of `changed` are not staged.
    staged: Option<usize>,
    /// Whether they are staged in `separate` rather than in `staging`.
    in_place: bool,
    /// Whether all records have to be sent.
    pub all: bool,
    records: Option<wgpu::Buffer>,
    kernel: Option<ComputeKernel>,
    /// Buffer of its own for many changes.
    separate: Option<Transfer>,
    /// The kernel bound to the current buffers of changes, records and parameters: for changes
    /// within the batch, and for those in `separate`.
    bound: [CachedBinding; 2],
}

/// A kernel bound to two buffers and a row of parameters in a third one, until one is replaced.
#[derive(Debug, Default)]
pub(super) struct CachedBinding(Option<([wgpu::Buffer; 3], BoundKernel)>);

impl CachedBinding {
    pub fn to(
        &mut self,
        gpu: &Gpu,
        label: &str,
        kernel: &ComputeKernel,
        buffers: [&wgpu::Buffer; 3],
        row: wgpu::BindingResource<'_>,
    ) -> &BoundKernel {
        self.0.take_if(|(known, _)| known.each_ref() != buffers);
        let (_, bound) = self.0.get_or_insert_with(|| {
            let [first, second, _] = buffers.map(wgpu::Buffer::as_entire_binding);
            (buffers.map(Clone::clone), kernel.bind(gpu, label, &[first, second, row]))
        });
        bound
    }
}

/// Words from which on changes have a buffer of their own, which takes less time than another copy.
const SEPARATE_WORDS: usize = 4096;

impl Changes {
    /// Starts with `count` other bodies in records of `words` words: all have to be sent.
    pub fn restart(&mut self, count: usize, words: usize) {
        self.words = words;
        self.changed.clear();
        self.is_changed.clear();
        self.is_changed.resize(count, false);
        self.all = true;
    }

    /// Whether there are no changes to send.
    pub fn is_clean(&self) -> bool {
        !self.all && self.changed.is_empty()
    }

    /// Stages new records for these bodies. The caller fills the returned slice: for each body a
    /// word with its index, then the first `words` words of the record, the others being 0. There
    /// may be no earlier changes ([`Changes::is_clean`]). `None` if a body occurs twice; nothing is
    /// staged then.
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
        self.in_place = all >= SEPARATE_WORDS
            && gpu.tier.mapped_storage
            && !gpu.is_lost()
            && self.fit_separate(gpu, all).try_map();
        if self.in_place
            && let Some(separate) = &mut self.separate
            && let Some(bytes) = separate.bytes(0..all * size_of::<Word>())
        {
            return Some(bytemuck::cast_slice_mut(bytes));
        }
        self.in_place = false;
        if self.staging.len() < all {
            self.staging.resize(all, Word::default());
        }
        Some(&mut self.staging[..all])
    }

    /// The buffer for `words` words of changes.
    fn fit_separate(&mut self, gpu: &Gpu, words: usize) -> &mut Transfer {
        let bytes = words as u64 * VEC4;
        self.separate.take_if(|separate| separate.buffer.size() < bytes);
        self.separate.get_or_insert_with(|| Transfer::new(gpu, bytes.next_power_of_two()))
    }

    /// Discards staged records.
    pub fn unstage(&mut self) {
        self.changed.drain(..).for_each(|j| self.is_changed[j as usize] = false);
        (self.staged, self.in_place) = (None, false);
    }

    /// Marks the record of body `j` as changed.
    pub fn note(&mut self, j: u32) {
        if !std::mem::replace(&mut self.is_changed[j as usize], true) {
            self.changed.push(j);
        }
        (self.staged, self.in_place) = (None, false);
    }

    /// Bytes to upload.
    pub fn bytes(&self) -> u64 {
        let whole = self.is_changed.len() * self.words;
        let some = self.changed.len() * (self.staged.unwrap_or(self.words) + 1);
        VEC4 * (if self.is_whole() { whole } else { some }) as u64
    }

    /// Whether all records will be sent rather than the changed ones.
    pub fn is_whole(&self) -> bool {
        self.all || self.exceed_half(self.changed.len())
    }

    /// Whether `count` is more than half: then all are sent, by one copy.
    pub fn exceed_half(&self, count: usize) -> bool {
        count > self.is_changed.len() / 2
    }

    /// The buffer of the records. If it had to be created, all records have to be sent. Needs at
    /// least one body.
    pub fn fit(&mut self, gpu: &Gpu, label: &str) -> wgpu::Buffer {
        let need = self.is_changed.len() * self.words;
        if let Some(buffer) = &self.records
            && buffer.size() >= need as u64 * VEC4
        {
            return buffer.clone();
        }
        // Grown geometrically, so that adding one body at a time does not reallocate each time.
        let most = (gpu.limits.storage_buffer / VEC4) as usize;
        let room = if self.records.is_some() { need + need / 2 } else { need };
        let buffer = storage(gpu, label, room.min(most));
        self.records = Some(buffer.clone());
        self.all = true;
        buffer
    }

    /// Compiles the kernel of [`Changes::scatter`], once.
    ///
    /// # Errors
    /// It does not compile.
    pub async fn prepare(&mut self, gpu: &Gpu) -> Result<()> {
        if self.kernel.is_none() {
            let name = "direct/scatter.wgsl";
            let text = template::assemble(name, minijinja::context! {})?;
            let params = Binding::Params(size_of::<ScatterParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            self.kernel = Some(compile(gpu, name, &text, &bindings, Checks::default()).await?);
        }
        Ok(())
    }

    /// Writes the changed records into the buffer of [`Changes::fit`], by a kernel in `batch`
    /// ([`Changes::prepare`]). `make` computes the record of a body and returns whether it fits the
    /// tier. Returns the first body that does not; the batch must not be submitted then.
    pub fn scatter(
        &mut self,
        gpu: &Gpu,
        batch: &mut Batch,
        records: &wgpu::Buffer,
        make: impl Fn(usize, &mut [Word]) -> bool + Sync,
    ) -> Option<usize> {
        let count = self.changed.len();
        if count == 0 {
            return None;
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
                make(changed[k] as usize, &mut out[1..])
            });
            if let Some(k) = refused {
                return Some(changed[k] as usize);
            }
        }
        let all = count * each;
        let (at, from, which) = if all < SEPARATE_WORDS || batch.is_in_place() && !self.in_place {
            let (at, words) = batch.part::<Word>(all);
            words.copy_from_slice(&self.staging[..all]);
            (at, batch.buffer().clone(), 0)
        } else {
            let is_written = self.in_place;
            let separate = self.fit_separate(gpu, all);
            // A mapping may have been requested.
            separate.try_map();
            separate.unmap();
            let buffer = separate.buffer.clone();
            if !is_written {
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
        let kernel = self.kernel.as_ref().expect("prepared before");
        let row = batch.row_binding::<ScatterParams>();
        let buffers = [&from, records, batch.buffer()];
        let bound = self.bound[which].to(gpu, "scatter", kernel, buffers, row);
        // Threads write several words where one each would exceed the limit of a dispatch.
        let groups = (count * self.words).div_ceil(64).min(4096) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        None
    }

    /// Marks all records as sent.
    pub fn sent(&mut self) {
        self.unstage();
        self.all = false;
    }

    /// Call after the submission: requests mapping for the host once the device is done.
    pub fn submitted(&mut self) {
        self.separate.iter_mut().for_each(Transfer::request_mapping);
    }
}
