//! Workgroup shapes for forces with derivatives, so that one sink or a million fill the device, and
//! the arithmetic of double-single.

use super::Precision;
use crate::error::{Error, Result};
use crate::gpu::{DeviceClass, Gpu, Rectangle};

/// The shape of the kernels; for the terms see `shaders/direct/forces.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierShape {
    /// Sinks side by side in a workgroup.
    pub p: u32,
    /// Rows of threads that share them.
    pub q: u32,
    /// Sinks per thread.
    pub r: u32,
    /// Interactions summed before they are added to the totals; divides p * l.
    pub u: u32,
    /// Sources that each thread loads into a tile.
    pub l: u32,
    /// Slices of the sources, one per workgroup in y.
    pub slices: u32,
}

/// How pairs of f32 are computed on an adapter. Relevant to [`Precision::DoubleSingle`]; determined
/// by [`super::direct::gpu::tiers::tier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pairs {
    /// Whether sums are protected against algebraic simplification by the compiler; see
    /// `shaders/direct/arithmetic.wgsl`. Unprotected pairs are for testing the self-test.
    pub fence: bool,
    /// Whether fma rounds once, and so gives the rounding error of a product. WGSL permits rounding
    /// twice; there products are split after Dekker, with a third more instructions in the refined
    /// kernel.
    pub fused: bool,
}

impl Pairs {
    /// For tiers without pairs.
    pub const NONE: Self = Self { fence: false, fused: false };

    /// Name for display.
    pub fn name(self) -> &'static str {
        if self.fused { "products by fma" } else { "products split" }
    }
}

/// Fewest tiles of a slice: with fewer, adding the partial sums costs more than computing them.
const FEWEST_TILES: u32 = 2;

/// Most bytes of partial sums, if the device allows them.
const PARTIAL_BYTES: u64 = 256 << 20;

impl TierShape {
    /// The shape for these numbers of sinks and sources on a class of device; `sum_bytes` is the
    /// size of a segment's partial sums per sink, `largest` that of the largest buffer.
    pub fn for_sinks(
        class: DeviceClass,
        (precision, refined): (Precision, bool),
        sinks: u32,
        sources: u32,
        sum_bytes: u64,
        largest: u64,
    ) -> Self {
        let block = Self::of_block(class, refined, sinks);
        // Where sinks fill a device by themselves, tiles of 128 with one row serve twice as many of
        // them: on an H200 2 % faster than two rows in f32, but slower in f64. Bodies resident on a
        // device keep the shapes that they began with. In f64 a thread with two sinks runs out of
        // registers with 16 unrolled interactions: on an H200, 8 are 3 to 11 % faster.
        let is_wide = class == DeviceClass::Discrete && !refined;
        let is_double = precision == Precision::Double;
        let shape = match sinks {
            _ if is_wide && is_double && block.r > 1 => Self { u: block.u.min(8), ..block },
            // Two columns of 32 read each source half as often as four of 16: 7 % faster on 524,288
            // sources, by timestamps on an H200. Fewer sinks would leave more columns empty, and
            // fewer sources would leave threads idle.
            49..=64 if is_wide && !is_double && sources >= 1 << 16 => Self { p: 32, q: 4, ..block },
            1024..8192 if is_wide && !is_double => Self { p: 128, q: 1, ..block },
            _ => block,
        };
        let (busy, tile) = (shape.busy(sinks), shape.tile());
        // More slices than fill the device cost more to add up. On an H200 half as many threads are
        // faster except where a few dozen sinks share their rows, or where sinks alone make
        // thousands of threads; in f64, where fewer threads fit, this begins at fewer sinks.
        let are_many = sinks >= if is_double { 2048 } else { 8192 };
        let is_full = class != DeviceClass::Discrete || are_many || matches!(sinks, 17..=128);
        let fill = class.threads_to_fill() / if is_full { 1 } else { 2 };
        let slices_to_fill = (fill / busy.max(1)).max(1);
        let worth = (sources / (FEWEST_TILES * tile)).max(1);
        let per_slice = sum_bytes * u64::from(shape.q + 1) * u64::from(sinks.max(1));
        let room = (PARTIAL_BYTES.min(largest) / per_slice.max(1)).max(1);
        let slices =
            slices_to_fill.min(worth).min(4096).min(u32::try_from(room).unwrap_or(u32::MAX));
        Self { slices, ..shape }
    }

    /// The shape for blocks of `sinks` sinks, the sources in one slice. Few sinks have many rows,
    /// so that no thread is idle; many have two sinks per thread, which read the tile once for
    /// both.
    pub(crate) fn of_block(class: DeviceClass, refined: bool, sinks: u32) -> Self {
        // A CPU compiles long kernels slowly and gains nothing from many waiting threads; a refined
        // interaction is a long piece of code. By benches/shapes.rs on an H200: two rows take a
        // fifth less time than one for 256 sinks, the same for 1,024, and more from 16,384 on.
        let (p, q, r) = match (class, sinks) {
            (DeviceClass::Software, _) => {
                let p = sinks.clamp(8, 32).next_power_of_two();
                (p, 32 / p, 1)
            }
            (_, ..=64) => {
                let p = sinks.clamp(1, 16).next_power_of_two();
                (p, 128 / p, 1)
            }
            (_, ..=128) => (32, 4, 1),
            (_, ..2048) if refined => (64, 1, 2),
            (_, _) if refined => (128, 1, 2),
            (_, ..8192) => (64, 2, 2),
            _ => (64, 1, 2),
        };
        let u = p.min(Self::longest_text(class, refined));
        Self { p, q, r: if refined { 1 } else { r }, u, l: 1, slices: 1 }
    }

    /// Largest number of unrolled interactions.
    pub(in crate::forces) fn longest_text(class: DeviceClass, refined: bool) -> u32 {
        match (class, refined) {
            (DeviceClass::Software, false) => 8,
            (DeviceClass::Software, true) => 2,
            (_, false) => 16,
            (_, true) => 4,
        }
    }

    /// Threads with work for `sinks` sinks, with one slice.
    fn busy(&self, sinks: u32) -> u32 {
        self.workgroups(sinks).saturating_mul(self.threads())
    }

    /// Threads per workgroup.
    pub fn threads(&self) -> u32 {
        self.p * self.q
    }

    /// Sinks per workgroup.
    pub fn sinks_per_workgroup(&self) -> u32 {
        self.p * self.r
    }

    /// Workgroups for `sinks` sinks.
    pub(in crate::forces) fn workgroups(&self, sinks: u32) -> u32 {
        sinks.div_ceil(self.sinks_per_workgroup())
    }

    /// Sources per tile.
    pub fn tile(&self) -> u32 {
        self.p * self.q * self.l
    }

    /// Length of one slice of `sources` sources: whole tiles.
    pub fn slice_length(&self, sources: u32) -> u32 {
        sources.div_ceil(self.slices).max(1).next_multiple_of(self.tile())
    }

    /// The rectangle of sinks and sources that dispatches are cut from.
    pub(in crate::forces) fn rectangle(&self, sinks: u32, sources: u32) -> Rectangle {
        Rectangle {
            sinks,
            sources,
            slices: self.slices,
            slice_length: self.slice_length(sources),
            rows: self.sinks_per_workgroup(),
            tile: self.tile(),
            threads: self.threads(),
            fixed_chunk: None,
            most_chunk: u32::MAX,
        }
    }

    /// Whether kernels of this shape can be compiled for a device. Shapes read from a file may have
    /// any values.
    pub(in crate::forces) fn holds_on(&self, gpu: &Gpu) -> bool {
        self.validate().is_ok() && self.threads() <= gpu.limits.threads_per_workgroup
    }

    /// Refuses shapes for which no kernel can be written.
    pub fn validate(&self) -> Result<()> {
        for (name, value, most) in [
            ("p", self.p, 256),
            ("q", self.q, 256),
            ("r", self.r, 4),
            ("u", self.u, 64),
            ("l", self.l, 16),
            ("slices", self.slices, 4096),
            ("p x q", self.threads(), 256),
        ] {
            if !(1..=most).contains(&value) {
                return Err(Error::value(name, value, format!("between 1 and {most}")));
            }
        }
        if !(self.p * self.l).is_multiple_of(self.u) {
            let allowed = format!("a divisor of p x l = {}", self.p * self.l);
            return Err(Error::value("u", self.u, allowed));
        }
        Ok(())
    }
}

impl std::fmt::Display for TierShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { p, q, r, u, slices, .. } = self;
        write!(f, "p={p} q={q} r={r} u={u} s={slices}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_valid_and_few_sinks_fill_the_device() {
        let tier = (Precision::DoubleSingle, false);
        for class in [DeviceClass::Discrete, DeviceClass::Integrated, DeviceClass::Software] {
            for sinks in [1, 7, 64, 100, 4096, 131_072, 1 << 20] {
                for sources in [1, 63, 1000, 131_072, 1 << 20] {
                    let shape = TierShape::for_sinks(class, tier, sinks, sources, 80, 128 << 20);
                    shape.validate().unwrap();
                    let covered = u64::from(shape.slice_length(sources)) * u64::from(shape.slices);
                    assert!(covered >= u64::from(sources));
                    let bytes = u64::from(shape.slices * (shape.q + 1)) * u64::from(sinks) * 80;
                    assert!(shape.slices == 1 || bytes <= 128 << 20, "{shape}: {bytes}");
                }
            }
        }
        let one = TierShape::for_sinks(DeviceClass::Discrete, tier, 1, 131_072, 80, 128 << 20);
        let threads = one.threads() * one.slices;
        assert!(threads >= 16_384, "{one}");
        let most = TierShape::for_sinks(DeviceClass::Discrete, tier, 64, 1 << 19, 80, 128 << 20);
        let fewer = TierShape::for_sinks(DeviceClass::Discrete, tier, 48, 1 << 19, 80, 128 << 20);
        assert_eq!((most.p, most.q, most.slices, fewer.p, fewer.q), (32, 4, 512, 16, 8));
        let many =
            TierShape::for_sinks(DeviceClass::Discrete, tier, 1 << 18, 1 << 18, 80, 128 << 20);
        assert_eq!((many.slices, many.q, many.r), (1, 1, 2));
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let good = TierShape { p: 64, q: 1, r: 1, u: 16, l: 1, slices: 1 };
        good.validate().unwrap();
        for bad in [
            TierShape { u: 24, ..good },
            TierShape { p: 0, ..good },
            TierShape { q: 8, ..good },
            TierShape { slices: 0, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad}");
        }
    }
}
