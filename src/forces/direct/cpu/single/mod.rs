//! The `cpu` engine in f32: pairs in f32 vectors, sums in f64, on all cores.
//!
//! The instructions are chosen at run time, so that one binary serves every processor: see
//! [`InstructionSet`]. There are two paths:
//! - All on all, accelerations only (what a step needs): each unordered pair once, see `mutual`.
//! - Everything else: each ordered pair, vectors of sources on a few sinks, see `direct`.
//!
//! Measured in G interactions/s of one core, N = 16384, accelerations, AVX-512 at 2.40 GHz (two
//! 512-bit ports) on a Cascade Lake Xeon: 4.8 with any masses, 5.5 with equal ones, 3.7 with
//! ordered pairs; AVX2 2.4; scalar 0.8. The ports would allow 7.3, 8.1 and 4.5. With potentials, on
//! a Sapphire Rapids Xeon: 5.5 with AVX-512, 3.7 with AVX2. Error against f64: 3e-7 rms, 1.4e-5 for
//! the worst body (Plummer sphere).
//!
//! Both give the same bits on any number of threads, also if only a range of the sinks is requested
//! ([`Sinks::only`]). Positions are narrowed to f32 in a frame per call ([`Frame::of_call`]):
//! relative to the middle of the sources and scaled by powers of two, so neither a far origin nor
//! unusual units cost precision. Separations below 6e-8 of the distance from the middle are not
//! resolved, as f32 cannot express them; a softening below 2^-58 of the extent acts like that
//! value.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use super::InstructionSet;
use crate::error::Result;
use crate::forces::{
    EngineCapabilities, Evaluator, Forces, Identity, Interfaces, Order, Outputs, Precision, Sinks,
    Sources, WithSources,
};
use crate::frame::{Extent, Frame};
use crate::stop;

mod direct;
mod lanes;
mod loops;
mod mutual;
mod pack;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

use direct::SumF32;
pub(in crate::forces) use lanes::{LanesF32, Separation};
use loops::{Direct, DirectLoops};
use mutual::{Mutual, Pull};
pub(in crate::forces) use pack::{PACK, softening_squared};
use pack::{PackF32, SinkF32};

/// Sinks that one task passes over its sources: a multiple of every kernel's group.
const TASK: usize = 64;

/// The fewest tasks to aim for, so that few sinks still keep all cores busy.
const TASKS: usize = 64;

/// Sinks times packs below which the calling thread computes alone: 0.1 to 0.2 ms of pairs, while
/// waking others takes some 20 us. Callers with a thread for each engine then do not wait for each
/// other in the thread pool.
const MOST_ON_ONE_THREAD: usize = 1 << 15;

/// Sources are at most 1/16 in the loops' unit of mass, so that r^-3 in units of the loops'
/// constants does not overflow between bodies at one position.
const HEADROOM: f64 = 32.0;

/// The engine. Stores sources and scratch memory from call to call: 48 bytes per source, and 24 per
/// body (all on all) or about 50 per sink.
pub type CpuSingle = WithSources<SingleSums>;

/// The sums of [`CpuSingle`].
#[derive(Debug)]
pub struct SingleSums {
    kernel: InstructionSet,
    /// Of the sources; `None` before a call needs it.
    extent: Option<Extent>,
    /// The frame in which `packs` hold the sources; `None` if they do not.
    packed: Option<Frame>,
    packs: Vec<PackF32>,
    pulls: Vec<Pull>,
    sinks: Vec<SinkF32>,
    /// Slice after slice, each with all sinks.
    sums: Vec<SumF32>,
}

impl CpuSingle {
    /// An engine with this processor's fastest kernel.
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine with this kernel.
    ///
    /// # Errors
    /// The processor lacks its instructions.
    pub fn with_kernel(kernel: InstructionSet) -> Result<Self> {
        kernel.check().map(|()| Self::of(SingleSums::new(kernel)))
    }

    /// The kernel that it computes with.
    pub fn kernel(&self) -> InstructionSet {
        self.evaluator.kernel
    }
}

impl Default for SingleSums {
    fn default() -> Self {
        Self::new(InstructionSet::available()[0])
    }
}

impl SingleSums {
    fn new(kernel: InstructionSet) -> Self {
        let (packs, pulls, sinks, sums) = Default::default();
        Self { kernel, extent: None, packed: None, packs, pulls, sinks, sums }
    }

    /// All on all by Newton's third law, for the bodies of `part`.
    fn mutual(
        &mut self,
        frame: &Frame,
        softening_squared: f32,
        loops: &DirectLoops,
        part: &Range<usize>,
        acceleration: &mut [DVec3],
    ) {
        self.pulls.clear();
        self.pulls.resize(self.packs.len(), Pull::ZERO);
        let selected = part.start / PACK..part.end.div_ceil(PACK);
        let stop_token = stop::of_caller();
        // SAFETY: unavailable kernels cannot be constructed, see `with_kernel`.
        let pairs = unsafe {
            Mutual::new(&loops.mutual, softening_squared, self.packs.len(), selected, &stop_token)
        };
        pairs.all(&self.packs, &mut self.pulls);
        let unit = frame.acceleration_unit();
        for (chunk, Pull([x, y, z])) in acceleration.chunks_mut(PACK).zip(&self.pulls) {
            for (lane, a) in chunk.iter_mut().enumerate() {
                *a = DVec3::new(x[lane], y[lane], z[lane]) * unit;
            }
        }
    }

    /// The sinks of `part` by ordered pairs; fills the first slice of `self.sums`.
    fn direct(
        &mut self,
        frame: &Frame,
        softening_squared: f32,
        sinks: &Sinks,
        sources: &Sources,
        part: &Range<usize>,
        attract: Direct,
    ) {
        let none = SinkF32 { x: 0.0, y: 0.0, z: 0.0, itself: SinkF32::NONE };
        self.sinks.clear();
        self.sinks.extend(sinks.position.iter().enumerate().map(|(i, &position)| {
            let [x, y, z] = frame.position(position);
            let itself = sinks.identity.of(i).filter(|&j| j < sources.position.len());
            SinkF32 { x, y, z, itself: itself.map_or(SinkF32::NONE, |j| j as u32) }
        }));
        self.sinks.resize(self.sinks.len().next_multiple_of(direct::GROUP), none);

        // Whole blocks per slice. The number of slices depends on the sizes only.
        let blocks = self.packs.len().div_ceil(direct::BLOCK).max(1);
        let slices = TASKS.div_ceil(self.sinks.len().div_ceil(TASK)).min(blocks);
        let slice = blocks.div_ceil(slices) * direct::BLOCK;
        let slices = self.packs.len().div_ceil(slice).max(1);
        self.sums.resize(slices * self.sinks.len(), SumF32::default());
        let (all, packs) = (&self.sinks, &self.packs);
        let stop_token = stop::of_caller();
        let task = |slice_number: usize, task: usize, sums: &mut [SumF32]| {
            let begin = task * TASK;
            if stop_token.is_requested() || begin >= part.end || begin + TASK <= part.start {
                return;
            }
            let (sinks, first) = (&all[begin..][..sums.len()], slice_number * slice);
            let packs = packs.get(first..packs.len().min(first + slice)).unwrap_or_default();
            // SAFETY: unavailable kernels cannot be constructed, see `with_kernel`.
            unsafe { attract(packs, first * PACK, sinks, sums, softening_squared) }
        };
        if all.len() * packs.len() < MOST_ON_ONE_THREAD {
            for (k, sums) in self.sums.chunks_mut(all.len()).enumerate() {
                sums.chunks_mut(TASK).enumerate().for_each(|(t, sums)| task(k, t, sums));
            }
        } else {
            self.sums.par_chunks_mut(all.len()).enumerate().for_each(|(k, sums)| {
                sums.par_chunks_mut(TASK).enumerate().for_each(|(t, sums)| task(k, t, sums));
            });
        }
        let (total, parts) = self.sums.split_at_mut(all.len());
        for part in parts.chunks(all.len()) {
            total.iter_mut().zip(part).for_each(|(total, part)| total.add(part));
        }
    }
}

impl Evaluator for SingleSums {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        format!("{} on {} threads", self.kernel.name(), rayon::current_num_threads())
    }

    fn precision(&self) -> Precision {
        Precision::Single
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities { ranges: true, ..EngineCapabilities::default() }
    }

    fn sources_changed(&mut self) {
        (self.extent, self.packed) = (None, None);
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        let (part, potential) = (sinks.range(), outputs.potential);
        let extent = *self.extent.get_or_insert_with(|| Extent::of(sources.position, sources.mass));
        let mut frame = extent.frame(sinks.position, softening);
        frame.mass = (frame.mass * HEADROOM).min(f64::powi(2.0, 1023));
        let softening_squared = softening_squared(&frame, softening);
        if self.packed != Some(frame) {
            frame.check_reach(sources.position)?;
            self.packed = Some(frame);
            pack::pack(&frame, sources, &mut self.packs);
        }
        let loops = loops::of(self.kernel);
        if part.is_empty() {
            return Ok(());
        }
        if !potential && sinks.identity == Identity::Offset(0) && same_places(sinks, sources) {
            self.mutual(&frame, softening_squared, loops, &part, &mut out.acceleration);
            return stop::check();
        }
        let attract = match (potential, softening == 0.0) {
            (true, true) => loops.potential_guarded,
            (true, false) => loops.potential,
            (false, _) if at_own_source(sinks, sources) => loops.acceleration,
            (false, _) => loops.acceleration_excluding,
        };
        self.direct(&frame, softening_squared, sinks, sources, &part, attract);
        stop::check()?;
        let (unit, potential_unit) = (frame.acceleration_unit(), frame.potential_unit());
        for (a, sum) in out.acceleration.iter_mut().zip(&self.sums) {
            *a = DVec3::from_array(sum.acceleration) * unit;
        }
        for (phi, sum) in out.potential.iter_mut().zip(&self.sums) {
            *phi = sum.potential * potential_unit;
        }
        Ok(())
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

/// Whether sinks and sources are the same bodies in the same order.
pub(in crate::forces) fn same_places(sinks: &Sinks, sources: &Sources) -> bool {
    sinks.position == sources.position
}

/// Whether each sink that is a source is at that source's position: its pair with itself then adds
/// 0 to its acceleration and need not be skipped.
pub(in crate::forces) fn at_own_source(sinks: &Sinks, sources: &Sources) -> bool {
    sinks.position.iter().enumerate().all(|(i, position)| {
        let own = sinks.identity.of(i).and_then(|j| sources.position.get(j));
        own.is_none_or(|source| source == position)
    })
}
