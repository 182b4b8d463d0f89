//! The tuner on a made-up device whose clock runs only when it is asked to work.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::error::Error;
use crate::gpu::Limits;

const DEFAULT: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(64) };

const LIMITS: Limits = Limits {
    threads_per_workgroup: 1024,
    workgroup_x: 1024,
    workgroup_y: 1024,
    workgroup_memory: 49152,
    workgroups: 65535,
    storage_buffer: 1 << 30,
    uniform_alignment: 256,
    texture_side: 8192,
};

const BOUNDS: Bounds = Bounds { threads_to_fill: 1 << 17, software: false, limits: LIMITS };

/// Seconds per step of a shape: a smooth landscape with its valley at `best`.
fn landscape(config: &KernelConfig, best: &KernelConfig) -> f64 {
    let far = |a: u32, b: u32| (f64::from(a).log2() - f64::from(b).log2()).powi(2);
    let apart = far(config.p, best.p)
        + far(config.q, best.q)
        + far(config.r, best.r)
        + far(config.s, best.s)
        + 0.3 * far(config.u, best.u);
    let other = f64::from(u8::from(config.untiled != best.untiled))
        + f64::from(u8::from(config.one_workgroup != best.one_workgroup));
    1e-4 * (1.0 + 0.12 * apart + 0.5 * other)
}

struct Fake {
    clock: Rc<Cell<f64>>,
    best: KernelConfig,
    wrong: Vec<KernelConfig>,
    entry_secs: f64,
    samples: u64,
    open: Vec<KernelConfig>,
    sampled: Vec<KernelConfig>,
}

impl Fake {
    fn new(best: KernelConfig) -> Self {
        Self {
            clock: Rc::default(),
            best,
            wrong: Vec::new(),
            entry_secs: 0.03,
            samples: 0,
            open: Vec::new(),
            sampled: Vec::new(),
        }
    }

    fn tune(&mut self, n: usize, budget: f64) -> Result<Outcome> {
        let clock = Rc::clone(&self.clock);
        let clock = move || clock.get();
        let mut watch = Watch { clock: &clock, go_on: &mut || true };
        tune(self, DEFAULT, n, &BOUNDS, budget, &mut watch)
    }
}

impl Timer for Fake {
    fn prepare(&mut self, candidate: &KernelConfig) -> Result<()> {
        if !self.open.contains(candidate) {
            self.clock.set(self.clock.get() + self.entry_secs);
            if self.wrong.contains(candidate) {
                return Err(Error::Outside(format!("{candidate} is wrong")));
            }
            self.open.push(*candidate);
        }
        Ok(())
    }

    fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
        assert!(self.open.contains(candidate), "{candidate} was not prepared");
        self.sampled.push(*candidate);
        self.clock.set(self.clock.get() + 0.01);
        self.samples += 1;
        // Noise of 3 per cent, and now and then a sample that something disturbed.
        let mut noise = self.samples.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        noise ^= noise >> 31;
        let noise = noise.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        let disturbed = if noise.is_multiple_of(11) { 1.6 } else { 1.0 };
        let factor = disturbed * (1.0 + 0.03 * noise as f64 / f64::from(1 << 24));
        Ok(landscape(candidate, &self.best) * factor)
    }

    fn forget(&mut self, candidate: &KernelConfig) {
        self.open.retain(|open| open != candidate);
    }
}

#[test]
fn the_planted_best_is_found() {
    let one = KernelConfig { p: 256, q: 4, one_workgroup: true, ..DEFAULT };
    for (n, best) in [
        (65_536, KernelConfig { p: 128, r: 2, s: 4, u: 16, ..DEFAULT }),
        (16_384, KernelConfig { p: 256, r: 2, s: 16, u: 8, ..DEFAULT }),
        (4096, KernelConfig { p: 128, q: 2, s: 8, ..DEFAULT }),
        (262_144, KernelConfig { untiled: true, r: 4, s: 2, ..DEFAULT }),
        (256, KernelConfig { u: 8, ..one }),
    ] {
        let mut fake = Fake::new(best);
        let outcome = fake.tune(n, 10.0).unwrap();
        let found = outcome.best().unwrap();
        let least = landscape(&best, &best);
        let secs = landscape(&found.config, &best);
        assert!(secs <= 1.05 * least, "n = {n}: {} at {secs:e}, planted {best}", found.config);
        assert!(outcome.of(&DEFAULT).is_some(), "the default is part of the answer");
        assert!(fake.open.is_empty(), "everything was let go of");
    }
}

#[test]
fn the_budget_is_kept_and_the_default_is_timed_whatever_it_is() {
    for budget in [0.0, 0.1, 1.0, 3.0, 10.0] {
        let mut fake = Fake::new(KernelConfig { p: 256, r: 4, ..DEFAULT });
        let outcome = fake.tune(65_536, budget).unwrap();
        // One candidate more may have been on its way.
        let most = budget + 0.05;
        assert!(fake.clock.get() <= most, "{} s of {budget}", fake.clock.get());
        assert!(outcome.of(&DEFAULT).is_some());
        assert!(outcome.untried > 0 || budget >= 3.0, "{budget}: {}", outcome.untried);
    }
}

#[test]
fn a_wrong_kernel_is_never_timed_nor_chosen() {
    let best = KernelConfig { p: 128, r: 2, s: 4, ..DEFAULT };
    let mut fake = Fake::new(best);
    fake.wrong = vec![best, DEFAULT];
    let outcome = fake.tune(65_536, 10.0).unwrap();
    let found = outcome.best().unwrap().config;
    assert!(found != best && found != DEFAULT);
    assert!(!fake.sampled.contains(&best) && !fake.sampled.contains(&DEFAULT));
    assert!(outcome.refused.iter().any(|(c, why)| *c == best && why.contains("is wrong")));
}

#[test]
fn where_nothing_can_be_timed_the_reason_is_told() {
    let mut fake = Fake::new(DEFAULT);
    fake.wrong = vec![DEFAULT];
    let clock = || 0.0;
    let mut watch = Watch { clock: &clock, go_on: &mut || true };
    let error = race(&mut fake, &[DEFAULT], 1.0, &mut watch).unwrap_err();
    assert!(error.to_string().contains("is wrong"), "{error}");
}

#[test]
fn a_race_that_is_stopped_keeps_what_it_has() {
    let mut fake = Fake::new(DEFAULT);
    let clock = || 0.0;
    let mut watch = Watch { clock: &clock, go_on: &mut || false };
    let outcome = tune(&mut fake, DEFAULT, 4096, &BOUNDS, 10.0, &mut watch).unwrap();
    assert_eq!(outcome.ranking.len(), 1);
    assert_eq!(outcome.best().unwrap().config, DEFAULT);
    assert!(outcome.untried > 10);
}

#[test]
fn every_candidate_fits_the_device_and_holds_the_bodies() {
    let small = Limits { threads_per_workgroup: 256, workgroup_memory: 16384, ..LIMITS };
    let small = Bounds { threads_to_fill: 1 << 14, software: false, limits: small };
    for bounds in [BOUNDS, small, Bounds { software: true, threads_to_fill: 256, ..small }] {
        for n in [1, 100, 256, 1000, 1024, 4096, 65_536, 262_144, 1 << 22] {
            let found = shapes(DEFAULT, n, &bounds);
            assert!(!found.is_empty(), "n = {n}");
            let near = found.iter().flat_map(|shape| neighbours(*shape, n, &bounds));
            for config in near.chain(found.iter().copied()) {
                config.validate(None).unwrap();
                config.fits(&bounds.limits).unwrap();
                config.holds(n).unwrap();
                // The choice is used for all of its size class.
                config.holds(crate::tuned::size_class(n) as usize).unwrap();
            }
            // A step in a single dispatch, and slices where there are sources for them.
            assert!(found.iter().any(|config| config.s == 1 && !config.one_workgroup), "n = {n}");
            let sliced = found.iter().any(|config| config.s > 1);
            assert!(sliced || n < 1000 || bounds.software || n >= 65_536, "n = {n}");
            let one = found.iter().any(|config| config.one_workgroup);
            assert_eq!(one, n <= 1024, "n = {n}");
        }
    }
}
