//! One step for all bodies that varies (`--dt auto`): against an f64 leapfrog of its own with the
//! same rule, the energy of a cold collapse, the same bits however it is run, and what is refused.

use std::sync::{Arc, OnceLock};

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::forces::Method;
use gravitile::forces::tree::{Rebuild, TreeConfig};
use gravitile::gpu::Gpu;
use gravitile::integrate::{self, blocks::Restart};
use gravitile::scene::Scene;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};

use crate::common;

const LONGEST: f64 = 0.032;
const SOFTENING: f64 = 0.05;

fn cold_sphere(n: usize) -> Bodies {
    let mut scene = Scene::builtin("cold-sphere").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(engine: EngineKind, method: Method) -> Settings {
    Settings {
        softening: SOFTENING,
        dt: LONGEST,
        auto_dt: Some(0.1),
        engine,
        method: Some(method),
        ..Settings::default()
    }
}

/// The forces of all pairs in f64.
fn forces(bodies: &Bodies) -> Vec<DVec3> {
    let on = |x: &DVec3| {
        let pull = |(y, m): (&DVec3, &f64)| {
            let d = *y - *x;
            d * (*m * (d.length_squared() + SOFTENING * SOFTENING).powf(-1.5))
        };
        bodies.position.iter().zip(&bodies.mass).map(pull).sum()
    };
    bodies.position.iter().map(on).collect()
}

/// Leapfrog with the longest step LONGEST / 2^k that divides the time and is at most `eta` times
/// the least sqrt(eps / |a|), written independently: times in LONGEST / 2^20. Returns the steps
/// taken as numbers of LONGEST / 2^k.
fn reference(bodies: &mut Bodies, eta: f64, periods: u32) -> Vec<u64> {
    let mut acceleration = forces(bodies);
    let mut by_level = vec![0u64; 21];
    let (mut now, end) = (0u32, periods << 20);
    while now < end {
        let largest = acceleration.iter().map(|a| a.length()).fold(0.0, f64::max);
        let wanted = eta * (SOFTENING / largest).sqrt();
        let fits = |level: &u32| {
            LONGEST / f64::from(1u32 << level) <= wanted && now % (1 << (20 - level)) == 0
        };
        let level = (0..=20).find(fits).unwrap();
        let dt = LONGEST / f64::from(1u32 << level);
        for (i, a) in acceleration.iter().enumerate() {
            bodies.velocity[i] += *a * (0.5 * dt);
            let moved = bodies.velocity[i] * dt;
            bodies.position[i] += moved;
        }
        acceleration = forces(bodies);
        acceleration.iter().enumerate().for_each(|(i, a)| bodies.velocity[i] += *a * (0.5 * dt));
        by_level[level as usize] += 1;
        now += 1 << (20 - level);
    }
    by_level.truncate(by_level.iter().rposition(|&steps| steps > 0).unwrap() + 1);
    by_level
}

#[test]
fn steps_and_orbits_are_those_of_an_independent_leapfrog() {
    // Few bodies, so that the collapse shortens the steps much and orbits do not diverge.
    let bodies = cold_sphere(96);
    let mut expected = bodies.clone();
    let by_level = reference(&mut expected, 0.1, 40);
    let settings = settings(EngineKind::Reference, Method::Reference);
    let mut sim = Simulation::new(bodies, settings).unwrap();
    assert_eq!(sim.varying().unwrap().steps(), 0);
    sim.step(40).unwrap();
    assert_eq!((sim.time(), sim.steps()), (40.0 * LONGEST, 40));
    let taken = sim.varying().unwrap();
    assert_eq!(taken.by_level(), by_level);
    assert!(by_level.iter().filter(|&&steps| steps > 0).count() > 1, "{by_level:?}");
    let largest = forces(&expected).iter().map(|a| a.length()).fold(0.0, f64::max);
    assert!((taken.least_time() / (SOFTENING / largest).sqrt() - 1.0).abs() < 1e-6);
    let found = sim.bodies().unwrap();
    for (x, y) in found.position.iter().zip(&expected.position) {
        assert!(x.distance(*y) < 1e-7, "{x} and {y}");
    }
}

#[test]
fn cold_collapse_keeps_its_energy_in_few_steps() {
    // 4,096 bodies err by at most 1.3e-3 in 400 steps; these are fewer, to be fast.
    let settings = settings(EngineKind::Cpu, Method::Direct);
    let mut sim = Simulation::new(cold_sphere(1024), settings).unwrap();
    let before = sim.diagnostics().unwrap();
    let mut worst: f64 = 0.0;
    while sim.time() < 2.0 {
        sim.step(4).unwrap();
        worst = worst.max(sim.diagnostics().unwrap().energy_error(&before).abs());
    }
    let step = sim.varying().unwrap();
    assert!(step.steps() <= 400, "{step:?}");
    assert!(worst <= 1.3e-3, "{worst:e}");
    assert!(step.accuracy() == 0.1 && step.longest() == LONGEST);
}

/// Devices of one kind: two on one adapter.
fn choice(count: usize, settings: &Settings) -> Choice {
    static SECOND: OnceLock<Arc<Gpu>> = OnceLock::new();
    let second = || Gpu::open_blocking(&common::adapter_request()).unwrap();
    let others = match count {
        1 => Vec::new(),
        _ => vec![Arc::clone(SECOND.get_or_init(second))],
    };
    let method = settings.method.unwrap();
    let choice = Choice::of(EngineKind::Gpu, method, "asked for", Some(common::gpu()));
    Choice { others, ..choice }
}

/// Everything observable, bit for bit.
fn fingerprint(sim: &mut Simulation) -> String {
    let state = sim.state().unwrap();
    let step = sim.varying().unwrap();
    let now = (step.least_time(), step.next_dt().unwrap());
    format!("{state:?} {now:?} {:?}", sim.restart())
}

#[test]
fn same_bits_in_pieces_after_restart_and_on_two_devices() {
    for (kind, method) in [
        (EngineKind::Cpu, Method::Direct),
        (EngineKind::Cpu, Method::Tree),
        (EngineKind::Gpu, Method::Direct),
        (EngineKind::Gpu, Method::Tree),
    ] {
        let bodies = cold_sphere(600);
        let settings = Settings { dt: 0.25, auto_dt: Some(0.37), ..settings(kind, method) };
        let open = |count: usize, bodies: Bodies, settings: Settings, restart: Option<&Restart>| {
            let choice = match kind {
                EngineKind::Gpu => choice(count, &settings),
                kind => Choice::of(kind, method, "asked for", None),
            };
            Simulation::builder(bodies, settings).choice(choice).restart(restart).build().unwrap()
        };
        let whole = |count: usize| {
            let mut sim = open(count, bodies.clone(), settings.clone(), None);
            sim.step(3).unwrap();
            let levels = sim.varying().unwrap().by_level().to_vec();
            (fingerprint(&mut sim), levels)
        };
        let (expected, levels) = whole(1);
        assert!(levels.iter().filter(|steps| **steps > 0).count() > 1, "{levels:?}");
        if kind == EngineKind::Gpu {
            assert!(whole(2) == (expected.clone(), levels), "{method:?} on two devices");
        }
        let mut pieces = open(1, bodies.clone(), settings.clone(), None);
        pieces.step(1).unwrap();
        assert!(fingerprint(&mut pieces) != expected, "the comparison should see a missing step");
        // Potentials between steps change nothing.
        pieces.potentials().unwrap();
        let state = pieces.state().unwrap();
        let (restart, own) = (pieces.restart(), pieces.settings().clone());
        pieces.step(1).unwrap();
        pieces.step(1).unwrap();
        assert!(fingerprint(&mut pieces) == expected, "{kind:?} {method:?} in pieces");
        let resumed = Settings { steps_before: 1, ..own };
        let mut resumed = open(1, state.bodies, resumed, Some(&restart));
        resumed.step(2).unwrap();
        assert!(fingerprint(&mut resumed) == expected, "{kind:?} {method:?} after a restart");
    }
}

#[test]
fn device_finds_the_largest_acceleration() {
    // One body, and numbers around that of a workgroup's threads.
    for n in [1, 2, 255, 256, 257, 1001] {
        let mut bodies = Bodies::with_capacity(1);
        bodies.push(1.0, DVec3::ONE, DVec3::ZERO, 0);
        if n > 1 {
            bodies = cold_sphere(n);
            bodies.mass[n / 2] *= 50.0;
        }
        let settings = settings(EngineKind::Gpu, Method::Direct);
        let choice = choice(1, &settings);
        let open = Simulation::builder(bodies, settings).choice(choice).build();
        let mut sim = open.unwrap();
        let state = sim.state().unwrap();
        let largest = state.acceleration.iter().map(|a| a.length()).fold(0.0, f64::max);
        let found = sim.varying().unwrap().least_time();
        let expected = (SOFTENING / largest).sqrt();
        let is_near = (found / expected - 1.0).abs() < 1e-6;
        assert!(is_near || largest == 0.0 && found.is_infinite(), "{n}: {found}, {expected}");
        // Without acceleration the longest step is taken.
        if n == 1 {
            sim.step(2).unwrap();
            assert_eq!(sim.varying().unwrap().by_level(), [2]);
        }
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    let good = settings(EngineKind::Cpu, Method::Direct);
    let rebuild = TreeConfig { rebuild: Rebuild::Every(4), ..TreeConfig::default() };
    for (bad, words) in [
        (Settings { softening: 0.0, ..good.clone() }, "softening is 0, but must be greater than 0"),
        (Settings { auto_dt: Some(0.0), ..good.clone() }, "accuracy of --dt auto is 0"),
        (Settings { auto_dt: Some(-1.0), ..good.clone() }, "accuracy of --dt auto is -1"),
        (Settings { auto_dt: Some(f64::NAN), ..good.clone() }, "accuracy of --dt auto is NaN"),
        (Settings { tree: rebuild, ..good.clone() }, "rebuild is 4, but must be 1"),
        (
            Settings { integrator: integrate::find("hermite4").unwrap(), ..good.clone() },
            "it has individual steps",
        ),
    ] {
        let error = Simulation::new(cold_sphere(9), bad).err().unwrap().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
    let mut sim = Simulation::new(cold_sphere(9), good).unwrap();
    let error = sim.set_dt(-0.1).unwrap_err().to_string();
    assert!(error.contains("do not retrace the path"), "{error}");
    assert_eq!(sim.dt(), LONGEST);
    sim.set_dt(0.25).unwrap();
    sim.step(1).unwrap();
    assert_eq!((sim.time(), sim.varying().unwrap().longest()), (0.25, 0.25));
}

#[test]
fn edited_bodies_get_their_own_step() {
    let mut sim =
        Simulation::new(cold_sphere(300), settings(EngineKind::Cpu, Method::Direct)).unwrap();
    sim.step(1).unwrap();
    let before = sim.varying().unwrap().least_time();
    sim.edit(|bodies| {
        bodies.mass.iter_mut().for_each(|mass| *mass *= 16.0);
        Ok(())
    })
    .unwrap();
    let after = sim.varying().unwrap().least_time();
    assert!((after / before - 0.25).abs() < 1e-6, "{before}, {after}");
}
