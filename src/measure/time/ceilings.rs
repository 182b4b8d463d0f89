//! The maximum rates of an adapter, measured with kernels that do one thing only.
//!
//! Rates count what threads do: a multiply-add, a reciprocal square root, a read of one `vec4` by
//! one thread. So no table of cores and clocks is needed that could become outdated.

use super::Method;
use crate::gpu::{DeviceClass, Gpu};
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
const TABLE: [(Ceiling, &str, &str, Unit); 12] = [
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
type Unit = (&'static str, f64);

const GIGA: Unit = ("G/s", 1e9);
const MEGA: Unit = ("M/s", 1e6);
const MICROSECONDS: Unit = ("µs", -1e-6);

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
    pub method: Method,
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
            method: Method::WallClock,
        };
        assert_eq!(samples.per_sec(), 4.0);
    }
}
