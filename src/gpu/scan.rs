//! Exclusive prefix sums of 32-bit numbers on the device.
//!
//! Reduce, then scan: sums of workgroups, sums of those, and back. Up to 2,048 numbers take one
//! dispatch, up to 4 million three, more five. A single-pass scan with look-back would read the
//! numbers once less, but there one workgroup waits for another, and WebGPU does not guarantee that
//! the other ever runs. Integer sums modulo 2^32 do not depend on the order, so the bits are the
//! same on every adapter.

use minijinja::context;

use super::Binding::{self, Read, Write};
use super::entries::{rows_of_workgroups, words_of};
use super::layout::ScanParams;
use super::{BoundKernel, Checks, Gpu, Params, compile, template};
use crate::error::Result;

/// Numbers per thread; 32 bytes are one memory transaction.
const EACH_THREAD: u32 = 8;
/// Numbers per workgroup of 256 threads.
const BLOCK: u32 = 256 * EACH_THREAD;

/// Rows of parameters for one submission: several different counts, of three levels each.
const PARAMS_ROWS: usize = 48;

/// A kernel: its file, and the bindings of the numbers and of the sums of workgroups.
type ScanKernel = (&'static str, [Binding; 2]);

/// Reduces numbers to sums of workgroups.
const REDUCE: ScanKernel = ("scan/reduce.wgsl", [Read, Write]);
/// Scans a level whose sums of workgroups have been replaced by their prefix sums.
const BELOW: ScanKernel = ("scan/scan.wgsl", [Write, Read]);
/// Scans a level of one workgroup.
const UPPERMOST: ScanKernel = ("scan/scan.wgsl", [Write, Write]);

fn text(kernel: ScanKernel) -> Result<String> {
    let (reduce, below) = (kernel == REDUCE, kernel == BELOW);
    template::assemble(kernel.0, context! { each_thread => EACH_THREAD, reduce, below })
}

/// Exclusive prefix sums in place, bound to one buffer. Everything is created once; a call records
/// dispatches.
#[derive(Debug)]
pub struct Scan {
    levels: Vec<Level>,
    total: wgpu::Buffer,
    params: Params<ScanParams>,
    capacity: u32,
    most_workgroups: u32,
}

/// The numbers themselves, or sums of workgroups of the level below.
#[derive(Debug)]
struct Level {
    /// Numbers that an entry represents.
    each: u32,
    reduce: BoundKernel,
    below: BoundKernel,
    uppermost: BoundKernel,
}

impl Scan {
    /// Creates a scan of up to `capacity` numbers (`array<u32>`) at the beginning of `values`. With
    /// `count` (`array<u32>`, another buffer), at most as many numbers take part as its first entry
    /// says when the dispatches run.
    ///
    /// # Errors
    /// A buffer too short for `capacity`, or larger than the adapter's storage buffers.
    pub async fn new(
        gpu: &Gpu,
        values: &wgpu::Buffer,
        count: Option<&wgpu::Buffer>,
        capacity: u32,
        checks: Checks,
    ) -> Result<Self> {
        let bytes = 4 * u64::from(capacity).max(1);
        gpu.check_room("numbers to be summed", values, bytes)?;
        let count = count.cloned().unwrap_or_else(|| gpu.unlimited_count());
        let total = gpu.words("sum of all", 1);
        let params = Params::new(gpu, "scan params", PARAMS_ROWS);
        let mut levels = Vec::new();
        let (mut entries, mut each) = (values.clone(), 1u32);
        let mut length = capacity.max(1);
        loop {
            let groups = length.div_ceil(BLOCK);
            let blocks = gpu.words("sums of workgroups", u64::from(groups));
            let bind = async |kernel: ScanKernel, blocks: &wgpu::Buffer| {
                let (file, [values, sums]) = kernel;
                let params_binding = Binding::Params(size_of::<ScanParams>() as u64);
                let bindings = [values, sums, Read, params_binding];
                let compiled = compile(gpu, file, &text(kernel)?, &bindings, checks).await?;
                let resources = [
                    words_of(&entries, u64::from(length)),
                    blocks.as_entire_binding(),
                    count.as_entire_binding(),
                    params.binding(),
                ];
                Ok::<_, crate::error::Error>(compiled.bind(gpu, file, &resources))
            };
            levels.push(Level {
                each,
                reduce: bind(REDUCE, &blocks).await?,
                below: bind(BELOW, &blocks).await?,
                uppermost: bind(UPPERMOST, &total).await?,
            });
            if groups == 1 {
                break;
            }
            (entries, length) = (blocks, groups);
            each *= BLOCK;
        }
        Ok(Self { levels, total, params, capacity, most_workgroups: gpu.limits.workgroups })
    }

    /// Where the dispatches write the sum of all numbers (one `u32`).
    pub fn total(&self) -> &wgpu::Buffer {
        &self.total
    }

    /// Begins a submission.
    pub fn begin_submission(&mut self) {
        self.params.clear();
    }

    /// Sends the parameters of everything recorded. Call before submitting.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    /// Whether this submission may have no room for another count.
    pub fn is_full(&self) -> bool {
        !self.params.has_room(self.levels.len())
    }

    /// Records the sums of the first `count` numbers, at most the capacity: each is replaced by the
    /// sum of those before it. Numbers beyond them do not change.
    pub fn record(&mut self, pass: &mut wgpu::ComputePass<'_>, count: u32) {
        debug_assert!(count <= self.capacity, "a scan takes no more numbers than it was made for");
        let count = count.min(self.capacity);
        let Self { levels, params, most_workgroups, .. } = self;
        let entries = |level: &Level| count.div_ceil(level.each);
        let needed = levels.iter().position(|level| entries(level) <= BLOCK);
        let uppermost = needed.unwrap_or(levels.len() - 1);
        let mut dispatch = |kernel: &BoundKernel, level: &Level| {
            let row = ScanParams { count, each: level.each, ..Default::default() };
            kernel.set(pass, &[params.offset_of(row)]);
            let [x, y] = rows_of_workgroups(entries(level).div_ceil(BLOCK), *most_workgroups);
            pass.dispatch_workgroups(x, y, 1);
        };
        for level in &levels[..uppermost] {
            dispatch(&level.reduce, level);
        }
        dispatch(&levels[uppermost].uppermost, &levels[uppermost]);
        for level in levels[..uppermost].iter().rev() {
            dispatch(&level.below, level);
        }
    }
}

/// Prefix sums on the host: each number is replaced by the sum of those before it, modulo 2^32;
/// returns the sum of all.
pub fn scan_on_host(values: &mut [u32]) -> u32 {
    let mut sum = 0u32;
    for value in values {
        let own = *value;
        *value = sum;
        sum = sum.wrapping_add(own);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn every_text_validates_and_translates() {
        for kernel in [REDUCE, BELOW, UPPERMOST] {
            let text = text(kernel).unwrap();
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                for checks in [Checks::On, Checks::Off] {
                    let out = translate(kernel.0, &text, language, checks);
                    assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
                }
            }
        }
    }

    #[test]
    fn host_scan_is_exclusive_prefix_sum() {
        let mut values = [3, 0, u32::MAX, 5];
        assert_eq!(scan_on_host(&mut values), 7);
        assert_eq!(values, [0, 3, 3, 2]);
        assert_eq!(scan_on_host(&mut []), 0);
    }
}
