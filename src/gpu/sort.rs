//! A stable sort of keys with payloads, on the device.
//!
//! An LSD radix sort: digit by digit from the lowest, 8 bits at a time, with three dispatches each:
//! count the digits of every workgroup, add up, scatter. All bits of 64-bit keys take five digits,
//! from bit 24 on; keys that agree in them are few, and get their order by two more kernels
//! (`sort/runs.wgsl`, `sort/long_runs.wgsl`). No workgroup waits for another, which
//! WebGPU does not guarantee to end, and no subgroups are needed, whose size differs between
//! adapters. The result of a stable sort is unique, so the bits are the same on every adapter and
//! in every run.
//!
//! On an H200 (driver 580.159.04) a million 64-bit keys take 0.20 ms and 16 million 2.2 ms.
//! Workgroups that write keys row by row, without ordering them first, take 0.23 and 4.8 ms: beyond
//! the cache each write of a few bytes is one to memory. Measured by `benches/sort.rs`, by turns.
//!
//! Existing crates do not fit: lampshade 0.13 (wgpu 30, one maintainer) sorts 32-bit keys only and
//! needs its own buffers; wgpu_sort 0.1 is for wgpu 0.19 and guesses the size of subgroups. Keys of
//! a tree have 63 bits, and only the device knows their number.

use minijinja::context;

use super::Binding::{self, Read, Write};
use super::entries::{rows_of_workgroups, words_of};
use super::layout::SortParams;
use super::{BoundKernel, Checks, DeviceClass, Gpu, Params, compile, template};
use crate::error::{Error, Result};

/// Threads per workgroup, values of a digit, and keys per row.
const DIGITS: u32 = 256;
const BITS: u32 = 8;

/// The fewest and most rows of keys that a workgroup processes in sequence. Each workgroup has 256
/// counts of its own: fewer rows would make more counts than keys, more would leave a device idle,
/// and have no room in workgroup memory (`sort/scatter.wgsl`).
const ROWS: [u32; 2] = [4, 16];

/// Rows of parameters for one submission: several different counts, of 8 digits each.
const PARAMS_ROWS: usize = 64;

/// The type of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyWidth {
    /// `array<u32>`.
    Bits32,
    /// `array<vec2<u32>>`, the low word first: a little-endian `u64`.
    Bits64,
}

impl KeyWidth {
    /// Number of 32-bit words in a key.
    pub fn words(self) -> u32 {
        match self {
            Self::Bits32 => 1,
            Self::Bits64 => 2,
        }
    }

    /// Number of bits in a key.
    pub fn bits(self) -> u32 {
        32 * self.words()
    }
}

/// What to sort: the first entries of two buffers.
#[derive(Clone, Copy, Debug)]
pub struct SortedBuffers<'a> {
    /// Keys.
    pub keys: &'a wgpu::Buffer,
    /// Their type.
    pub width: KeyWidth,
    /// Their payloads (`array<u32>`), for example indices of bodies.
    pub payloads: &'a wgpu::Buffer,
    /// The most entries ever sorted.
    pub capacity: u32,
    /// If given, at most as many entries take part as its first number (`array<u32>`, another
    /// buffer) says when the dispatches run.
    pub count: Option<&'a wgpu::Buffer>,
}

/// The kernels: each file, and its bindings before the parameters.
const COUNT: (&str, &[Binding]) = ("sort/count.wgsl", &[Read, Write, Read]);
const SUM_DIGITS: (&str, &[Binding]) = ("sort/digits.wgsl", &[Write, Write]);
const SCATTER: (&str, &[Binding]) =
    ("sort/scatter.wgsl", &[Read, Read, Write, Write, Read, Read, Read]);
const RUNS: (&str, &[Binding]) = ("sort/runs.wgsl", &[Read, Read, Write, Write, Write, Read]);
const LONG_RUNS: (&str, &[Binding]) =
    ("sort/long_runs.wgsl", &[Write, Write, Write, Write, Read, Read]);

/// The lower digits of 64-bit keys, by which only keys that agree in the others are compared: an
/// odd number, and below 32 bits.
const LOW_DIGITS: u32 = 3;
/// The most keys that agree and find their places at once: `RUN` in `sort/keys.wgsl`.
const RUN: u32 = 64;

fn text(file: &str, width: KeyWidth, rows: u32) -> Result<String> {
    template::assemble(file, context! { words => width.words(), rows })
}

/// A sort of two buffers. Everything is created once; a call records dispatches.
#[derive(Debug)]
pub struct Sort {
    /// One binding from the caller's buffers to those of the sort, and one back.
    directions: [Direction; 2],
    digits: BoundKernel,
    /// For 64-bit keys: the kernels for short and long runs of keys that agree in the higher
    /// digits.
    runs: Option<[BoundKernel; 2]>,
    params: Params<SortParams>,
    width: KeyWidth,
    capacity: u32,
    rows: u32,
    most_workgroups: u32,
}

#[derive(Debug)]
struct Direction {
    count: BoundKernel,
    scatter: BoundKernel,
}

impl Sort {
    /// Compiles the kernels and creates their buffers: a second set of keys and payloads, and 1 KiB
    /// for each workgroup.
    ///
    /// # Errors
    /// Buffers too short for the capacity, or larger than the adapter's storage buffers.
    pub async fn new(gpu: &Gpu, buffers: SortedBuffers<'_>, checks: Checks) -> Result<Self> {
        let SortedBuffers { keys, width, payloads, capacity, count } = buffers;
        let room = u64::from(capacity.max(1));
        let key_words = room * u64::from(width.words());
        gpu.check_room("keys to be sorted", keys, 4 * key_words)?;
        gpu.check_room("payloads of keys", payloads, 4 * room)?;
        let rows = rows_for(gpu.adapter.class, capacity);
        let blocks = u64::from(blocks_of(capacity.max(1), rows));
        let other_keys = gpu.words("other keys", key_words);
        let other_payloads = gpu.words("other payloads", room);
        let counts = gpu.words("counts of digits", blocks * u64::from(DIGITS));
        let totals = gpu.words("digits", u64::from(DIGITS));
        let count = count.cloned().unwrap_or_else(|| gpu.unlimited_count());
        let params = Params::new(gpu, "sort params", PARAMS_ROWS);

        let bind = async |(file, bindings): (&str, &[Binding]),
                          resources: &[wgpu::BindingResource<'_>]| {
            let bindings = [bindings, &[Binding::Params(size_of::<SortParams>() as u64)]].concat();
            let compiled = compile(gpu, file, &text(file, width, rows)?, &bindings, checks).await?;
            Ok::<_, Error>(compiled.bind(gpu, file, resources))
        };
        let all = wgpu::Buffer::as_entire_binding;
        let own = [words_of(keys, key_words), words_of(payloads, room)];
        let other = [all(&other_keys), all(&other_payloads)];
        let direction =
            async |[from_keys, from_payloads]: &[wgpu::BindingResource<'_>; 2],
                   [to_keys, to_payloads]: &[wgpu::BindingResource<'_>; 2]| {
                let counting = [from_keys.clone(), all(&counts), all(&count), params.binding()];
                let scattering = [
                    from_keys.clone(),
                    from_payloads.clone(),
                    to_keys.clone(),
                    to_payloads.clone(),
                    all(&counts),
                    all(&totals),
                    all(&count),
                    params.binding(),
                ];
                Ok::<_, Error>(Direction {
                    count: bind(COUNT, &counting).await?,
                    scatter: bind(SCATTER, &scattering).await?,
                })
            };
        let directions = [direction(&own, &other).await?, direction(&other, &own).await?];
        let digits = bind(SUM_DIGITS, &[all(&counts), all(&totals), params.binding()]).await?;
        let runs = if width == KeyWidth::Bits64 {
            let long_runs = gpu.words("long runs", room.div_ceil(u64::from(RUN)));
            let [[own_keys, own_payloads], [other_keys, other_payloads]] = [own, other];
            let bound = [
                other_keys,
                other_payloads,
                own_keys,
                own_payloads,
                all(&long_runs),
                all(&count),
                params.binding(),
            ];
            Some([bind(RUNS, &bound).await?, bind(LONG_RUNS, &bound).await?])
        } else {
            None
        };
        let most_workgroups = gpu.limits.workgroups;
        Ok(Self { directions, digits, runs, params, width, capacity, rows, most_workgroups })
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
        !self.params.has_room((self.width.bits() / BITS) as usize)
    }

    /// Records the sort of the first `count` entries, at most the capacity, by the lowest `bits`
    /// bits of their keys, at most [`KeyWidth::bits`]. Entries beyond them do not change. Bits are
    /// processed 16 at a time: higher bits within the last such group must be 0, or they affect the
    /// order too.
    pub fn record(&mut self, pass: &mut wgpu::ComputePass<'_>, count: u32, bits: u32) {
        debug_assert!(count <= self.capacity, "a sort takes no more keys than it was made for");
        let count = count.min(self.capacity);
        if count < 2 {
            return;
        }
        let blocks = blocks_of(count, self.rows);
        let [x, y] = rows_of_workgroups(blocks, self.most_workgroups);
        // An even number of digits, so that the keys end in their own buffer.
        let digits = bits.min(self.width.bits()).div_ceil(2 * BITS) * 2;
        let runs = self.runs.as_ref().filter(|_| digits * BITS == self.width.bits());
        let first = if runs.is_some() { LOW_DIGITS } else { 0 };
        for digit in first..digits {
            let direction = &self.directions[(digit - first) as usize % 2];
            let row = SortParams { count, blocks, shift: digit * BITS, ..Default::default() };
            let offset = [self.params.offset_of(row)];
            direction.count.set(pass, &offset);
            pass.dispatch_workgroups(x, y, 1);
            self.digits.set(pass, &offset);
            pass.dispatch_workgroups(DIGITS, 1, 1);
            direction.scatter.set(pass, &offset);
            pass.dispatch_workgroups(x, y, 1);
        }
        if let Some([short, long]) = runs {
            let row = SortParams { count, blocks, shift: LOW_DIGITS * BITS, ..Default::default() };
            let offset = [self.params.offset_of(row)];
            for (kernel, each) in [(short, 1), (long, RUN)] {
                kernel.set(pass, &offset);
                let blocks = count.div_ceil(DIGITS * each);
                let [x, y] = rows_of_workgroups(blocks, self.most_workgroups);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
    }
}

/// Number of rows of keys per workgroup.
fn rows_for(class: DeviceClass, capacity: u32) -> u32 {
    let [fewest, most] = ROWS;
    (capacity / class.threads_to_fill()).clamp(fewest, most)
}

fn blocks_of(count: u32, rows: u32) -> u32 {
    count.div_ceil(rows * DIGITS)
}

/// Sorts on the host as the device does: pairs of a key and its payload, by the lowest `bits` bits
/// of the keys.
pub fn sort_on_host(pairs: &mut [(u64, u32)], bits: u32) {
    let mask = u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0);
    pairs.sort_by_key(|(key, _)| key & mask);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn every_text_validates_and_translates() {
        for (file, _) in [COUNT, SUM_DIGITS, SCATTER, RUNS, LONG_RUNS] {
            for (width, rows) in [(KeyWidth::Bits32, 4), (KeyWidth::Bits64, 16)] {
                if width == KeyWidth::Bits32 && file.contains("runs") {
                    continue;
                }
                let text = text(file, width, rows).unwrap();
                for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                    for checks in [Checks::On, Checks::Off] {
                        let out = translate(file, &text, language, checks);
                        assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
                    }
                }
            }
        }
    }

    #[test]
    fn sort_rows_fill_device_and_limit_counts() {
        assert_eq!(rows_for(DeviceClass::Discrete, 1000), 4);
        assert_eq!(rows_for(DeviceClass::Discrete, 1 << 20), 8);
        assert_eq!(rows_for(DeviceClass::Discrete, 1 << 26), 16);
        assert_eq!(blocks_of(1 << 26, 16), 1 << 14);
        assert_eq!(blocks_of(4097, 16), 2);
    }

    #[test]
    fn the_host_sorts_by_the_lowest_bits_and_keeps_the_order_of_equals() {
        let pairs = [(0x1_02, 0), (0x2_01, 1), (0x0_02, 2), (0x3_01, 3)];
        let (mut low, mut all, mut none) = (pairs, pairs, pairs);
        sort_on_host(&mut low, 8);
        assert_eq!(low.map(|(_, payload)| payload), [1, 3, 0, 2]);
        sort_on_host(&mut all, 64);
        assert_eq!(all.map(|(_, payload)| payload), [2, 0, 1, 3]);
        sort_on_host(&mut none, 0);
        assert_eq!(none, pairs);
    }
}
