//! The kernel shapes that a device could run: raced by the tuner, measured by a full sweep.

use super::{Dispatch, KernelConfig, WINDOW};
use crate::gpu::{DeviceClass, Gpu, Limits};

/// The limits and needs of a device.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Threads that keep the device busy.
    pub threads_to_fill: u64,
    /// Whether it is a CPU, which has no workgroup memory and needs only a few workgroups.
    pub software: bool,
    /// Its limits.
    pub limits: Limits,
}

impl Bounds {
    /// The bounds of an open device.
    pub fn of(gpu: &Gpu) -> Self {
        let class = gpu.adapter.class;
        Self {
            threads_to_fill: u64::from(class.threads_to_fill()),
            software: class == DeviceClass::Software,
            limits: gpu.limits,
        }
    }

    /// Whether the device can run a shape for `n` bodies.
    fn hold(&self, config: &KernelConfig, n: usize) -> bool {
        let sums = n as u64 * u64::from(config.s) * crate::gpu::layout::VEC4;
        config.fits(&self.limits).is_ok()
            // Partial sums may take only a share of the device's memory.
            && sums <= self.limits.storage_buffer / 4
    }

    /// Number of threads that a dispatch of the whole force keeps busy.
    fn threads(config: &KernelConfig, n: usize) -> u64 {
        let groups = (n as u64).div_ceil(u64::from(config.sinks_per_workgroup()));
        groups * u64::from(config.threads()) * u64::from(config.s)
    }
}

/// Candidate shapes, and those that the device's limits rule out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateShapes {
    /// Shapes that the device can run, each once.
    pub shapes: Vec<KernelConfig>,
    /// Shapes that it cannot run: too many threads, too much workgroup memory, or too large
    /// buffers.
    pub beyond_limits: Vec<KernelConfig>,
}

impl CandidateShapes {
    /// Adds a shape to one of the lists. Shapes that are invalid for `n` bodies on any device are
    /// skipped.
    fn add(&mut self, config: KernelConfig, n: usize, bounds: &Bounds) {
        if config.validate(None).is_err() || config.holds(n).is_err() {
            return;
        }
        let fits = bounds.hold(&config, n);
        let list = if fits { &mut self.shapes } else { &mut self.beyond_limits };
        if !list.contains(&config) {
            list.push(config);
        }
    }
}

/// p, r and u of shapes that read windows of uniform memory, most promising first.
const WINDOWS: [(u32, u32, u32); 5] =
    [(256, 4, 32), (256, 8, 16), (256, 8, 8), (64, 4, 16), (128, 8, 16)];

/// The shape without workgroup memory, the baseline for tiles.
pub fn untiled(shape: KernelConfig) -> KernelConfig {
    let in_memory = KernelConfig { uniform: false, broadcast: false, ..shape };
    KernelConfig { untiled: true, dispatch: Dispatch::Auto, q: 1, ..in_memory }
}

/// Shapes for `n` bodies, most promising first: `default`, the same untiled, windows of uniform
/// memory if there are many bodies, then variations of p, q, r, s and the untiled loop with the
/// unrolling of `default`; and one workgroup for all bodies if it can hold them.
pub fn shapes(default: KernelConfig, n: usize, bounds: &Bounds) -> CandidateShapes {
    let mut found = CandidateShapes::default();
    let mut add = |config: KernelConfig| found.add(config, n, bounds);
    add(default);
    add(untiled(default));
    for config in one_workgroup(default, n, bounds) {
        add(config);
    }
    for p in [64, 128, 256, 32, 512] {
        for r in [1, 2, 4, 8, 16] {
            for q in [1, 2, 4, 8, 16] {
                let config = KernelConfig { p, q, r, s: 1, untiled: false, ..default };
                // Slices of less than two tiles are all overhead.
                let tiles = n as u64 / (2 * u64::from(config.tile()));
                let most = (tiles.clamp(1, 1024) as u32 + 1).next_power_of_two() / 2;
                let fill = slices_to_fill(&config, n, bounds);
                // Without slices a step may be one dispatch.
                for s in [fill, 1, fill / 4, fill * 4] {
                    let s = s.clamp(1, most);
                    add(KernelConfig { s, ..config });
                    if q == 1 {
                        add(KernelConfig { s, untiled: true, ..config });
                    }
                }
            }
        }
    }
    // Windows of uniform memory. On an H200 with sources in blocks of equal mass, p = 256, r = 4, u
    // = 32 reaches 2,333 where the best tiles reach 2,181 (262,144 bodies, 10^9 interactions/s),
    // and no similar shape comes near.
    let mut windows = None;
    if n >= 1 << 15 && !bounds.software {
        for (p, r, u) in WINDOWS {
            let config =
                KernelConfig { p, q: 1, r, u, s: 1, untiled: true, uniform: true, ..default };
            let most = WINDOW / p;
            let fill = slices_to_fill(&config, n, bounds);
            let of = |s: u32| KernelConfig { s: s.clamp(1, most), ..config };
            // A large force takes long to time, so few shapes are timed: the best windows must be
            // among them.
            windows = windows.or(Some(of(fill * 4)));
            for s in [fill * 4, fill, fill * 2, fill / 2] {
                add(of(s));
            }
        }
    }
    // Few bodies: some per workgroup with many threads each, so that one dispatch uses the whole
    // device.
    if n <= 16_384 && !bounds.software {
        for p in [16, 8] {
            for q in [16, 32, 64] {
                add(KernelConfig { p, q, r: 1, u: p, s: 1, untiled: false, ..default });
            }
        }
    }
    let distance = |config: &KernelConfig| {
        // How far the device is from being exactly full, and how much the shape differs from the
        // default.
        let threads = Bounds::threads(config, n) as f64 / bounds.threads_to_fill as f64;
        let fill = if bounds.software { 0.0 } else { threads.max(1e-9).log2().abs() };
        let far = |a: u32, b: u32| (f64::from(a).log2() - f64::from(b).log2()).abs();
        // Few bodies give few threads unless several share a sink; and a step without slices takes
        // one dispatch instead of two.
        let (q_weight, one_dispatch) = match n {
            0..=16_384 if config.s == 1 => (0.25, -1.5),
            0..=16_384 => (0.5, 0.0),
            _ => (1.0, 0.0),
        };
        let unlike = far(config.p, default.p)
            + q_weight * far(config.q, 1)
            + far(config.r, default.r)
            + one_dispatch;
        let other_loop = if config.untiled == default.untiled { 0.0 } else { 1.5 };
        // Few shapes use one workgroup, and when they win they win by far.
        if config.dispatch == Dispatch::OneWorkgroup {
            -2.0
        } else {
            0.5 * fill + unlike + other_loop
        }
    };
    let place = |config: &KernelConfig| match config {
        config if *config == default => 0,
        config if *config == untiled(default) => 1,
        config if Some(*config) == windows => 2,
        _ => 3,
    };
    found
        .shapes
        .sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| distance(a).total_cmp(&distance(b))));
    found
}

/// Shapes that differ from `shape` in the unrolling, by a factor of two in r or s, by computing two
/// sinks at once, or by sources in registers in place of tiles.
pub fn neighbours(shape: KernelConfig, n: usize, bounds: &Bounds) -> CandidateShapes {
    let mut found = CandidateShapes::default();
    let mut add = |config: KernelConfig| found.add(config, n, bounds);
    for u in [8, 2, 16, 1, 32] {
        add(KernelConfig { u, ..shape });
    }
    if shape.dispatch != Dispatch::OneWorkgroup {
        for s in [shape.s * 2, shape.s / 2] {
            add(KernelConfig { s, ..shape });
        }
        for r in [shape.r * 2, shape.r / 2] {
            add(KernelConfig { r, ..shape });
        }
        add(KernelConfig { vec2: !shape.vec2, ..shape });
        if shape.q == 1
            && let Some([least, _]) = bounds.limits.subgroup_sizes
        {
            let u = shape.u.min(least);
            let in_registers =
                KernelConfig { untiled: true, uniform: false, broadcast: true, u, ..shape };
            add(in_registers);
            add(KernelConfig { vec2: true, ..in_registers });
        }
    }
    found
}

/// The number of slices, a power of two, that fills the device.
fn slices_to_fill(config: &KernelConfig, n: usize, bounds: &Bounds) -> u32 {
    let missing = bounds.threads_to_fill / Bounds::threads(config, n).max(1);
    (missing.clamp(1, 128) as u32 + 1).next_power_of_two() / 2
}

/// Shapes of one workgroup with room for the whole size class of `n`.
fn one_workgroup(default: KernelConfig, n: usize, bounds: &Bounds) -> Vec<KernelConfig> {
    let room = n.next_power_of_two() as u32;
    let base = KernelConfig { s: 1, untiled: false, dispatch: Dispatch::OneWorkgroup, ..default };
    let mut found = Vec::new();
    for p in [32, 64, 128, 256, 512, 1024] {
        let r = room.div_ceil(p);
        // More threads than bodies would idle.
        if r > 8 || p > room.max(32) {
            continue;
        }
        for q in [1, 2, 4, 8] {
            let config = KernelConfig { p, q, r, ..base };
            // One workgroup needs as many threads as possible.
            let few = config.threads() < bounds.limits.threads_per_workgroup.min(1024) / 4;
            if !few || bounds.software {
                found.push(config);
            }
        }
    }
    found
}
