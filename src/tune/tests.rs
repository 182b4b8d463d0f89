//! The tuner on a simulated device whose clock advances only with work.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::error::Error;
use crate::forces::direct::gpu::Dispatch;
use crate::gpu::{Limits, blocking};
use crate::measure::{Ceiling, Timer};

const DEFAULT: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(64) };

const LIMITS: Limits = Limits {
    subgroup_sizes: Some([32, 64]),
    threads_per_workgroup: 1024,
    workgroup_x: 1024,
    workgroup_y: 1024,
    workgroup_memory: 49152,
    workgroups: 65535,
    storage_buffer: 1 << 30,
    uniform_alignment: 256,
    texture_side: 8192,
    memory: None,
    units: None,
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
        + f64::from(u8::from(config.dispatch != best.dispatch));
    1e-4 * (1.0 + 0.12 * apart + 0.5 * other)
}

struct Fake {
    clock: Rc<Cell<f64>>,
    best: KernelConfig,
    /// The ceilings, known after `ceiling_secs`.
    ceilings: Option<Ceilings>,
    ceiling_secs: f64,
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
            ceilings: None,
            ceiling_secs: 1.5,
            wrong: Vec::new(),
            entry_secs: 0.03,
            samples: 0,
            open: Vec::new(),
            sampled: Vec::new(),
        }
    }

    fn tune(&mut self, n: usize, budget: f64) -> Result<RaceOutcome> {
        let clock = Rc::clone(&self.clock);
        let clock = move || clock.get();
        let mut watch = RaceClock { clock: Box::new(clock), go_on: &|| true };
        let task = TuneTask { n, default: DEFAULT, bounds: &BOUNDS, budget_secs: budget };
        let (ceilings, clock) = (self.ceilings, Rc::clone(&self.clock));
        let takes = ceilings.map_or(0.0, |_| self.ceiling_secs);
        let mut ceilings = |secs: f64| {
            clock.set(clock.get() + f64::min(secs, takes));
            ceilings.filter(|_| secs >= takes)
        };
        blocking(tune(self, task, &mut ceilings, &mut watch))
    }
}

impl Timer for Fake {
    async fn prepare(&mut self, candidate: &KernelConfig) -> Result<()> {
        if !self.open.contains(candidate) {
            self.clock.set(self.clock.get() + self.entry_secs);
            if self.wrong.contains(candidate) {
                return Err(Error::Outside(format!("{candidate} is wrong")));
            }
            self.open.push(*candidate);
        }
        Ok(())
    }

    async fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
        assert!(self.open.contains(candidate), "{candidate} was not prepared");
        self.sampled.push(*candidate);
        self.clock.set(self.clock.get() + 0.01);
        self.samples += 1;
        // Noise of 3 per cent, and an occasional disturbed sample.
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
fn tuner_finds_known_optimum() {
    let one = KernelConfig { p: 256, q: 4, dispatch: Dispatch::OneWorkgroup, ..DEFAULT };
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
fn tuning_respects_budget_and_always_times_default() {
    for (budget, ceilings) in [0.0, 0.1, 1.0, 3.0, 10.0]
        .into_iter()
        .flat_map(|b| [(b, None), (b, Some(synthetic_ceilings()))])
    {
        let mut fake = Fake::new(KernelConfig { p: 256, r: 4, ..DEFAULT });
        fake.ceilings = ceilings;
        let outcome = fake.tune(65_536, budget).unwrap();
        // One more candidate may have been entering.
        let most = budget + 0.05;
        assert!(fake.clock.get() <= most, "{} s of {budget}", fake.clock.get());
        assert!(outcome.of(&DEFAULT).is_some());
        assert!(outcome.untried > 0 || budget >= 3.0, "{budget}: {}", outcome.untried);
        // A short budget leaves no time for ceilings.
        let known = ceilings.is_some() && CEILINGS * budget >= fake.ceiling_secs;
        assert_eq!(outcome.slow_by_model.is_some(), known, "{budget}");
    }
}

/// A device whose workgroup memory and cache are slow: r below 4 cannot be fast.
fn synthetic_ceilings() -> Ceilings {
    Ceilings::of([
        (Ceiling::Fma, 13e12),
        (Ceiling::Rsqrt, 1e13),
        (Ceiling::Pair, 1e12),
        (Ceiling::TileRead, 0.2e12),
        (Ceiling::CachedRead, 0.2e12),
        (Ceiling::Storage, 1e13),
        (Ceiling::LoneGroup, 1e11),
        (Ceiling::LoneRead, 1e13),
        (Ceiling::LoneThread, 1e9),
        (Ceiling::LoneChains, 1e9),
        (Ceiling::Dispatch, 1e6),
    ])
}

#[test]
fn shapes_predicted_slow_are_skipped_except_default_and_untiled() {
    let best = KernelConfig { p: 128, r: 4, s: 8, u: 16, ..DEFAULT };
    let mut without = Fake::new(best);
    let all = without.tune(65_536, 10.0).unwrap();
    assert_eq!(all.slow_by_model, None);
    assert!(without.sampled.iter().any(|config| config.r == 1 && config.p == 128));

    let mut fake = Fake::new(best);
    fake.ceilings = Some(synthetic_ceilings());
    let outcome = fake.tune(65_536, 10.0).unwrap();
    let found = outcome.best().unwrap().config;
    assert!(landscape(&found, &best) <= 1.05 * landscape(&best, &best), "{found}");
    assert!(outcome.slow_by_model.unwrap() > 100, "{:?}", outcome.slow_by_model);
    // r = 1 reaches a fifth of what r = 4 can: only shapes that are always timed are.
    let plain = fake.sampled.iter().filter(|config| config.r == 1);
    assert!(plain.clone().any(|config| *config == DEFAULT));
    assert!(plain.clone().any(|config| *config == untiled(DEFAULT)));
    assert!(plain.clone().all(|config| [DEFAULT, untiled(DEFAULT)].contains(config)));
    // The time saved goes to other shapes.
    assert!(outcome.untried < all.untried, "{} {}", outcome.untried, all.untried);

    // The model does not cover one workgroup, which stays in the race.
    let one = KernelConfig { p: 256, q: 4, dispatch: Dispatch::OneWorkgroup, ..DEFAULT };
    let mut fake = Fake::new(KernelConfig { u: 8, ..one });
    fake.ceilings = Some(synthetic_ceilings());
    assert!(
        fake.tune(256, 10.0).unwrap().best().unwrap().config.dispatch == Dispatch::OneWorkgroup
    );
}

#[test]
fn unknown_ceilings_exclude_no_shape() {
    let best = KernelConfig { p: 128, r: 1, s: 4, ..DEFAULT };
    for partial in [Ceilings::default(), Ceilings::of([(Ceiling::Fma, 1e12)])] {
        let mut fake = Fake::new(best);
        fake.ceilings = Some(partial);
        let outcome = fake.tune(65_536, 10.0).unwrap();
        assert_eq!(outcome.slow_by_model, None);
        assert!(
            landscape(&outcome.best().unwrap().config, &best) <= 1.05 * landscape(&best, &best)
        );
    }
}

#[test]
fn incorrect_kernel_is_never_timed_or_chosen() {
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
fn tuning_without_usable_candidate_returns_reason() {
    let mut fake = Fake::new(DEFAULT);
    fake.wrong = vec![DEFAULT];
    let clock = || 0.0;
    let mut watch = RaceClock { clock: Box::new(clock), go_on: &|| true };
    let error = blocking(race(&mut fake, &[DEFAULT], 1.0, &mut watch)).unwrap_err();
    assert!(error.to_string().contains("is wrong"), "{error}");
}

#[test]
fn stopped_race_returns_partial_results() {
    let mut fake = Fake::new(DEFAULT);
    let clock = || 0.0;
    let mut watch = RaceClock { clock: Box::new(clock), go_on: &|| false };
    let task = TuneTask { n: 4096, default: DEFAULT, bounds: &BOUNDS, budget_secs: 10.0 };
    let outcome = blocking(tune(&mut fake, task, &mut |_| None, &mut watch)).unwrap();
    assert_eq!(outcome.ranking.len(), 1);
    assert_eq!(outcome.best().unwrap().config, DEFAULT);
    assert!(outcome.untried > 10);
}

#[test]
fn candidates_fit_device_limits_and_body_count() {
    let small = Limits { threads_per_workgroup: 256, workgroup_memory: 16384, ..LIMITS };
    let small = Bounds { threads_to_fill: 1 << 14, software: false, limits: small };
    for bounds in [BOUNDS, small, Bounds { software: true, threads_to_fill: 256, ..small }] {
        for n in [1, 100, 256, 1000, 1024, 4096, 65_536, 262_144, 1 << 22] {
            let all = shapes(DEFAULT, n, &bounds);
            let found = all.shapes;
            assert_eq!(found[..2], [DEFAULT, untiled(DEFAULT)], "n = {n}");
            let too_large = |config: &KernelConfig| {
                let sums = n as u64 * u64::from(config.s) * 16;
                config.fits(&bounds.limits).is_err() || sums > bounds.limits.storage_buffer / 4
            };
            assert!(!all.beyond_limits.is_empty() && all.beyond_limits.iter().all(too_large));
            let near = found.iter().flat_map(|shape| neighbours(*shape, n, &bounds).shapes);
            for config in near.chain(found.iter().copied()) {
                config.validate(None).unwrap();
                config.fits(&bounds.limits).unwrap();
                config.holds(n).unwrap();
                // The choice is used for the whole size class.
                config.holds(crate::tuned::size_class(n) as usize).unwrap();
            }
            // A step in a single dispatch, and slices if there are enough sources.
            assert!(
                found
                    .iter()
                    .any(|config| config.s == 1 && config.dispatch != Dispatch::OneWorkgroup),
                "n = {n}"
            );
            let sliced = found.iter().any(|config| config.s > 1);
            assert!(sliced || n < 1000 || bounds.software || n >= 65_536, "n = {n}");
            let one = found.iter().any(|config| config.dispatch == Dispatch::OneWorkgroup);
            assert_eq!(one, n <= 1024, "n = {n}");
        }
    }
}

/// A step of this many bodies takes long: in ten seconds a race on an H200 tried 16 of 312 shapes,
/// and the best windows were not among them.
#[test]
fn best_windows_enter_race_early_for_many_bodies() {
    for n in [65_536, 262_144] {
        let all = shapes(DEFAULT, n, &BOUNDS).shapes;
        let windows = all.iter().position(|shape| shape.uniform).unwrap();
        assert_eq!(windows, 2, "behind the default and the same untiled");
        let KernelConfig { p, r, u, s, .. } = all[windows];
        assert_eq!((p, r, u), (256, 4, 32));
        assert!(s >= 4, "{s} slices leave threads without work");
    }
    assert!(!shapes(DEFAULT, 4096, &BOUNDS).shapes.iter().any(|shape| shape.uniform));
}
