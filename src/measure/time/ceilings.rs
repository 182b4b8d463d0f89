//! The maximum rates of an adapter, measured with kernels that do one thing only.
//!
//! Rates count what threads do: a multiply-add, a reciprocal square root, a read of one `vec4` by
//! one thread. So no table of cores and clocks is needed that could become outdated.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::{Stopwatch, TimingMethod};
use crate::error::Result;
use crate::gpu::layout::VEC4;
use crate::gpu::{Binding, BoundKernel, Checks, DeviceClass, Gpu, Params, compile, template};
use crate::measure::Summary;

/// A maximum rate of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ceiling {
    /// FP32 multiply-adds per second.
    Fma,
    /// Reciprocal square roots per second.
    Rsqrt,
    /// Interactions per second with sinks and sources in registers: 12 FP32 and 1 reciprocal root
    /// each.
    Pair,
    /// Reads of a `vec4` from workgroup memory, per second and thread, with all threads reading the
    /// same one.
    TileRead,
    /// Reads of a `vec4` from a small storage buffer through the caches, per second and thread.
    CachedRead,
    /// Bytes per second from a storage buffer larger than any cache.
    Storage,
    /// Interactions per second of a single workgroup, as large as the adapter allows up to 1,024
    /// threads: the rate of one compute unit.
    LoneGroup,
    /// Reads of a `vec4` from a storage buffer, per second and thread, by a single workgroup of 256
    /// threads that waits for each.
    LoneRead,
    /// Interactions per second of a single thread with one at a time: the inverse is the latency.
    LoneThread,
    /// Interactions per second of a single thread with eight at a time: the inverse is the time to
    /// issue one.
    LoneChains,
    /// Dispatches per second in one pass, each waiting for the previous one.
    Dispatch,
    /// Submissions per second, each waited for.
    Submission,
}

/// The ceilings in the order in which they are measured and shown: the name in result files, the
/// description, the unit for display and its size in the unit of measurement.
const TABLE: [(Ceiling, &str, &str, DisplayUnit); 12] = [
    (Ceiling::Fma, "fma", "FP32 multiply-adds", GIGA),
    (Ceiling::Rsqrt, "rsqrt", "reciprocal square roots", GIGA),
    (Ceiling::Pair, "pair", "interactions in registers (12 FP32 + 1 reciprocal root)", GIGA),
    (Ceiling::TileRead, "tile-read", "workgroup memory, vec4 reads (all threads the same)", GIGA),
    (Ceiling::CachedRead, "cached-read", "cached storage, vec4 reads (all threads the same)", GIGA),
    (Ceiling::Storage, "storage", "storage buffer, bandwidth", ("GB/s", 1e9)),
    (Ceiling::LoneGroup, "lone-workgroup", "interactions of a lone workgroup", GIGA),
    (Ceiling::LoneRead, "lone-read", "cached storage, vec4 reads of a lone workgroup of 256", GIGA),
    (Ceiling::LoneThread, "lone-thread", "interactions of a lone thread, one at a time", MEGA),
    (Ceiling::LoneChains, "lone-chains", "interactions of a lone thread, eight at a time", MEGA),
    (Ceiling::Dispatch, "dispatch", "cost of a dispatch", MICROSECONDS),
    (Ceiling::Submission, "submission", "cost of a submission, waited for", MICROSECONDS),
];

/// A unit, and its size; negative if the inverse is shown (seconds instead of rates).
type DisplayUnit = (&'static str, f64);

const GIGA: DisplayUnit = ("G/s", 1e9);
const MEGA: DisplayUnit = ("M/s", 1e6);
const MICROSECONDS: DisplayUnit = ("µs", -1e-6);

impl Ceiling {
    /// All ceilings, in the order in which they are measured and shown.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Fma; TABLE.len()];
        let mut k = 0;
        while k < all.len() {
            all[k] = TABLE[k].0;
            k += 1;
        }
        all
    };

    /// The name in result files.
    pub fn key(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The ceiling with this name.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ceiling| ceiling.key() == key)
    }

    /// Its description for display.
    pub fn title(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// The unit for display, and its size in the unit of measurement; negative if the inverse is
    /// shown (seconds instead of rates).
    pub fn unit(self) -> (&'static str, f64) {
        TABLE[self as usize].3
    }

    /// A value converted to the unit for display.
    pub fn in_unit(self, per_sec: f64) -> f64 {
        let (_, size) = self.unit();
        if size < 0.0 { 1.0 / per_sec / -size } else { per_sec / size }
    }
}

/// Samples of one ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct CeilingSamples {
    /// The ceiling.
    pub ceiling: Ceiling,
    /// Seconds per sample.
    pub secs: Vec<f64>,
    /// Work done per sample, in the ceiling's unit (operations, reads, bytes, ...).
    pub work: f64,
    /// How the times were taken.
    pub method: TimingMethod,
}

impl CeilingSamples {
    /// Work per second, from the median.
    pub fn per_sec(&self) -> f64 {
        Summary::of(&self.secs).map_or(0.0, |s| self.work / s.median)
    }
}

/// The ceilings of an adapter as used by the model. Rates per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ceilings {
    rates: [f64; Ceiling::ALL.len()],
    in_series: bool,
    subgroup: Option<u32>,
    units: Option<u32>,
}

impl Ceilings {
    /// Ceilings with the given rates; the others are 0.
    pub fn of(rates: impl IntoIterator<Item = (Ceiling, f64)>) -> Self {
        let mut ceilings = Self::default();
        for (ceiling, rate) in rates {
            ceilings.rates[ceiling as usize] = rate;
        }
        ceilings
    }

    /// The ceilings measured on `gpu`, with its subgroups and compute units, and in series if it is
    /// a CPU.
    pub fn on(gpu: &Gpu, samples: &[CeilingSamples]) -> Self {
        let in_series = gpu.adapter.class == DeviceClass::Software;
        let sizes = gpu.limits.subgroup_sizes.filter(|[least, most]| least == most);
        let (subgroup, units) = (sizes.map(|[size, _]| size), gpu.limits.units);
        let rates = samples.iter().map(|samples| (samples.ceiling, samples.per_sec()));
        Self { in_series, subgroup, units, ..Self::of(rates) }
    }

    /// Whether all resources are one: a software adapter computes, takes roots and reads its
    /// workgroup memory with the same instructions of a processor, so their times add up.
    #[must_use]
    pub fn in_series(self, in_series: bool) -> Self {
        Self { in_series, ..self }
    }

    /// Sets the number of compute units, if the adapter reports it.
    #[must_use]
    pub fn with_units(self, units: Option<u32>) -> Self {
        Self { units, ..self }
    }

    /// Number of compute units, if the adapter reports it.
    pub fn units(&self) -> Option<u32> {
        self.units.filter(|units| *units > 0)
    }

    /// Threads per subgroup; 1 if not reported, so that no lane counts as idle.
    pub fn subgroup(&self) -> u32 {
        self.subgroup.unwrap_or(1).max(1)
    }

    /// See [`Ceilings::in_series`].
    pub fn are_in_series(&self) -> bool {
        self.in_series
    }

    /// Work per second.
    pub fn get(&self, ceiling: Ceiling) -> f64 {
        self.rates[ceiling as usize]
    }
}

/// How thoroughly to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// For results that are stored.
    Full,
    /// For a quick look and for tests: few and short samples.
    Quick,
}

// Measures the ceilings with kernels that do one thing only. Their loops are lengthened until a
// sample takes long enough.

impl Ceilings {
    /// Measures all ceilings, in about two seconds. `before` is called with the next one and
    /// returns whether to continue; if not, the samples so far are returned.
    ///
    /// # Errors
    ///
    /// The device failed; [`crate::error::Error::Stopped`].
    pub async fn measure(
        gpu: &Arc<Gpu>,
        effort: Effort,
        before: &mut dyn FnMut(Ceiling) -> bool,
    ) -> Result<Vec<CeilingSamples>> {
        let mut bench = CeilingBench::new(gpu, effort);
        let mut all = Vec::with_capacity(Ceiling::ALL.len());
        for ceiling in Ceiling::ALL {
            if !before(ceiling) {
                break;
            }
            all.push(bench.measure(ceiling).await?);
        }
        Ok(all)
    }
}

/// Must match `shaders/measure/ceiling.wgsl`; a test compares the offsets.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct CeilingParams {
    turns: u32,
    threads: u32,
    a: f32,
    b: f32,
    softening_squared: f32,
    never: f32,
    unused: [u32; 2],
}

/// The kernel of a ceiling.
struct CeilingKernel {
    file: &'static str,
    /// Threads of a workgroup.
    group: u32,
    /// Whether there is only one workgroup; otherwise enough to fill the device.
    is_alone: bool,
    /// Variants: independent chains in one thread, and their copies per iteration of the loop. The
    /// fastest gives the ceiling: on an H200 eight chains of pairs reached less than the force
    /// kernel.
    cuts: &'static [(u32, u32)],
}

fn kernel(ceiling: Ceiling) -> CeilingKernel {
    let full = |file, cuts| CeilingKernel { file, group: GROUP, is_alone: false, cuts };
    let alone = |file, group, cuts| CeilingKernel { file, group, is_alone: true, cuts };
    const PAIRS: &[(u32, u32)] = &[(8, 2), (4, 4), (2, 4), (8, 4)];
    match ceiling {
        // On an H200 the number of copies matters, since counting and branching take issue slots
        // too: 64, 256 and 1,024 multiply-adds per iteration reach 92, 97 and 98.6 % of what its
        // units and clock allow.
        Ceiling::Fma => full("fma", &[(8, 32), (16, 64)]),
        Ceiling::Rsqrt => full("rsqrt", &[(8, 8), (4, 16)]),
        Ceiling::Pair => full("pair", PAIRS),
        // As many threads as allowed: fewer do not fill a compute unit of every GPU.
        Ceiling::LoneGroup => alone("pair", 1024, PAIRS),
        Ceiling::LoneThread | Ceiling::Dispatch | Ceiling::Submission => {
            alone("pair", 1, &[(1, 4)])
        }
        Ceiling::LoneChains => alone("pair", 1, &[(8, 2)]),
        Ceiling::TileRead => full("tile", &[(1, 16)]),
        Ceiling::CachedRead => full("cached", &[(1, 16)]),
        Ceiling::LoneRead => alone("cached", GROUP, &[(1, 1)]),
        Ceiling::Storage => full("storage", &[(1, 4)]),
    }
}

const GROUP: u32 = 256;

/// Entries read through the caches, 1 MiB: the number of sources for which tiling is of interest.
const CACHED_ENTRIES: u32 = 1 << 16;

/// The most seconds of a sample.
const LONGEST_SAMPLE: f64 = 0.1;

/// llvmpipe leaves any loop after 65,536 iterations.
const MOST_TURNS: u32 = 1 << 15;

struct CeilingBench {
    gpu: Arc<Gpu>,
    effort: Effort,
    watch: Stopwatch,
    entries: wgpu::Buffer,
    entry_count: u32,
    output: wgpu::Buffer,
    params: Params<CeilingParams>,
}

/// A kernel ready to be dispatched.
struct ReadyKernel {
    kernel: BoundKernel,
    groups: u32,
    threads: u32,
    /// Work of one thread in one iteration.
    per_turn: f64,
    /// Largest number of iterations that the data allow.
    most_turns: u32,
}

impl CeilingBench {
    fn new(gpu: &Arc<Gpu>, effort: Effort) -> Self {
        // Beyond any cache if memory is plentiful: 512 MiB, where the largest cache has 256 MiB.
        let bytes: u64 = match (effort, gpu.adapter.class) {
            (Effort::Quick, _) => 4 << 20,
            (_, DeviceClass::Software) => 64 << 20,
            // A page shares memory with all others.
            _ if cfg!(target_arch = "wasm32") => 64 << 20,
            (_, DeviceClass::Integrated) => 128 << 20,
            _ => 512 << 20,
        };
        let largest = 1u64 << gpu.limits.storage_buffer.ilog2();
        let entry_count = (bytes.min(largest) / VEC4) as u32;
        let entries = crate::gpu::storage(gpu, "ceiling entries", entry_count as usize);
        fill(gpu, &entries, entry_count);
        Self {
            gpu: Arc::clone(gpu),
            effort,
            watch: Stopwatch::new(gpu),
            entries,
            entry_count,
            output: crate::gpu::storage(gpu, "ceiling answers", 1),
            params: Params::new(gpu, "ceiling params", 2),
        }
    }

    async fn measure(&mut self, ceiling: Ceiling) -> Result<CeilingSamples> {
        match ceiling {
            Ceiling::Submission => return self.submissions().await,
            Ceiling::Dispatch => return self.dispatches().await,
            _ => (),
        }
        let mut best: Option<CeilingSamples> = None;
        for &(chains, copies) in kernel(ceiling).cuts {
            let samples = self.measure_cut(ceiling, chains, copies).await?;
            let rate = |samples: &CeilingSamples| {
                samples.work / samples.secs.iter().copied().fold(f64::INFINITY, f64::min)
            };
            if best.as_ref().is_none_or(|best| rate(&samples) > rate(best)) {
                best = Some(samples);
            }
        }
        Ok(best.expect("every ceiling has a cut"))
    }

    async fn measure_cut(
        &mut self,
        ceiling: Ceiling,
        chains: u32,
        copies: u32,
    ) -> Result<CeilingSamples> {
        let ready = self.ready(ceiling, chains, copies).await?;
        let goal: f64 = match (self.effort, self.gpu.adapter.class) {
            (Effort::Quick, _) => 2e-3,
            (_, DeviceClass::Software) => 2e-2,
            _ => 5e-3,
        };
        // The first run compiles on some drivers. Loops are then lengthened until a sample takes
        // long enough; the shorter of two samples counts, so that an interruption is not mistaken
        // for work.
        let mut turns = ready.most_turns.min(4);
        self.run(&ready, turns, 1).await?;
        // The cost of an empty pass must not matter: on a busy machine it may be milliseconds.
        let goal = goal.max(20.0 * self.shorter(&ready, 0).await?).min(LONGEST_SAMPLE);
        let mut once = self.shorter(&ready, turns).await?;
        while once < goal && turns < ready.most_turns {
            let factor = (1.2 * goal / once.max(1e-7)).clamp(2.0, 64.0);
            turns = (f64::from(turns) * factor).min(f64::from(ready.most_turns)) as u32;
            once = self.shorter(&ready, turns).await?;
        }
        // At the limit of iterations the dispatch is repeated.
        let dispatches = (goal / once).ceil().clamp(1.0, 64.0) as u32;
        let secs = self.sampled(&ready, turns, dispatches).await?;
        let threads = f64::from(ready.threads) * f64::from(dispatches);
        let work = threads * f64::from(turns) * ready.per_turn;
        Ok(CeilingSamples { ceiling, secs, work, method: self.watch.method() })
    }

    /// The shorter of two samples.
    async fn shorter(&mut self, ready: &ReadyKernel, turns: u32) -> Result<f64> {
        Ok(self.run(ready, turns, 1).await?.min(self.run(ready, turns, 1).await?))
    }

    fn samples(&self) -> usize {
        if self.effort == Effort::Quick { 3 } else { 9 }
    }

    /// The seconds of some samples, after one that is discarded.
    async fn sampled(
        &mut self,
        ready: &ReadyKernel,
        turns: u32,
        dispatches: u32,
    ) -> Result<Vec<f64>> {
        self.run(ready, turns, dispatches).await?;
        let mut secs = Vec::with_capacity(self.samples());
        for _ in 0..self.samples() {
            secs.push(self.run(ready, turns, dispatches).await?);
        }
        Ok(secs)
    }

    /// The kernel of a ceiling, and the number of threads that run it.
    async fn ready(&self, ceiling: Ceiling, chains: u32, copies: u32) -> Result<ReadyKernel> {
        let gpu = &self.gpu;
        // Many times the number that fills a GPU, so that the last wave of workgroups hardly
        // matters.
        let times = if gpu.adapter.class == DeviceClass::Software { 8 } else { 32 };
        let full = gpu.adapter.class.threads_to_fill().saturating_mul(times).div_ceil(GROUP);
        let CeilingKernel { file, group, is_alone, .. } = kernel(ceiling);
        let groups = if is_alone { 1 } else { full };
        let group = group.min(gpu.limits.threads_per_workgroup);
        let bandwidth = ceiling == Ceiling::Storage;
        // One iteration of all threads must fit the buffer.
        let fitting = if bandwidth { self.entry_count / (group * copies) } else { groups };
        let groups = groups.min(gpu.limits.workgroups).min(fitting).max(1);
        let threads = group * groups;
        let most_turns =
            if bandwidth { (self.entry_count / (threads * copies)).max(1) } else { MOST_TURNS };
        let values = context! {
            threads => group, chains, u => copies, guarded => false, potential => false,
            one_mass => false, length => CACHED_ENTRIES
        };
        let text = template::assemble(&format!("measure/{file}.wgsl"), values)?;
        let size = size_of::<CeilingParams>() as u64;
        let bindings = [Binding::Read, Binding::Write, Binding::Params(size)];
        let kernel = compile(gpu, file, &text, &bindings, Checks::Off).await?;
        let resources = [
            self.entries.as_entire_binding(),
            self.output.as_entire_binding(),
            self.params.binding(),
        ];
        let kernel = kernel.bind(gpu, file, &resources);
        let per_turn = f64::from(chains * copies) * if bandwidth { VEC4 as f64 } else { 1.0 };
        Ok(ReadyKernel { kernel, groups, threads, per_turn, most_turns })
    }

    async fn run(&mut self, ready: &ReadyKernel, turns: u32, dispatches: u32) -> Result<f64> {
        let (gpu, params) = (&self.gpu, &mut self.params);
        let record = |pass: &mut wgpu::ComputePass<'_>| {
            params.clear();
            let offset = params.offset_of(CeilingParams {
                turns,
                threads: ready.threads,
                a: 0.999,
                b: 0.001,
                softening_squared: 1.0,
                never: -12345.678,
                unused: [0; 2],
            });
            ready.kernel.set(pass, &[offset]);
            for _ in 0..dispatches {
                pass.dispatch_workgroups(ready.groups, 1, 1);
            }
            params.upload(gpu);
        };
        self.watch.time(record).await
    }

    /// Empty dispatches in sequence: each may write what the next may write.
    async fn dispatches(&mut self) -> Result<CeilingSamples> {
        let ready = self.ready(Ceiling::Dispatch, 1, 4).await?;
        let count = if self.effort == Effort::Quick { 50 } else { 400 };
        let secs = self.sampled(&ready, 0, count).await?;
        let method = self.watch.method();
        Ok(CeilingSamples { ceiling: Ceiling::Dispatch, secs, work: f64::from(count), method })
    }

    /// Submissions of an empty pass, each waited for; always timed by the wall clock.
    async fn submissions(&mut self) -> Result<CeilingSamples> {
        let mut watch = Stopwatch::by_wall_clock(&self.gpu);
        let mut secs = Vec::new();
        let ready = self.ready(Ceiling::Submission, 1, 4).await?;
        self.params.clear();
        let offset = self.params.offset_of(CeilingParams::default());
        self.params.upload(&self.gpu);
        for round in 0..=2 * self.samples() {
            let record = |pass: &mut wgpu::ComputePass<'_>| {
                ready.kernel.set(pass, &[offset]);
                pass.dispatch_workgroups(1, 1, 1);
            };
            let sample = watch.time(record).await?;
            if round > 0 {
                secs.push(sample);
            }
        }
        let method = TimingMethod::WallClock;
        Ok(CeilingSamples { ceiling: Ceiling::Submission, secs, work: 1.0, method })
    }
}

/// Random numbers: some devices read uniform memory faster.
fn fill(gpu: &Gpu, buffer: &wgpu::Buffer, entries: u32) {
    const CHUNK: usize = 1 << 20;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chunk = vec![0u64; CHUNK];
    let bytes = u64::from(entries) * VEC4;
    let mut at = 0;
    while at < bytes {
        for word in &mut chunk {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state;
        }
        let part = ((bytes - at) as usize).min(CHUNK * 8);
        gpu.queue.write_buffer(buffer, at, &bytemuck::cast_slice(&chunk)[..part]);
        // An empty submission lets wgpu free staging memory chunk by chunk.
        gpu.queue.submit([]);
        at += part as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceiling_names_round_trip_and_units_convert() {
        for (i, ceiling) in Ceiling::ALL.into_iter().enumerate() {
            assert_eq!(Ceiling::from_key(ceiling.key()), Some(ceiling));
            assert_eq!(ceiling as usize, i);
        }
        assert_eq!(Ceiling::Fma.in_unit(2e9), 2.0);
        assert!((Ceiling::Dispatch.in_unit(1e5) - 10.0).abs() < 1e-9);
        let samples = CeilingSamples {
            ceiling: Ceiling::Fma,
            secs: vec![2.0, 1.0, 2.0],
            work: 8.0,
            method: TimingMethod::WallClock,
        };
        assert_eq!(samples.per_sec(), 4.0);
    }
}

#[cfg(test)]
mod ceiling_bench_tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn every_kernel_validates_for_every_backend() {
        for file in ["fma", "rsqrt", "pair", "tile", "cached", "storage"] {
            let values = context! {
                threads => 64, chains => 4, u => 4, guarded => false, potential => false,
                one_mass => false, length => CACHED_ENTRIES
            };
            let name = format!("measure/{file}.wgsl");
            let text = template::assemble(&name, values).unwrap();
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                assert!(translate(&name, &text, language, Checks::Off).unwrap().len() > 300);
            }
        }
    }

    #[test]
    fn host_and_shader_agree() {
        let text = include_str!("../../../shaders/measure/ceiling.wgsl");
        let module = naga::front::wgsl::parse_str(text).unwrap();
        let (_, kind) =
            module.types.iter().find(|(_, kind)| kind.name.as_deref() == Some("Ceiling")).unwrap();
        let naga::TypeInner::Struct { members, span } = &kind.inner else { panic!() };
        assert_eq!(*span as usize, size_of::<CeilingParams>());
        let host = [
            ("turns", std::mem::offset_of!(CeilingParams, turns)),
            ("threads", std::mem::offset_of!(CeilingParams, threads)),
            ("a", std::mem::offset_of!(CeilingParams, a)),
            ("b", std::mem::offset_of!(CeilingParams, b)),
            ("softening_squared", std::mem::offset_of!(CeilingParams, softening_squared)),
            ("never", std::mem::offset_of!(CeilingParams, never)),
        ];
        for (member, (name, offset)) in members.iter().zip(host) {
            assert_eq!((member.name.as_deref(), member.offset as usize), (Some(name), offset));
        }
    }
}
