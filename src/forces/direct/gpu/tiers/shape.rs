//! How forces with derivatives are cut up, so that one sink or a million fill the device.

use crate::error::{Error, Result};
use crate::forces::Precision;
use crate::gpu::{DeviceClass, Gpu, Rectangle};

/// The shape of the kernels. See the words of `shaders/direct/forces.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Sinks side by side in a workgroup.
    pub p: u32,
    /// Rows of threads that share them.
    pub q: u32,
    /// Sinks per thread.
    pub r: u32,
    /// Interactions whose sum is formed before it is added to the totals; divides p * l.
    pub u: u32,
    /// Sources that each thread brings to a tile.
    pub l: u32,
    /// Slices of the sources, one per workgroup in y.
    pub slices: u32,
}

/// Fewest tiles of a slice: fewer would cost more to add up than to compute.
const FEWEST_TILES: u32 = 2;

/// Most bytes of partial sums, if the device allows them.
const PARTIAL_BYTES: u64 = 256 << 20;

impl Shape {
    /// The shape for so many sinks and sources on a class of device; `sum_bytes` is what a segment
    /// keeps per sink, `largest` the largest buffer.
    pub fn for_sinks(
        class: DeviceClass,
        (precision, refined): (Precision, bool),
        sinks: u32,
        sources: u32,
        sum_bytes: u64,
        largest: u64,
    ) -> Self {
        let block = Self::of_block(class, refined, sinks);
        // Where sinks fill a device by themselves, tiles of 128 with one row serve twice as many of them: on an H200 2 % faster
        // than two rows, in f32; in f64 slower. Bodies that live on a device keep to the shapes that they began with.
        // In f64 a thread with two sinks has too many numbers at hand to write out 16 interactions: on an H200 8 are 3 to 11 %
        // faster.
        let is_wide = class == DeviceClass::Discrete && !refined;
        let is_double = precision == Precision::Double;
        let shape = match sinks {
            _ if is_wide && is_double && block.r > 1 => Self { u: block.u.min(8), ..block },
            // Two columns of 32 read each source half as often as four of 16: by timestamps on an H200 7 % faster on 524,288
            // sources. Fewer sinks would leave more of them empty, and fewer sources have threads without one.
            49..=64 if is_wide && !is_double && sources >= 1 << 16 => Self { p: 32, q: 4, ..block },
            1024..8192 if is_wide && !is_double => Self { p: 128, q: 1, ..block },
            _ => block,
        };
        let (busy, tile) = (shape.busy(sinks), shape.tile());
        // More slices than fill the device are more to add up: on an H200 half as many threads are faster but where
        // a few dozen sinks share their rows, or where sinks alone make thousands of threads; in f64, of which fewer fit, from
        // fewer sinks on.
        let are_many = sinks >= if is_double { 2048 } else { 8192 };
        let is_full = class != DeviceClass::Discrete || are_many || matches!(sinks, 17..=128);
        let fill = class.threads_to_fill() / if is_full { 1 } else { 2 };
        let wanted = (fill / busy.max(1)).max(1);
        let worth = (sources / (FEWEST_TILES * tile)).max(1);
        let per_slice = sum_bytes * u64::from(shape.q + 1) * u64::from(sinks.max(1));
        let room = (PARTIAL_BYTES.min(largest) / per_slice.max(1)).max(1);
        let slices = wanted.min(worth).min(4096).min(u32::try_from(room).unwrap_or(u32::MAX));
        Self { slices, ..shape }
    }

    /// The shape for blocks of so many sinks, the sources in one slice. Few sinks have many rows, so that no thread is
    /// without one; many have two for each thread, which read the tile once for both.
    pub(crate) fn of_block(class: DeviceClass, refined: bool, sinks: u32) -> Self {
        // A CPU compiles long texts slowly, and has no use for many threads that wait; refined, an interaction is a
        // long text. By benches/shapes.rs on an H200: two rows take a fifth less time than one for 256 sinks, as much for
        // 1,024, and slower from 16,384 on.
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

    /// Interactions that are written out one after the other at most.
    pub(super) fn longest_text(class: DeviceClass, refined: bool) -> u32 {
        match (class, refined) {
            (DeviceClass::Software, false) => 8,
            (DeviceClass::Software, true) => 2,
            (_, false) => 16,
            (_, true) => 4,
        }
    }

    /// Threads that work on so many sinks, with one slice.
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

    /// Workgroups for so many sinks.
    pub(super) fn workgroups(&self, sinks: u32) -> u32 {
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

    /// What dispatches are cut from.
    pub(super) fn rectangle(&self, sinks: u32, sources: u32) -> Rectangle {
        Rectangle {
            sinks,
            sources,
            slices: self.slices,
            slice_length: self.slice_length(sources),
            rows: self.sinks_per_workgroup(),
            tile: self.tile(),
            threads: self.threads(),
            fixed_chunk: None,
        }
    }

    /// Whether kernels of this shape can be written for a device: what was found there is read from a file, which may say
    /// anything.
    pub(super) fn holds_on(&self, gpu: &Gpu) -> bool {
        self.validate().is_ok() && self.threads() <= gpu.limits.threads_per_workgroup
    }

    /// Refuses what the kernels cannot be written for.
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

impl std::fmt::Display for Shape {
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
                    let shape = Shape::for_sinks(class, tier, sinks, sources, 80, 128 << 20);
                    shape.validate().unwrap();
                    let covered = u64::from(shape.slice_length(sources)) * u64::from(shape.slices);
                    assert!(covered >= u64::from(sources));
                    let bytes = u64::from(shape.slices * (shape.q + 1)) * u64::from(sinks) * 80;
                    assert!(shape.slices == 1 || bytes <= 128 << 20, "{shape}: {bytes}");
                }
            }
        }
        let one = Shape::for_sinks(DeviceClass::Discrete, tier, 1, 131_072, 80, 128 << 20);
        let threads = one.threads() * one.slices;
        assert!(threads >= 16_384, "{one}");
        let most = Shape::for_sinks(DeviceClass::Discrete, tier, 64, 1 << 19, 80, 128 << 20);
        let fewer = Shape::for_sinks(DeviceClass::Discrete, tier, 48, 1 << 19, 80, 128 << 20);
        assert_eq!((most.p, most.q, most.slices, fewer.p, fewer.q), (32, 4, 512, 16, 8));
        let many = Shape::for_sinks(DeviceClass::Discrete, tier, 1 << 18, 1 << 18, 80, 128 << 20);
        assert_eq!((many.slices, many.q, many.r), (1, 1, 2));
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let good = Shape { p: 64, q: 1, r: 1, u: 16, l: 1, slices: 1 };
        good.validate().unwrap();
        for bad in [
            Shape { u: 24, ..good },
            Shape { p: 0, ..good },
            Shape { q: 8, ..good },
            Shape { slices: 0, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad}");
        }
    }
}
