//! Records that changed: gathered, sent in one piece, put in place by a kernel.

use super::frame::Word;
use crate::error::Result;
use crate::gpu::layout::{ScatterParams, VEC4};
use crate::gpu::{
    Batch, Binding, BoundKernel, Checks, ComputeKernel, Gpu, Params, compile, storage, template,
};

/// No record of it has changed.
const NONE: u32 = u32::MAX;

/// The device's records of some bodies, and which of them are to be replaced.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Words of a record.
    words: usize,
    /// Per change the number of its body in a word of its own, and its record.
    staging: Vec<Word>,
    /// Per body its change, or [`NONE`].
    slot: Vec<u32>,
    /// Whether all records are to be sent.
    pub all: bool,
    records: Option<wgpu::Buffer>,
    changes: Option<wgpu::Buffer>,
    kernel: Option<(ComputeKernel, Params<ScatterParams>)>,
    /// The kernel bound to the buffers as they are now.
    bound: Option<BoundKernel>,
}

impl Changes {
    /// Other bodies, `count` of them, in records of `words` words: all are to be sent.
    pub fn restart(&mut self, count: usize, words: usize) {
        self.words = words;
        self.staging.clear();
        self.slot.clear();
        self.slot.resize(count, NONE);
        self.all = true;
    }

    /// The record that replaces body `j`'s.
    pub fn put(&mut self, j: u32, record: &[Word]) {
        let each = self.words + 1;
        let mut slot = self.slot[j as usize];
        if slot == NONE {
            slot = (self.staging.len() / each) as u32;
            self.slot[j as usize] = slot;
            self.staging.resize(self.staging.len() + each, [j, 0, 0, 0]);
        }
        let at = slot as usize * each + 1;
        self.staging[at..at + self.words].copy_from_slice(record);
    }

    /// Bytes that are to be sent.
    pub fn bytes(&self) -> u64 {
        let whole = self.slot.len() * self.words;
        VEC4 * (if self.is_whole() { whole } else { self.staging.len() }) as u64
    }

    /// Whether all records are to be sent rather than those that changed.
    pub fn is_whole(&self) -> bool {
        self.all || self.staging.len() / (self.words + 1) > self.slot.len() / 2
    }

    /// The buffer of the records. Of a new one, which is empty, all are to be sent. There must be bodies.
    pub fn fit(&mut self, gpu: &Gpu, label: &str) -> wgpu::Buffer {
        let need = self.slot.len() * self.words;
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
        self.bound = None;
        self.all = true;
        buffer
    }

    /// Sends what changed into the buffer of [`Changes::fit`], by a kernel in `batch`.
    ///
    /// Errors: a kernel that does not compile.
    pub async fn scatter(
        &mut self,
        gpu: &Gpu,
        batch: &mut Batch,
        records: &wgpu::Buffer,
    ) -> Result<()> {
        let count = self.staging.len() / (self.words + 1);
        if count == 0 {
            return Ok(());
        }
        let need = self.staging.len();
        let fits = self.changes.as_ref().is_some_and(|b| b.size() >= need as u64 * VEC4);
        if !fits {
            self.changes = Some(storage(gpu, "changes", need.next_power_of_two()));
            self.bound = None;
        }
        let changes = self.changes.as_ref().expect("made above");
        if self.kernel.is_none() {
            let name = "direct/scatter.wgsl";
            let text = template::assemble(name, minijinja::context! {})?;
            let params = Binding::Params(size_of::<ScatterParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;
            self.kernel = Some((kernel, Params::new(gpu, "scatter params", 1)));
        }
        let (kernel, params) = self.kernel.as_mut().expect("made above");
        batch.write(changes, bytemuck::cast_slice(&self.staging));
        params.clear();
        let offset = params.offset_of(ScatterParams {
            count: count as u32,
            words: self.words as u32,
            ..Default::default()
        });
        params.write(batch);
        let bound = self.bound.get_or_insert_with(|| {
            let resources =
                [changes.as_entire_binding(), records.as_entire_binding(), params.binding()];
            kernel.bind(gpu, "scatter", &resources)
        });
        // Threads take several words where there are more than a dispatch may have.
        let groups = (count * self.words).div_ceil(64).min(4096) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        Ok(())
    }

    /// All is sent: nothing has changed any more.
    pub fn sent(&mut self) {
        for change in self.staging.chunks(self.words + 1) {
            self.slot[change[0][0] as usize] = NONE;
        }
        self.staging.clear();
        self.all = false;
    }
}
