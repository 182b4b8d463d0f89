//! The arithmetic model of GPU Gems 3, chapter 31, section 31.4, with measured ceilings.
//!
//! The chapter counts the instructions of the inner loop, gives each its cycles, and adds them up:
//! 52 for FP32, 16 for four reciprocal roots, 4 for the loop. Current GPUs compute roots in a
//! separate unit next to the FP32 pipes, so the two overlap, and the slower of the two counts
//! instead of the sum. How far they overlap on an adapter is measured by a kernel that does nothing
//! else ([`Ceiling::Pair`]). Memory is a separate resource; the slowest resource gives the rate,
//! and its name answers "what limits this kernel".
//!
//! Per interaction (shaders/interaction/gravity.wgsl):
//! - 12 FP32 instructions and 1 reciprocal root (the slot that issues it is part of the measured
//!   overlap); 11 if sources are in blocks of equal mass;
//! - [`READ`]/r instructions that read the tile (or, untiled, a storage buffer), and 1/r reads;
//! - [`LOOP`] instructions of loop control, divided by u x r;
//! - 16/(p r) bytes from storage for the tiles: the chapter's N^2/p.
//!
//! Untiled, the times of reads through the caches and of arithmetic add up. This is so on an NVIDIA
//! H200, where 1/986 is 1/2,049 + 1/1,911 to a per cent. On a software adapter all of these are
//! instructions of one processor, and all their times add up ([`Ceilings::in_series`]).
//!
//! Workgroups with fewer threads than a subgroup leave lanes idle. With few workgroups, the compute
//! unit that has most of them determines the time; the number of units comes from the driver, or
//! else from the rate of all divided by the rate of one ([`Ceiling::LoneGroup`]). A single thread
//! waits for latency with every source: its first interaction takes what a lone thread needs for
//! one ([`Ceiling::LoneThread`]), each further of its r sinks the time to issue it
//! ([`Ceiling::LoneChains`]); untiled, the read comes first ([`Ceiling::LoneRead`]). Unrolling was
//! not observed to hide any of that. The larger of throughput and latency time counts; where they
//! are similar both do: they are added in squares.

use super::ceilings::{Ceiling, Ceilings};
use crate::forces::direct::gpu::KernelConfig;

/// FP32 instructions of an interaction: 3 subtractions, 3 multiply-adds, 3 multiplications, 3
/// multiply-adds.
pub const FP32: f64 = 12.0;

/// Instructions per source in addition to its interactions: the read. (AMD's compiler takes 4, with
/// address, move and wait, and 5 for an iteration of the loop; some of them are scalar, and are
/// issued in parallel with those of other threads.)
pub const READ: f64 = 1.0;

/// Instructions per iteration of the inner loop: count, compare, branch, and the address.
pub const LOOP: f64 = 4.0;

/// Uncertainty in the number of compute units if the driver does not report it: a single workgroup
/// runs at a higher clock than many (6 % on an H200, which then seems to have 126 units instead of
/// 132). If this part of a round of workgroups decides whether another round is needed, none is
/// added.
const UNSURE_OF_UNITS: f64 = 0.07;

/// Threads of the workgroup with which [`Ceiling::LoneRead`] is measured.
const GROUP_OF_READS: f64 = 256.0;

/// A resource that can limit a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Issue of FP32 and other instructions.
    Arithmetic,
    /// The unit of reciprocal square roots.
    Rsqrt,
    /// Reads of workgroup memory.
    WorkgroupMemory,
    /// Reads of storage buffers through the caches (untiled kernels).
    Cache,
    /// Bytes from storage buffers for the tiles.
    Storage,
    /// Too few threads to hide the latency of one.
    Latency,
    /// Too few workgroups for the compute units.
    Parallelism,
    /// The cost of the dispatch itself.
    Dispatch,
}

impl Limit {
    /// The limit with this [name](Self::name).
    pub fn named(name: &str) -> Option<Self> {
        LIMITS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// What the model leaves out where this is the limit and the kernel is slower than predicted.
    pub fn left_out(self) -> &'static str {
        LIMITS[self as usize].2[0]
    }

    /// Why a kernel can be faster than predicted where this is the limit.
    pub fn overestimates(self) -> &'static str {
        LIMITS[self as usize].2[1]
    }

    /// Its name for display.
    pub fn name(self) -> &'static str {
        LIMITS[self as usize].1
    }
}

/// Every limit with its name, and why a kernel can be slower or faster than predicted there.
const LIMITS: [(Limit, &str, [&str; 2]); 8] = [
    (Limit::Arithmetic, "arithmetic", OF_INSTRUCTIONS),
    (Limit::Rsqrt, "reciprocal roots", OF_INSTRUCTIONS),
    (Limit::WorkgroupMemory, "workgroup memory", OF_READS),
    (Limit::Cache, "cached reads", OF_READS),
    (Limit::Storage, "storage bandwidth", OF_READS),
    (Limit::Latency, "latency", OF_LATENCY),
    (Limit::Parallelism, "too few workgroups", OF_WORKGROUPS),
    (Limit::Dispatch, "dispatch cost", OF_WORKGROUPS),
];
const OF_INSTRUCTIONS: [&str; 2] = [
    "it counts the 12 operations, the root and the loop, but no barriers and no instruction that the compiler adds",
    "it adds up instructions that this device runs side by side, or the compiler needs fewer",
];
const OF_READS: [&str; 2] = [
    "it counts reads at the best rate, as if none waited for arithmetic or for another read",
    "it counts each read, and some are served together or from a nearer cache",
];
const OF_LATENCY: [&str; 2] = [
    "it lets each thread wait for its own interactions alone, not for barriers and for the loads of tiles",
    "it takes interactions of a thread one after the other, and this device overlaps some of them",
];
const OF_WORKGROUPS: [&str; 2] = [
    "it knows how many workgroups there are, not what starting, ending and filling them with threads costs",
    "it estimates the number of compute units and the cost of a dispatch, and both come out too high here",
];

/// The model's prediction for a kernel at a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Seconds per force evaluation.
    pub secs: f64,
    /// The resource that takes longest.
    pub limit: Limit,
    /// Seconds that each resource would take alone.
    pub parts: Vec<(Limit, f64)>,
}

impl Prediction {
    /// Interactions per second for this many sinks and sources.
    pub fn rate(&self, sinks: usize, sources: usize) -> f64 {
        sinks as f64 * sources as f64 / self.secs
    }
}

/// The fraction of the shorter of arithmetic and roots that is hidden behind the longer: 1 if they
/// overlap fully, 0 if their times add up, as on the chapter's GeForce 8800 GTX.
pub fn overlap(ceilings: &Ceilings) -> f64 {
    let per = |ceiling| 1.0 / ceilings.get(ceiling);
    let (issue, root) = (FP32 * per(Ceiling::Fma), per(Ceiling::Rsqrt));
    let (longer, shorter) = (issue.max(root), issue.min(root));
    let hidden = (longer + shorter - per(Ceiling::Pair)) / shorter;
    if hidden.is_finite() { hidden.clamp(0.0, 1.0) } else { 1.0 }
}

/// The predicted time of `config` for `sinks` x `sources` on an adapter with these ceilings. `None`
/// if a ceiling that matters was not measured.
pub fn predict(
    ceilings: &Ceilings,
    config: &KernelConfig,
    sinks: usize,
    sources: usize,
) -> Option<Prediction> {
    let needed = [Ceiling::Fma, Ceiling::Rsqrt, Ceiling::Pair, Ceiling::TileRead];
    let more = [Ceiling::CachedRead, Ceiling::Storage, Ceiling::LoneGroup, Ceiling::LoneThread];
    let late = [Ceiling::LoneRead, Ceiling::LoneChains];
    if needed.iter().chain(&more).chain(&late).any(|ceiling| !(ceilings.get(*ceiling) > 0.0)) {
        return None;
    }
    let per = |ceiling| 1.0 / ceilings.get(ceiling);
    let KernelConfig { p, q, r, u, s, .. } = config;
    let [p, q, r, u, s] = [*p, *q, *r, *u, *s].map(f64::from);

    // Lanes without a sink and tile entries without a source take time as well.
    let rows = (sinks as f64 / (p * r)).ceil();
    let slice = f64::from(config.slice_length(sources as u32));
    let taken = if config.untiled { sources as f64 } else { slice * s };
    let work = rows * p * r * taken;
    let subgroup = f64::from(ceilings.subgroup());
    let lanes = (p * q / subgroup).ceil() * subgroup / (p * q);

    let fp32 = if config.sorts_by_mass(sources) { FP32 - 1.0 } else { FP32 };
    let others = READ / r + LOOP / (u * r);
    let (issue, root) = ((fp32 + others) * per(Ceiling::Fma), per(Ceiling::Rsqrt));
    let hidden = overlap(ceilings);
    // The unhidden fraction of the shorter is added to the longer.
    let each = issue + if issue >= root { (1.0 - hidden) * root } else { 0.0 };
    let arithmetic = work * lanes * each;
    let roots = work * lanes * (root + if issue < root { (1.0 - hidden) * issue } else { 0.0 });

    let mut parts = vec![(Limit::Arithmetic, arithmetic), (Limit::Rsqrt, roots)];
    let reads = work * lanes / r;
    if !config.untiled {
        parts.push((Limit::WorkgroupMemory, reads * per(Ceiling::TileRead)));
        parts.push((Limit::Storage, 16.0 * work / (p * r) * per(Ceiling::Storage)));
    } else if !config.uniform {
        parts.push((Limit::Cache, reads * per(Ceiling::CachedRead)));
    }
    let slowest = |a: &(Limit, f64), b: &(Limit, f64)| a.1.total_cmp(&b.1);
    // Arithmetic and roots already contain the unhidden fraction of each other.
    let (mut limit, longest) = parts.iter().copied().max_by(slowest)?;
    let together = arithmetic.max(roots) + parts[2..].iter().map(|part| part.1).sum::<f64>();
    let adds_up = ceilings.are_in_series() || config.untiled;
    let mut throughput = if adds_up { longest.max(together) } else { longest };

    // The unit with the most workgroups.
    let apparent = (per(Ceiling::LoneGroup) / per(Ceiling::Pair)).round().max(1.0);
    let (units, unsure) =
        ceilings.units().map_or((apparent, UNSURE_OF_UNITS), |units| (f64::from(units), 0.0));
    let groups = rows * s;
    let rounds = ((1.0 - unsure) * groups / units).ceil();
    let uneven = (rounds * units / groups).max(1.0);
    parts.push((Limit::Parallelism, throughput * uneven));
    if uneven > 1.5 {
        limit = Limit::Parallelism;
    }
    throughput *= uneven;

    // A thread's sources, one after another.
    let first = per(Ceiling::LoneThread);
    let further = per(Ceiling::LoneChains).min(first);
    let read = if config.untiled && !config.uniform && !config.broadcast {
        GROUP_OF_READS * per(Ceiling::LoneRead)
    } else {
        0.0
    };
    let latency = taken / (s * q) * (read + first + (r - 1.0) * further);
    parts.push((Limit::Latency, latency));
    if latency > throughput {
        limit = Limit::Latency;
    }
    let mut secs =
        if ceilings.are_in_series() { throughput.max(latency) } else { throughput.hypot(latency) };
    if ceilings.get(Ceiling::Dispatch) > 0.0 {
        let cost = per(Ceiling::Dispatch);
        parts.push((Limit::Dispatch, cost));
        if cost > secs {
            limit = Limit::Dispatch;
        }
        secs += cost;
    }
    Some(Prediction { secs, limit, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(256) };
    /// Too few to be sorted by mass.
    const N: usize = 1 << 14;

    /// A device with no limits but the given ones.
    fn device(rates: &[(Ceiling, f64)]) -> Ceilings {
        let free = Ceiling::ALL.map(|ceiling| (ceiling, 1e18));
        Ceilings::of(free.into_iter().chain(rates.iter().copied()))
    }

    fn limit_of(ceilings: &Ceilings, config: KernelConfig, n: usize) -> (Limit, f64) {
        let found = predict(ceilings, &config, n, n).unwrap();
        (found.limit, found.rate(n, n))
    }

    #[test]
    fn model_reproduces_gpu_gems_rate_of_ten_billion_interactions() {
        // GeForce 8800 GTX: 128 processors at 1.35 GHz; a reciprocal root takes four times as long
        // as an addition, and nothing overlaps.
        let fma = 128.0 * 1.35e9;
        let pair = 1.0 / (12.0 / fma + 4.0 / fma);
        let gpu =
            device(&[(Ceiling::Fma, fma), (Ceiling::Rsqrt, fma / 4.0), (Ceiling::Pair, pair)]);
        assert!(overlap(&gpu).abs() < 1e-9);
        // The chapter's 72 cycles per 4 interactions: 52 + 16 + 4. Here the 13th FP32 instruction
        // is the read of the tile, and the loop is the same 4.
        let (limit, rate) = limit_of(&gpu, CONFIG, N);
        assert_eq!(limit, Limit::Arithmetic);
        assert!((rate / (fma * 4.0 / 72.0) - 1.0).abs() < 1e-9, "{rate:e}");
        assert!((9.5e9..10e9).contains(&rate));
    }

    #[test]
    fn separate_root_unit_overlaps_with_arithmetic() {
        let gpu =
            device(&[(Ceiling::Fma, 32e12), (Ceiling::Rsqrt, 4e12), (Ceiling::Pair, 32e12 / 12.0)]);
        assert_eq!(overlap(&gpu), 1.0);
        let large = KernelConfig { r: 4, u: 8, ..CONFIG };
        let (limit, rate) = limit_of(&gpu, large, N);
        assert_eq!(limit, Limit::Arithmetic);
        assert!((rate - 32e12 / (12.0 + 0.25 + 4.0 / 32.0)).abs() < 1e6);
        // A sixteenth-rate unit is the slower of the two.
        let slow = device(&[(Ceiling::Fma, 32e12), (Ceiling::Rsqrt, 2e12), (Ceiling::Pair, 2e12)]);
        let (limit, rate) = limit_of(&slow, large, N);
        assert!(limit == Limit::Rsqrt && (rate / 2e12 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn model_names_limiting_resource() {
        let base = [(Ceiling::Fma, 32e12), (Ceiling::Rsqrt, 8e12), (Ceiling::Pair, 2.6e12)];
        let with =
            |ceiling, rate| device(&base.into_iter().chain([(ceiling, rate)]).collect::<Vec<_>>());
        let slow_tile = with(Ceiling::TileRead, 1e12);
        let (limit, rate) = limit_of(&slow_tile, CONFIG, N);
        assert!(limit == Limit::WorkgroupMemory && (rate / 1e12 - 1.0).abs() < 1e-9);
        // Sinks in registers share a read: r = 4 lifts that limit.
        assert_eq!(limit_of(&slow_tile, KernelConfig { r: 4, ..CONFIG }, N).0, Limit::Arithmetic);
        // Memory traffic falls with p.
        let slow_storage = with(Ceiling::Storage, 2e11);
        let small = KernelConfig { p: 16, ..CONFIG };
        assert_eq!(limit_of(&slow_storage, small, N).0, Limit::Storage);
        assert_eq!(limit_of(&slow_storage, CONFIG, N).0, Limit::Arithmetic);
        let slow_cache = with(Ceiling::CachedRead, 1e12);
        let untiled = KernelConfig { untiled: true, ..CONFIG };
        assert_eq!(limit_of(&slow_cache, untiled, N).0, Limit::Cache);
        assert_eq!(limit_of(&with(Ceiling::Dispatch, 1e3), CONFIG, 1024).0, Limit::Dispatch);
    }

    #[test]
    fn software_adapter_times_are_summed() {
        let rates = [
            (Ceiling::Fma, 14e9),
            (Ceiling::Rsqrt, 2e9),
            (Ceiling::Pair, 1.0 / (12.0 / 14e9 + 1.0 / 2e9)),
            (Ceiling::TileRead, 0.5e9),
        ];
        let (limit, rate) = limit_of(&device(&rates).in_series(true), CONFIG, N);
        assert_eq!(limit, Limit::WorkgroupMemory);
        // 14 instructions at 14 G/s, a root at 2 G/s that nothing hides, a read at 0.5 G/s.
        let expected = 1.0 / (14.0 / 14e9 + 1.0 / 2e9 + 1.0 / 0.5e9);
        assert!((rate / expected - 1.0).abs() < 1e-6, "{rate:e} {expected:e}");
    }

    #[test]
    fn latency_limits_few_bodies_and_slices_help() {
        let gpu = device(&[
            (Ceiling::Fma, 32e12),
            (Ceiling::Rsqrt, 8e12),
            (Ceiling::Pair, 2.6e12),
            (Ceiling::LoneThread, 1e7),
        ]);
        let (limit, slow) = limit_of(&gpu, CONFIG, 1024);
        assert_eq!(limit, Limit::Latency);
        let split = limit_of(&gpu, KernelConfig { p: 64, q: 4, ..CONFIG }, 1024).1;
        assert!((split / slow - 4.0).abs() < 1e-3, "four threads per sink, a quarter of the wait");
        let sliced = limit_of(&gpu, KernelConfig { p: 64, s: 16, ..CONFIG }, 1024).1;
        assert!((sliced / slow - 16.0).abs() < 0.1);
        let lone = device(&[(Ceiling::LoneGroup, 1e9)]);
        assert_eq!(limit_of(&lone, CONFIG, 1024).0, Limit::Parallelism);
    }

    #[test]
    fn limits_are_found_by_their_names() {
        for (limit, ..) in LIMITS {
            assert_eq!(Limit::named(limit.name()), Some(limit));
            assert_ne!(limit.left_out(), limit.overestimates());
        }
        assert_eq!(Limit::named("nothing"), None);
    }

    #[test]
    fn reported_compute_units_override_estimate() {
        let gpu = device(&[
            (Ceiling::Fma, 32e12),
            (Ceiling::Pair, 2e12),
            (Ceiling::LoneGroup, 2e12 / 126.0),
        ]);
        let rate = |gpu: &Ceilings, groups: usize| {
            let n = 256 * groups;
            predict(gpu, &CONFIG, n, n).unwrap().rate(n, n)
        };
        // Two rounds of 132 units; with 126, 264 workgroups would need a third.
        let reported = gpu.with_units(Some(132));
        assert!((rate(&reported, 264) / rate(&reported, 132) - 1.0).abs() < 1e-6);
        assert!(rate(&reported, 265) < 0.7 * rate(&reported, 264));
        // Without the reported number, the uncertain part does not add a round.
        assert!((rate(&gpu, 264) / rate(&gpu, 252) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn idle_lanes_are_counted_and_missing_ceilings_give_none() {
        let gpu = device(&[(Ceiling::Fma, 1e12), (Ceiling::Pair, 1e12 / 12.0)]);
        let (_, full) = limit_of(&gpu, CONFIG, 256);
        let found = predict(&gpu, &CONFIG, 257, 257).unwrap();
        assert!(found.rate(257, 257) < 0.3 * full);
        assert_eq!(predict(&Ceilings::default(), &CONFIG, 256, 256), None);
    }
}
