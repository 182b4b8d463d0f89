//! The shape of the all-pairs kernel: p, q, r, u, s and the rest.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::gpu::{Checks, DeviceClass, Gpu, Limits};
use crate::settings::Dispatch;

/// Sources in a window: 64 KiB, the largest uniform buffer that WebGPU guarantees.
pub const WINDOW: u32 = 4096;

/// Sources are sorted by mass from this number on; below it the copy costs as much as it gains.
const MANY_SOURCES: usize = 1 << 15;

/// The shape of an all-pairs kernel. The letters are explained in `shaders/force/all_pairs.wgsl`.
///
/// Accelerations of two shapes differ by rounding only; p, q and s decide the order of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelConfig {
    /// Threads along the sinks of a workgroup, and sources per thread and tile. 1 or more.
    pub p: u32,
    /// Threads that share one sink; p * q threads per workgroup. 1 or more; 1 when untiled.
    pub q: u32,
    /// Sinks per thread, 1 to 16.
    pub r: u32,
    /// Interactions unrolled per iteration of the inner loop; divides p when tiled. 1 to 128.
    pub u: u32,
    /// Slices of the sources, 1 to 1024.
    pub s: u32,
    /// Without workgroup memory, as a baseline.
    pub untiled: bool,
    /// Untiled, with the sources in a uniform buffer, one window after another. p times s divides a
    /// window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uniform: bool,
    /// Untiled, with the sources in registers: the threads of a subgroup load one each and pass
    /// them on. On Apple's GPUs a subgroup moves four times as many bytes so as from workgroup
    /// memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// With forces of two sinks in each operation, for even r. Potentials and softening 0 have the
    /// same sums without. For GPUs with packed arithmetic (AMD's CDNA, VOPD).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vec2: bool,
    /// How its steps are dispatched.
    #[serde(rename = "one_workgroup", default, skip_serializing_if = "Dispatch::is_auto")]
    pub dispatch: Dispatch,
    /// Whether wgpu's run-time checks remain.
    #[serde(rename = "checked")]
    pub checks: Checks,
    /// The user's own kernel of this shape ([`super::own`]), for which u has no meaning. Not stored
    /// in files: it belongs to a process.
    #[serde(skip)]
    pub own: bool,
}

/// Bodies that fit the workgroup memory WebGPU guarantees, 16 KiB.
const LOADED_BODIES: u32 = 1024;

impl KernelConfig {
    /// The chapter's kernel in its simplest form: tiles of `p` sources, one sink per thread,
    /// nothing unrolled. All other shapes are described by their differences from it.
    pub const fn tiled(p: u32) -> Self {
        let (untiled, uniform, broadcast, vec2, own) = (false, false, false, false, false);
        let (dispatch, checks) = (Dispatch::Auto, Checks::Off);
        let (q, r, u, s) = (1, 1, 1, 1);
        Self { p, q, r, u, s, untiled, uniform, broadcast, vec2, dispatch, checks, own }
    }

    /// A sensible shape for a class of device and a number of sinks and sources, until tuning has
    /// measured a better one.
    pub fn for_device(class: DeviceClass, sinks: usize, sources: usize) -> Self {
        // Few bodies: rows of threads share the sinks, and one dispatch per step (s = 1) saves the
        // time to start another. On an H200 (driver 580) this is 1.4 to 3 times as fast as slices.
        // p = 8 at N = 512, 1024, 2048 is 1.17, 1.25, 1.29 times as fast as p = 32, and p = 16 at
        // 4096 1.1 times: every compute unit gets a workgroup. All devices have 256 threads; with
        // 512 and 1024 the tuner finds 5 to 15 % more.
        let is_large = !matches!(class, DeviceClass::Integrated | DeviceClass::Software);
        if sinks <= 8192 && is_large {
            let p = (sinks as u32 / 256).next_power_of_two().clamp(8, 32);
            let by_slices = Self::by_slices(class, sinks, sources);
            return Self { p, q: 256 / p, r: 1, u: p, s: 1, ..by_slices };
        }
        Self::by_slices(class, sinks, sources)
    }

    /// A sensible shape with one thread per sink, which fills the device by slices of the sources.
    pub fn by_slices(class: DeviceClass, sinks: usize, sources: usize) -> Self {
        if class == DeviceClass::Software {
            // A CPU has no workgroup memory, and reading a source is expensive: many sinks in
            // registers share each read. lavapipe (Mesa 22.3.6, LLVM 15, 2 cores shared with
            // others), untiled, in G interactions/s with r = 1, 4, 8, 16: 0.07 to 0.11, 0.43, 0.56,
            // 0.65 at N = 1024 with p = 64, and 0.70 with p = 32, r = 16; at 4096 0.02 to 0.15, 0.3
            // to 0.4, 0.62, and 0.84 with p = 32. At 16,384 0.02 to 0.08 with r = 1, 0.4 with r = 8
            // and p = 32, r = 16. Tiled, the same shapes are about as fast. u = 1 is about as fast
            // as u = 4 and leaves less to compile. At least two workgroups, for two cores.
            let r = (sinks / 64).clamp(1, 16) as u32;
            let r = if r.is_power_of_two() { r } else { r.next_power_of_two() / 2 };
            return Self { r, u: 1, untiled: true, ..Self::tiled(32) };
        }
        // First registers for reuse (r), then slices of the sources until the device is full. r = 8
        // instead of 2 or 4 is 1.11, 1.09 and 1.11 times as fast on an H200 with 16,384, 65,536 and
        // 262,144 bodies.
        let threads_to_fill = class.threads_to_fill() as usize;
        let r = if class != DeviceClass::Integrated && sinks >= 16_384 {
            8
        } else if sinks >= threads_to_fill / 4 {
            4
        } else if sinks >= 8192 {
            2
        } else {
            1
        };
        let p = if sinks >= 16_384 { 256 } else { 64 };
        let threads = sinks.div_ceil(r as usize);
        let slices_to_fill = (threads_to_fill / threads.max(1)).max(1);
        // A slice holds at least one tile: on the same GPU, 16 slices of one tile were fastest for
        // N = 1024.
        let slices_allowed = (sources / p as usize).clamp(1, 64);
        let s = slices_to_fill.min(slices_allowed);
        let s = if s.is_power_of_two() { s } else { s.next_power_of_two() / 2 } as u32;
        Self { r, u: 4, s, ..Self::tiled(p) }
    }

    /// The shape for steps in one workgroup: threads of `gpu` side by side for all `n` bodies, then
    /// more threads that share a sink, then registers. `p`, `q` and `r` of the request stay.
    ///
    /// # Errors
    /// More bodies than one workgroup can hold on this adapter.
    pub fn in_one_workgroup(gpu: &Gpu, n: usize, request: &super::KernelRequest) -> Result<Self> {
        let limits = &gpu.limits;
        let threads = limits.threads_per_workgroup.min(limits.workgroup_x).min(1024);
        let most = (limits.workgroup_memory / crate::gpu::layout::VEC4 as u32).min(16 * threads);
        if n > most as usize {
            return Err(gpu.refuse(format!(
                "{n} bodies do not fit one workgroup, which holds at most {most} (--one-workgroup)"
            )));
        }
        let n = n.max(1) as u32;
        let widest = (threads / 32 * 32).max(1);
        // Clamped here; `validate` checks what was requested.
        let wide = n.div_ceil(request.r.unwrap_or(1).clamp(1, 16)).next_multiple_of(32).min(widest);
        let p = request.p.unwrap_or(wide).clamp(1, 1024);
        let r = request.r.unwrap_or(n.div_ceil(p)).clamp(1, 16);
        let base = Self { r, u: 4, dispatch: Dispatch::OneWorkgroup, ..Self::tiled(p) };
        // On a CPU the threads of a workgroup run one after another, so extra ones are useless.
        let qs: &[u32] = if gpu.adapter.class == DeviceClass::Software { &[] } else { &[8, 4, 2] };
        let rows = qs.iter().map(|q| Self { q: *q, ..base });
        Ok(rows.into_iter().find(|config| config.fits(limits).is_ok()).unwrap_or(base))
    }

    /// Whether one workgroup takes many steps per dispatch.
    pub fn is_in_one_workgroup(&self) -> bool {
        self.dispatch == Dispatch::OneWorkgroup
    }

    /// Threads per workgroup.
    pub fn threads(&self) -> u32 {
        self.p * self.q
    }

    /// Sinks per workgroup.
    pub fn sinks_per_workgroup(&self) -> u32 {
        self.p * self.r
    }

    /// Sources that all threads of a workgroup process in one turn of the outer loop.
    pub fn tile(&self) -> u32 {
        self.p * self.q
    }

    /// Tiles requested from memory together, 1 to 4. If rows share a sink, a tile takes little
    /// time, and a step of few bodies mostly waits for memory: on an H200 (driver 580) four tiles
    /// at once are 1.25 times as fast at N = 1024 (p = 8, q = 32) and 1.14 times at 4096 (p = 16,
    /// q = 16), with the same bits.
    pub fn tiles_at_once(&self) -> u32 {
        let waits = self.q >= 8 && !self.untiled && self.dispatch != Dispatch::OneWorkgroup;
        if waits { (LOADED_BODIES / self.tile()).clamp(1, 4) } else { 1 }
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_memory(&self) -> u32 {
        let entries = if self.dispatch == Dispatch::OneWorkgroup {
            // All bodies, and the sums that rows of threads beyond the first pass to it.
            let shares = (self.q - 1) * self.sinks_per_workgroup();
            (self.one_workgroup_capacity() + shares).max(self.tile())
        } else if self.untiled {
            0
        } else {
            self.tiles_at_once() * self.tile()
        };
        entries * crate::gpu::layout::VEC4 as u32
    }

    /// Bodies for which the one-workgroup kernel has room: p * r, rounded up to whole turns of the
    /// inner loop for each of the q rows of threads.
    pub fn one_workgroup_capacity(&self) -> u32 {
        self.sinks_per_workgroup().next_multiple_of(self.q * self.u)
    }

    /// Checks that one workgroup of this shape has room for `n` bodies. Other kernels take any
    /// number.
    pub fn holds(&self, n: usize) -> Result<()> {
        let most = self.sinks_per_workgroup();
        if self.dispatch != Dispatch::OneWorkgroup || n <= most as usize {
            return Ok(());
        }
        let allowed =
            format!("at most p x r = {} x {} = {most} with --one-workgroup", self.p, self.r);
        Err(Error::value("the number of bodies", n, allowed))
    }

    /// Whether the kernel takes this many sources in blocks of equal mass, if their masses allow
    /// it.
    pub fn sorts_by_mass(&self, sources: usize) -> bool {
        self.q == 1 && (self.uniform || sources >= MANY_SOURCES)
    }

    /// Length of one slice of `sources` sources: whole tiles, so that only the last one has a tail.
    pub fn slice_length(&self, sources: u32) -> u32 {
        sources.div_ceil(self.s).max(1).next_multiple_of(self.tile())
    }

    /// Checks the shape against all ranges, and against the limits of `gpu` if given.
    ///
    /// # Errors
    /// [`Error::Value`] for a number out of its range; [`Error::Adapter`] names the limit.
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
        if (!self.untiled || self.uniform) && !self.p.is_multiple_of(self.u) {
            let how = if self.uniform { "with --uniform" } else { "when tiled" };
            let allowed = format!("a divisor of p = {} {how}", self.p);
            return Err(Error::value("u (unroll)", self.u, allowed));
        }
        if self.uniform && !self.untiled {
            return Err(Error::value("--uniform", "given", "without tiles (untiled)"));
        }
        if self.broadcast && (!self.untiled || self.uniform) {
            let allowed = "without tiles and without --uniform";
            return Err(Error::value("--broadcast", "given", allowed));
        }
        if self.vec2 && !self.r.is_multiple_of(2) {
            return Err(Error::value("r", self.r, "even with --vec2"));
        }
        let parts = self.p * self.s;
        if self.uniform && (parts > WINDOW || !WINDOW.is_multiple_of(parts)) {
            let allowed = format!("a divisor of the window's {WINDOW} sources with --uniform");
            return Err(Error::value("p x s", parts, allowed));
        }
        match self.dispatch {
            Dispatch::OneWorkgroup if self.untiled => {
                return Err(Error::value("--one-workgroup", "given", "without --untiled"));
            }
            Dispatch::OneWorkgroup if self.vec2 => {
                return Err(Error::value("--one-workgroup", "given", "without --vec2"));
            }
            Dispatch::OneWorkgroup if self.s != 1 => {
                return Err(Error::value("s (slices)", self.s, "1 with --one-workgroup"));
            }
            Dispatch::Fused if self.s != 1 => {
                return Err(Error::value("s (slices)", self.s, "1 where steps are fused"));
            }
            _ => {}
        }
        let Some(gpu) = gpu else { return Ok(()) };
        self.fits(&gpu.limits).map_err(|problem| gpu.refuse(problem))
    }

    /// The limit that the shape exceeds, as an error text.
    pub fn fits(&self, limits: &Limits) -> Result<(), String> {
        let (p, q) = (self.p, self.q);
        if self.threads() > limits.threads_per_workgroup {
            let (threads, most) = (self.threads(), limits.threads_per_workgroup);
            return Err(format!(
                "p x q = {p} x {q} = {threads} threads per workgroup, but it allows at most {most}"
            ));
        }
        if p > limits.workgroup_x || q > limits.workgroup_y {
            let (x, y) = (limits.workgroup_x, limits.workgroup_y);
            return Err(format!("p = {p}, q = {q}, but it allows p <= {x} and q <= {y}"));
        }
        if self.broadcast {
            let [least, most] = limits.subgroup_sizes.ok_or("--broadcast needs subgroups")?;
            if !p.is_multiple_of(most) || !least.is_multiple_of(self.u) {
                return Err(format!(
                    "p = {p}, u = {}, but with --broadcast and subgroups of {least} to {most} threads p must be a multiple of {most} and u divide {least}",
                    self.u
                ));
            }
        }
        if self.workgroup_memory() > limits.workgroup_memory {
            let (bytes, most) = (self.workgroup_memory(), limits.workgroup_memory);
            if self.dispatch == Dispatch::OneWorkgroup {
                return Err(format!(
                    "{} bodies in one workgroup of p x q = {p} x {q} threads take {bytes} bytes of workgroup memory, but it has {most}",
                    self.sinks_per_workgroup()
                ));
            }
            return Err(format!(
                "a tile of p x q = {p} x {q} sources takes {bytes} bytes of workgroup memory, but it has {most}"
            ));
        }
        Ok(())
    }
}

impl std::fmt::Display for KernelConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { p, q, r, u, s, .. } = self;
        write!(f, "p={p} q={q} r={r} u={u} s={s}")?;
        if self.uniform {
            write!(f, " uniform")?;
        } else if self.broadcast {
            write!(f, " broadcast")?;
        } else if self.untiled {
            write!(f, " untiled")?;
        }
        if self.vec2 {
            write!(f, " vec2")?;
        }
        if let Some(name) = self.dispatch.name() {
            write!(f, " {name}")?;
        }
        if self.checks == Checks::On {
            write!(f, " checked")?;
        }
        if self.own {
            write!(f, " own")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILED: KernelConfig = KernelConfig { q: 2, u: 4, ..KernelConfig::tiled(64) };

    #[test]
    fn out_of_range_numbers_are_named() {
        let check = |config: KernelConfig, words: &str| {
            let text = config.validate(None).expect_err("should be refused").to_string();
            assert!(text.contains(words), "'{text}' should say '{words}'");
        };
        check(KernelConfig { p: 0, ..TILED }, "p is 0");
        check(KernelConfig { r: 17, ..TILED }, "r is 17, but must be between 1 and 16");
        check(KernelConfig { u: 3, ..TILED }, "a divisor of p = 64");
        check(KernelConfig { r: 3, vec2: true, ..TILED }, "r is 3, but must be even with --vec2");
        check(KernelConfig { broadcast: true, ..TILED }, "without tiles");
        check(KernelConfig { s: 0, ..TILED }, "s (slices) is 0");
        check(KernelConfig { untiled: true, ..TILED }, "q is 2");
        let fused = KernelConfig { dispatch: Dispatch::Fused, ..TILED };
        check(
            KernelConfig { s: 2, ..fused },
            "s (slices) is 2, but must be 1 where steps are fused",
        );
        let one = KernelConfig { dispatch: Dispatch::OneWorkgroup, ..TILED };
        check(KernelConfig { s: 2, ..one }, "s (slices) is 2, but must be 1 with --one-workgroup");
        check(KernelConfig { untiled: true, q: 1, ..one }, "without --untiled");
        assert!(one.validate(None).is_ok() && one.holds(64).is_ok() && TILED.holds(65).is_ok());
        let text = one.holds(65).unwrap_err().to_string();
        assert!(text.contains("65") && text.contains("64 x 1 = 64"), "{text}");
        assert!(TILED.validate(None).is_ok());
    }

    #[test]
    fn one_workgroup_has_room_for_its_bodies_and_shares() {
        let one = KernelConfig { dispatch: Dispatch::OneWorkgroup, ..TILED };
        assert_eq!((one.one_workgroup_capacity(), one.workgroup_memory()), (64, 128 * 16));
        let odd = KernelConfig { p: 32, q: 3, r: 4, u: 2, ..one };
        assert_eq!(odd.one_workgroup_capacity(), 132);
        assert_eq!(odd.workgroup_memory(), (132 + 2 * 128) * 16);
        for n in 1..=128u32 {
            let per_row = n.div_ceil(odd.q).next_multiple_of(odd.u);
            assert!(per_row * odd.q <= odd.one_workgroup_capacity(), "{n}");
        }
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
                // 48 bytes of state and 16 per slice: at most 64 if memory is limited.
                assert!(n < 1 << 19 || config.s == 1, "{class:?} {n} {config}");
            }
        }
    }
}
