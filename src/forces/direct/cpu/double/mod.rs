//! The `cpu` engine in f64: vectors on all cores, with AVX-512, AVX2, NEON or none, chosen at run
//! time.
//!
//! Each ordered pair by itself, vectors of sources on a few sinks. The order of the sums depends on
//! the number of sinks, the number of sources and the vector's width, never on the number of
//! threads: a task is a fixed range of the sinks and of the sources. Moving sources are predicted
//! where they are read: within the loop for one sink, block by block for several.

use std::ops::Range;

use rayon::prelude::*;

use super::InstructionSet;
use crate::error::{Error, Result};
use crate::forces::request::check_below;
use crate::forces::{
    Arrivals, EngineCapabilities, ForceEngine, Forces, Interfaces, MovingSources, NO_SOURCE, Order,
    Outputs, Precision, SharedTable, Sinks, Sources, check_update,
};
use crate::stop;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod lanes;
mod loops;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
mod pairs;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
mod sources;
#[cfg(test)]
mod tests;

use glam::DVec3;
use loops::{Attract, Besides, SourceSlice};
use pack::{Around, PACK, PackF64, SinkF64, SumF64};
use pairs::SINKS;
use sources::Movers;

/// The fewest interactions of a task as long as the sources can still be cut: about 30
/// microseconds.
const INTERACTIONS: usize = 1 << 15;

/// Number of tasks beyond which the sources are not cut further.
const TASKS: usize = 64;

/// The cost of predicting a source, in interactions.
const PREDICTION: usize = 3;

/// The engine. Holds 80 bytes per source, 112 (with snaps 160) if they move, and about 100 per sink
/// and slice of the sources.
#[derive(Debug)]
pub struct CpuDouble {
    kernel: InstructionSet,
    packs: Vec<PackF64>,
    /// Moving sources; if there are any, `packs` is empty.
    movers: Movers,
    moves: bool,
    time: Option<f64>,
    count: usize,
    velocities: bool,
    accelerations: bool,
    sinks: Vec<SinkF64>,
    /// Slice after slice, each with all sinks.
    sums: Vec<SumF64>,
    /// Neighbours, slice after slice, if lists are requested.
    around: Vec<Around>,
    begun: Forces,
    /// Whether `begun` holds results to be collected.
    ready: bool,
}

impl Default for CpuDouble {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuDouble {
    /// An engine with this processor's fastest kernel, without sources.
    pub fn new() -> Self {
        Self::of_kernel(InstructionSet::available()[0])
    }

    /// An engine with this kernel.
    ///
    /// # Errors
    /// The processor lacks its instructions.
    pub fn with_kernel(kernel: InstructionSet) -> Result<Self> {
        kernel.check().map(|()| Self::of_kernel(kernel))
    }

    fn of_kernel(kernel: InstructionSet) -> Self {
        Self {
            kernel,
            packs: Vec::new(),
            movers: Movers::default(),
            moves: false,
            time: None,
            count: 0,
            velocities: false,
            accelerations: false,
            sinks: Vec::new(),
            sums: Vec::new(),
            around: Vec::new(),
            begun: Forces::default(),
            ready: false,
        }
    }

    /// Checks that sources are replaced by ones of the same kind, still or moving.
    fn check_moves(&self, moves: bool) -> Result<()> {
        if self.moves == moves || self.count == 0 {
            return Ok(());
        }
        let names = ["set_sources and update_sources", "set_moving and update_moving"];
        let (expected, given) = (names[usize::from(self.moves)], names[usize::from(moves)]);
        Err(Error::value(
            "the call to replace some sources",
            given,
            format!("{expected}, as for all"),
        ))
    }

    /// Fills `self.sinks`.
    fn take_sinks(&mut self, sinks: &Sinks, outputs: &Outputs) {
        let or_zero = |of: &[DVec3], i: usize| of.get(i).map_or([0.0; 3], |v| v.to_array());
        self.sinks.clear();
        self.sinks.extend((0..sinks.position.len()).map(|i| SinkF64 {
            position: sinks.position[i].to_array(),
            velocity: or_zero(sinks.velocity, i),
            acceleration: or_zero(sinks.acceleration, i),
            itself: sinks.identity.of(i).map_or(-1.0, |j| j as f64),
            radius_squared: outputs.within.map_or(-1.0, |within| within.radius[i].powi(2)),
        }));
    }

    /// Fills the first slice of `self.sums` and `self.around`, for the sinks of `part`.
    fn attract(
        &mut self,
        attract: Attract,
        part: &Range<usize>,
        softening: f64,
        outputs: &Outputs,
    ) {
        let n = self.sinks.len();
        // Whole blocks per slice. The numbers of tasks and slices depend on the sizes only.
        let packs = self.count.div_ceil(PACK);
        let blocks = packs.div_ceil(pairs::BLOCK).max(1);
        let groups = n.div_ceil(SINKS);
        let by_work = ((n + PREDICTION) * self.count / INTERACTIONS).max(1) / groups;
        let slices = by_work.clamp(1, TASKS.div_ceil(groups)).min(blocks);
        let length = blocks.div_ceil(slices) * pairs::BLOCK;
        let slices = packs.div_ceil(length).max(1);
        self.sums.resize(slices * n, SumF64::ZERO);
        let lists = if outputs.within.is_some() { slices * n } else { 0 };
        self.around.resize_with(lists, Around::default);

        let (sinks, count) = (&self.sinks, self.count);
        let sources = match self.moves {
            true => sources::SliceSources::Moving(self.movers.at(self.time)),
            false => sources::SliceSources::Still(&self.packs),
        };
        let capacity = outputs.within.map_or(0, |within| within.capacity);
        let stop_token = stop::of_caller();
        let run = |slice: usize, group: usize, sums: &mut [SumF64], around: &mut [Around]| {
            if stop_token.is_requested() {
                return;
            }
            let begin = (slice * length).min(packs);
            let sources = sources.part(begin, packs.min(begin + length));
            let sinks = &sinks[group * SINKS..][..sums.len()];
            let softening_squared = softening * softening;
            let slice =
                SourceSlice { sources, first: begin * PACK, count, softening_squared, capacity };
            // SAFETY: unavailable kernels cannot be constructed, see `with_kernel`.
            unsafe { attract(&slice, sinks, sums, around) }
        };
        // Each slice's sums in chunks of SINKS, with the corresponding lists.
        let mut tasks = Vec::with_capacity(slices * groups);
        let mut rest = &mut self.around[..];
        for (slice, sums) in self.sums.chunks_mut(n).enumerate() {
            for (group, sums) in sums.chunks_mut(SINKS).enumerate() {
                let (lists, later) = rest.split_at_mut(if lists > 0 { sums.len() } else { 0 });
                rest = later;
                if group * SINKS < part.end && (group + 1) * SINKS > part.start {
                    tasks.push((slice, group, sums, lists));
                }
            }
        }
        if tasks.len() == 1 {
            // Waking other threads would cost more than it gains.
            tasks
                .into_iter()
                .for_each(|(slice, group, sums, lists)| run(slice, group, sums, lists));
        } else {
            let each = |(slice, group, sums, lists)| run(slice, group, sums, lists);
            tasks.into_par_iter().for_each(each);
        }

        let (total, parts) = self.sums.split_at_mut(n);
        for part in parts.chunks(n) {
            total.iter_mut().zip(part).for_each(|(total, part)| total.add(part));
        }
        if lists > 0 {
            let (total, parts) = self.around.split_at_mut(n);
            for part in parts.chunks(n) {
                for (total, part) in total.iter_mut().zip(part) {
                    let room = capacity - total.listed.len().min(capacity);
                    total.listed.extend(part.listed.iter().take(room));
                    total.found += part.found;
                }
            }
        }
    }
}

impl ForceEngine for CpuDouble {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        format!("{} in f64 on {} threads", self.kernel.name(), rayon::current_num_threads())
    }

    fn precision(&self) -> Precision {
        Precision::Double
    }

    fn highest_order(&self) -> Order {
        Order::Snap
    }

    fn source_count(&self) -> usize {
        self.count
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        pack::pack(sources, &mut self.packs);
        self.movers.clear();
        self.moves = false;
        self.count = sources.position.len();
        self.velocities = !sources.velocity.is_empty();
        self.accelerations = !sources.acceleration.is_empty();
        Ok(())
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.check_moves(false)?;
        check_update(index, sources, self.count)?;
        pack::repack(index, sources, &mut self.packs);
        Ok(())
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        // The memory of `out` is reused by the next `begin`.
        std::mem::swap(out, &mut self.begun);
        if !std::mem::take(&mut self.ready) {
            *out = Forces::default();
        }
        Ok(())
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities { ranges: true, ..EngineCapabilities::default() }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: Some(self), ..Interfaces::default() }
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        sinks.check(softening, outputs)?;
        let part = sinks.range();
        outputs.order.check_sources(self.count, self.velocities, self.accelerations)?;
        let n = sinks.position.len();
        self.begun.resize(n, outputs);
        self.ready = true;
        if part.is_empty() {
            return Ok(());
        }
        let besides = if outputs.within.is_some() {
            Besides::Lists
        } else if outputs.nearest {
            Besides::Nearest
        } else if outputs.potential {
            Besides::Potential
        } else {
            Besides::Nothing
        };
        self.take_sinks(sinks, outputs);
        let table = loops::table(self.kernel);
        self.attract(table[outputs.order as usize][besides as usize], &part, softening, outputs);
        if let Err(stopped) = stop::check() {
            self.ready = false;
            return Err(stopped);
        }

        let out = &mut self.begun;
        for (i, sum) in self.sums[..n].iter().enumerate() {
            out.acceleration[i] = sum.acceleration;
            if outputs.order >= Order::Jerk {
                out.jerk[i] = sum.jerk;
            }
            if outputs.order >= Order::Snap {
                out.snap[i] = sum.snap;
            }
            if outputs.potential {
                out.potential[i] = sum.potential;
            }
            if outputs.nearest {
                // Padding entries of the last pack have indices beyond the last source.
                let is_found = sum.nearest < self.count as f64;
                out.nearest[i] = if is_found { sum.nearest as u32 } else { NO_SOURCE };
                if outputs.distance {
                    let distance = sum.nearest_squared.sqrt();
                    out.nearest_distance[i] = if is_found { distance } else { f64::INFINITY };
                }
            }
        }
        for list in self.around.iter().take(n) {
            out.neighbours.push(&list.listed, list.found);
        }
        Ok(())
    }
}

impl MovingSources for CpuDouble {
    fn share(&mut self, table: &SharedTable) -> Result<()> {
        let table = table.read();
        self.packs.clear();
        self.movers.set(&table);
        self.count = table.len();
        (self.moves, self.velocities, self.accelerations) = (true, true, true);
        Ok(())
    }

    fn announce(&mut self, sources: &Arrivals) -> Result<()> {
        self.check_moves(true)?;
        check_below(sources.places.iter().map(|place| place.at), self.count)?;
        self.movers.put_all(sources);
        Ok(())
    }

    fn predict_to(&mut self, time: Option<f64>) {
        self.time = time;
    }

    fn table(&self) -> Option<SharedTable> {
        None
    }
}
