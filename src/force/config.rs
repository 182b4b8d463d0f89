//! How the all-pairs kernel is cut up: p, q, r, u, s and the rest.

use crate::error::{Error, Result};
use crate::gpu::{Checks, DeviceClass, Gpu};

/// The shape of an all-pairs kernel. See the words of `shaders/force/all_pairs.wgsl`.
///
/// Accelerations of two shapes differ by rounding only; p, q and s decide the order of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelConfig {
    /// Threads along the sinks of a workgroup, and sources per thread and tile. 1 or more.
    pub p: u32,
    /// Threads that share one sink; p * q threads per workgroup. 1 or more; 1 when untiled.
    pub q: u32,
    /// Sinks per thread, 1 to 16.
    pub r: u32,
    /// Interactions written out per turn of the inner loop; divides p when tiled. 1 to 128.
    pub u: u32,
    /// Slices of the sources, 1 to 1024.
    pub s: u32,
    /// Without workgroup memory: the baseline.
    pub untiled: bool,
    /// Whether wgpu's run-time checks stay in.
    pub checks: Checks,
}

impl KernelConfig {
    /// A sensible shape for a class of device and a number of sinks and sources, until a tuner has
    /// measured a better one.
    pub fn for_device(class: DeviceClass, sinks: usize, sources: usize) -> Self {
        if class == DeviceClass::Software {
            // A CPU has no workgroup memory: on lavapipe (2 cores, N = 4096) the untiled loop made
            // 930 M interactions/s against 805 M tiled.
            return Self { p: 64, q: 1, r: 1, u: 4, s: 1, untiled: true, checks: Checks::Off };
        }
        // Registers first serve reuse (r), then the sources are sliced until the device is full.
        let wanted_threads = class.threads_to_fill() as usize;
        let r = if sinks >= wanted_threads / 4 {
            4
        } else if sinks >= 8192 {
            2
        } else {
            1
        };
        let p = if sinks >= 4096 { 256 } else { 64 };
        let threads = sinks.div_ceil(r as usize);
        let slices_to_fill = (wanted_threads / threads.max(1)).max(1);
        // A slice shorter than a few tiles is all overhead.
        let slices_allowed = (sources / (4 * p as usize)).clamp(1, 64);
        let s = slices_to_fill.min(slices_allowed).next_power_of_two() as u32;
        Self { p, q: 1, r, u: 4, s, untiled: false, checks: Checks::Off }
    }

    /// Threads per workgroup.
    pub fn threads(&self) -> u32 {
        self.p * self.q
    }

    /// Sinks per workgroup.
    pub fn sinks_per_workgroup(&self) -> u32 {
        self.p * self.r
    }

    /// Sources that all threads of a workgroup take in one turn of the outer loop.
    pub fn tile(&self) -> u32 {
        self.p * self.q
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_memory(&self) -> u32 {
        if self.untiled { 0 } else { self.tile() * crate::gpu::layout::VEC4 as u32 }
    }

    /// Length of one slice of `sources` sources: whole tiles, so that only the last one has a tail.
    pub fn slice_length(&self, sources: u32) -> u32 {
        sources.div_ceil(self.s).max(1).next_multiple_of(self.tile())
    }

    /// Refuses what no adapter, or not this one, can hold.
    ///
    /// Errors: [`Error::Value`] for a number out of its range; [`Error::Adapter`] names the limit.
    pub fn validate(&self, gpu: Option<&Gpu>) -> Result<()> {
        let ranged = |name: &str, value: u32, most: u32| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(Error::value(name, value, format!("between 1 and {most}")))
            }
        };
        ranged("p", self.p, 1024)?;
        ranged("q", self.q, 1024)?;
        ranged("r", self.r, 16)?;
        ranged("u (unroll)", self.u, 128)?;
        ranged("s (slices)", self.s, 1024)?;
        if self.untiled && self.q != 1 {
            return Err(Error::value("q", self.q, "1 without tiles (--untiled)"));
        }
        if !self.untiled && !self.p.is_multiple_of(self.u) {
            let allowed = format!("a divisor of p = {} when tiled", self.p);
            return Err(Error::value("u (unroll)", self.u, allowed));
        }
        let Some(gpu) = gpu else { return Ok(()) };
        let limits = &gpu.limits;
        let (p, q) = (self.p, self.q);
        if self.threads() > limits.threads_per_workgroup {
            let (threads, most) = (self.threads(), limits.threads_per_workgroup);
            return Err(gpu.refuse(format!(
                "p x q = {p} x {q} = {threads} threads per workgroup, but it allows at most {most}"
            )));
        }
        if p > limits.workgroup_x || q > limits.workgroup_y {
            let (x, y) = (limits.workgroup_x, limits.workgroup_y);
            return Err(
                gpu.refuse(format!("p = {p}, q = {q}, but it allows p <= {x} and q <= {y}"))
            );
        }
        if self.workgroup_memory() > limits.workgroup_memory {
            let (bytes, most) = (self.workgroup_memory(), limits.workgroup_memory);
            return Err(gpu.refuse(format!(
                "a tile of p x q = {p} x {q} sources takes {bytes} bytes of workgroup memory, but it has {most}"
            )));
        }
        Ok(())
    }
}

impl std::fmt::Display for KernelConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { p, q, r, u, s, .. } = self;
        write!(f, "p={p} q={q} r={r} u={u} s={s}")?;
        if self.untiled {
            write!(f, " untiled")?;
        }
        if self.checks == Checks::On {
            write!(f, " checked")?;
        }
        Ok(())
    }
}

/// What the user fixed of a [`KernelConfig`]; the rest is chosen for the device and the problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelWish {
    /// See [`KernelConfig::p`].
    pub p: Option<u32>,
    /// See [`KernelConfig::q`].
    pub q: Option<u32>,
    /// See [`KernelConfig::r`].
    pub r: Option<u32>,
    /// See [`KernelConfig::u`].
    pub u: Option<u32>,
    /// See [`KernelConfig::s`].
    pub s: Option<u32>,
    /// See [`KernelConfig::untiled`]; a `q` above 1 asks for tiles.
    pub untiled: Option<bool>,
    /// See [`KernelConfig::checks`].
    pub checked: bool,
}

impl KernelWish {
    /// The wish with the gaps filled, valid on `gpu`.
    pub fn resolve(&self, gpu: &Gpu, sinks: usize, sources: usize) -> Result<KernelConfig> {
        let config = self.fill(KernelConfig::for_device(gpu.adapter.class, sinks, sources));
        config.validate(Some(gpu))?;
        Ok(config)
    }

    /// The wish with the gaps filled from `default`; what comes out is yet to be validated.
    pub fn fill(&self, default: KernelConfig) -> KernelConfig {
        let p = self.p.unwrap_or(default.p);
        // A number given for what only tiles have is a wish for tiles.
        let untiled = self.untiled.unwrap_or(default.untiled && self.q.is_none_or(|q| q == 1));
        let largest_unroll = (1..=default.u).rev().find(|u| p.is_multiple_of(*u)).unwrap_or(1);
        KernelConfig {
            p,
            q: self.q.unwrap_or(1),
            r: self.r.unwrap_or(default.r),
            u: self.u.unwrap_or(largest_unroll),
            s: self.s.unwrap_or(default.s),
            untiled,
            checks: if self.checked { Checks::On } else { Checks::Off },
        }
    }
}

impl From<KernelConfig> for KernelWish {
    fn from(config: KernelConfig) -> Self {
        Self {
            p: Some(config.p),
            q: Some(config.q),
            r: Some(config.r),
            u: Some(config.u),
            s: Some(config.s),
            untiled: Some(config.untiled),
            checked: config.checks == Checks::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILED: KernelConfig =
        KernelConfig { p: 64, q: 2, r: 1, u: 4, s: 1, untiled: false, checks: Checks::Off };

    #[test]
    fn each_bad_number_is_named() {
        let check = |config: KernelConfig, words: &str| {
            let text = config.validate(None).expect_err("should be refused").to_string();
            assert!(text.contains(words), "'{text}' should say '{words}'");
        };
        check(KernelConfig { p: 0, ..TILED }, "p is 0");
        check(KernelConfig { r: 17, ..TILED }, "r is 17, but must be between 1 and 16");
        check(KernelConfig { u: 3, ..TILED }, "a divisor of p = 64");
        check(KernelConfig { s: 0, ..TILED }, "s (slices) is 0");
        check(KernelConfig { untiled: true, ..TILED }, "q is 2");
        assert!(TILED.validate(None).is_ok());
    }

    #[test]
    fn slices_are_whole_tiles_and_cover_all_sources() {
        for s in [1, 2, 3, 7] {
            for sources in [1, 127, 128, 129, 1000, 4097] {
                let config = KernelConfig { s, ..TILED };
                let length = config.slice_length(sources);
                assert!(length.is_multiple_of(config.tile()) && length * s >= sources);
            }
        }
    }

    #[test]
    fn defaults_are_valid_for_every_class_and_size() {
        for class in [DeviceClass::Discrete, DeviceClass::Integrated, DeviceClass::Software] {
            for n in [1, 2, 100, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20, 1 << 24] {
                let config = KernelConfig::for_device(class, n, n);
                config.validate(None).unwrap();
                assert!(config.threads() <= 256 && config.workgroup_memory() <= 16384);
                // 48 bytes of state and 16 per slice: at most 64 where memory counts.
                assert!(n < 1 << 19 || config.s == 1, "{class:?} {n} {config}");
            }
        }
    }
}
