//! Hermite with individual steps: order, accuracy, restart, and steps that become too short.

use crate::common;
use crate::program;

use std::f64::consts::PI;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::integrate::blocks::BlockSettings;
use gravitile::integrate::find;
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Settings, Simulation};

const BOTH: [&str; 2] = ["hermite4", "hermite6"];

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(integrator: &str, softening: f64, blocks: BlockSettings) -> Settings {
    Settings {
        softening,
        dt: blocks.dt_max,
        integrator: find(integrator).unwrap(),
        blocks,
        engine: EngineKind::Cpu,
        ..Settings::default()
    }
}

fn simulation(bodies: &Bodies, settings: Settings) -> Simulation {
    Simulation::new(bodies.clone(), settings).unwrap()
}

/// Largest distance between bodies of the same index.
fn apart(a: &Bodies, b: &Bodies) -> f64 {
    a.position.iter().zip(&b.position).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// Two bodies of masses 1 and 3 on a Kepler ellipse with semi-major axis 1 and, with G = pi^2,
/// period 1; at apocentre.
fn ellipse(eccentricity: f64) -> Bodies {
    let distance = 1.0 + eccentricity;
    let speed = 2.0 * PI * ((1.0 - eccentricity) / distance).sqrt();
    let mut bodies = Bodies::with_capacity(2);
    bodies.push(1.0, DVec3::X * (0.75 * distance), DVec3::Y * (0.75 * speed), 0);
    bodies.push(3.0, DVec3::X * (-0.25 * distance), DVec3::Y * (-0.25 * speed), 0);
    bodies
}

const G_OF_ELLIPSE: f64 = PI * PI;

/// An accuracy so low that all steps are dt_max.
fn fixed(dt_max: f64) -> BlockSettings {
    BlockSettings { eta: 1e30, eta6: 1e30, dt_max, ..BlockSettings::default() }
}

#[test]
fn error_scales_with_fourth_and_sixth_power_of_step() {
    let bodies = ellipse(0.3);
    for (integrator, order, levels) in [("hermite4", 4.0, [7, 8, 9]), ("hermite6", 6.0, [5, 6, 7])]
    {
        for engine in [EngineKind::Cpu, EngineKind::Reference] {
            let gap = |level: i32| {
                let blocks = fixed(f64::powi(0.5, level));
                let settings = Settings {
                    gravitational_constant: G_OF_ELLIPSE,
                    engine,
                    ..settings(integrator, 0.0, blocks)
                };
                let mut sim = simulation(&bodies, settings);
                sim.step(1 << level).unwrap();
                let levels = sim.blocks().unwrap().steps_by_level();
                assert_eq!((sim.time(), levels), (1.0, vec![2]));
                apart(&sim.bodies().unwrap(), &bodies)
            };
            let gaps = levels.map(gap);
            for pair in gaps.windows(2) {
                let found = (pair[0] / pair[1]).log2();
                assert!((found - order).abs() < 0.35, "{integrator}: order {found} from {gaps:?}");
            }
        }
    }
}

#[test]
fn very_eccentric_binary_keeps_its_orbit() {
    let bodies = ellipse(0.99);
    for (integrator, most) in [("hermite4", 1e-5), ("hermite6", 1e-8)] {
        let blocks =
            BlockSettings { eta: 0.001, eta6: 0.05, dt_max: 0.125, ..BlockSettings::default() };
        let settings =
            Settings { gravitational_constant: G_OF_ELLIPSE, ..settings(integrator, 0.0, blocks) };
        let mut sim = simulation(&bodies, settings);
        let before = sim.diagnostics().unwrap();
        sim.step(800).unwrap();
        let after = sim.diagnostics().unwrap();
        assert_eq!(sim.time(), 100.0);
        let error = after.energy_error(&before).abs();
        println!("{integrator}: {error:e}, {:?}", sim.blocks().unwrap().stats());
        assert!(error < most, "{integrator}: energy error {error:e} after 100 orbits");
        let turn = (after.angular_momentum - before.angular_momentum).length();
        let turn = turn / before.angular_momentum.length();
        assert!(turn < 100.0 * most, "{integrator}: angular momentum changed by {turn:e}");
    }
}

/// Burrau's problem: at t = 15.83 two bodies pass at 4e-4 of their coordinates. IAS15 with default
/// settings ends with an energy error of 3e-11; summing positions and velocities in plain f64 gives
/// 1e-8, however short the steps.
#[test]
fn burrau_closest_passage_conserves_energy() {
    let scene = Scene::builtin("pythagorean").unwrap();
    let bodies = scene.build().unwrap();
    for (integrator, eta, eta6, most) in
        [("hermite4", 1e-5, 1.0, 5e-11), ("hermite6", 1e-4, 0.02, 2e-12)]
    {
        let blocks = BlockSettings { eta, eta6, dt_max: 0.125, ..BlockSettings::default() };
        let mut sim = simulation(&bodies, settings(integrator, 0.0, blocks));
        let before = sim.diagnostics().unwrap();
        sim.run_until(16.0).unwrap();
        let error = sim.diagnostics().unwrap().energy_error(&before).abs();
        println!("{integrator}: {error:e}, {:?}", sim.blocks().unwrap().stats());
        assert!(error < most, "{integrator}: energy error {error:e}");
    }
}

/// The scene with its default settings: the outcome that Szebehely and Peters (1967) found, 4 and 5
/// bound to each other and 3 escaping.
#[test]
fn burrau_scene_ends_with_an_escape() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut run = program::program();
    let run = run.args(["run", "pythagorean", "--out"]).arg(&out).output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        run.status.success() && text.contains("eps 0,") && text.contains("block steps"),
        "{text}"
    );
    let last = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let last = last.filter(|path| path.extension().is_some_and(|e| e == "gvt")).max().unwrap();
    let last = gravitile::snapshot::read(last).unwrap();
    assert_eq!(last.time, 62.0);
    let Bodies { position: x, velocity: v, .. } = &last.bodies;
    // Energies per reduced mass: of the pair, and of the third body relative to the pair's centre.
    let pair = (v[1] - v[2]).length_squared() / 2.0 - 9.0 / x[1].distance(x[2]);
    let centre = |of: &[DVec3]| (4.0 * of[1] + 5.0 * of[2]) / 9.0;
    let (away, speed) = (x[0] - centre(x), v[0] - centre(v));
    let escape = speed.length_squared() / 2.0 - 12.0 / away.length();
    println!("{pair} {escape} {away} {text}");
    assert!(pair < -5.0 && escape > 0.5 && away.length() > 8.0 && away.dot(speed) > 0.0);
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let error: f64 = log.lines().last().unwrap().split(',').nth(5).unwrap().parse().unwrap();
    assert!(error.abs() < 1e-10, "energy error {error:e}");
}

/// Two bodies of a cold sphere fall head-on into each other and pass at 1e-10 of their coordinates,
/// where their binding energy is thousands of times that of the sphere.
#[test]
fn head_on_fall_in_cold_sphere_conserves_energy() {
    let mut scene = Scene::builtin("cold-sphere").unwrap();
    scene.set_n(1000).unwrap();
    scene.seed = 59;
    let bodies = scene.build().unwrap();
    let blocks = BlockSettings { dt_max: f64::powi(0.5, 7), ..BlockSettings::default() };
    let mut sim = simulation(&bodies, settings("hermite6", 0.0, blocks));
    let before = sim.diagnostics().unwrap();
    sim.step(4).unwrap();
    let error = sim.diagnostics().unwrap().energy_error(&before).abs();
    println!("{error:e}, {:?}", sim.blocks().unwrap().stats());
    assert!(error < 1e-7, "energy error {error:e}");
}

#[test]
fn plummer_sphere_conserves_energy_to_rounding() {
    let bodies = plummer(64);
    for softening in [1.0 / 256.0, 0.0] {
        for (integrator, eta, eta6) in [("hermite4", 1e-6, 1.0), ("hermite6", 1e-4, 0.01)] {
            let blocks = BlockSettings { eta, eta6, dt_max: 0.125, ..BlockSettings::default() };
            let mut sim = simulation(&bodies, settings(integrator, softening, blocks));
            let before = sim.diagnostics().unwrap();
            sim.run_until(0.25).unwrap();
            let error = sim.diagnostics().unwrap().energy_error(&before).abs();
            println!(
                "{integrator}, eps {softening}: {error:e}, {:?}",
                sim.blocks().unwrap().stats()
            );
            assert!(error < 1e-12, "{integrator}, eps {softening}: energy error {error:e}");
        }
    }
}

#[test]
fn hermite_and_leapfrog_agree() {
    let bodies = plummer(100);
    let leapfrog = Settings {
        softening: 0.1,
        dt: f64::powi(0.5, 11),
        engine: EngineKind::Reference,
        ..Settings::default()
    };
    let mut leapfrog = simulation(&bodies, leapfrog);
    leapfrog.step(1 << 10).unwrap();
    let right = leapfrog.bodies().unwrap();
    assert!(apart(&right, &bodies) > 0.3);
    for integrator in BOTH {
        let blocks =
            BlockSettings { eta: 1e-3, eta6: 0.03, dt_max: 0.125, ..BlockSettings::default() };
        let mut sim = simulation(&bodies, settings(integrator, 0.1, blocks));
        sim.step(4).unwrap();
        let gap = apart(&sim.bodies().unwrap(), &right);
        // Leapfrog's own error: (dt / 0.01)^2 of about 1e-4.
        assert!(gap < 3e-6, "{integrator}: {gap:e}");
    }
}

#[test]
fn bodies_take_individual_steps() {
    let bodies = plummer(300);
    let mut sim = simulation(&bodies, settings("hermite6", 0.0, BlockSettings::default()));
    sim.step(2).unwrap();
    let steps = sim.blocks().unwrap();
    let levels = steps.steps_by_level();
    assert_eq!(levels.iter().sum::<usize>(), 300);
    assert!(levels.iter().filter(|&&bodies| bodies > 0).count() >= 4, "{levels:?}");
    let stats = steps.stats();
    assert!(stats.blocks > 50 && stats.mean_active() > 1.0 && stats.mean_active() < 290.0);
    assert_eq!(stats.interactions, 300 * (stats.body_steps + 3 * 300));
    assert_eq!(sim.interactions(), stats.interactions);
}

/// Whether and when intermediate states are requested does not change the run.
#[test]
fn reading_intermediate_states_does_not_change_run() {
    let bodies = plummer(60);
    let blocks = BlockSettings { eta: 1e-3, eta6: 0.02, dt_max: 0.125, ..BlockSettings::default() };
    for integrator in BOTH {
        let mut whole = simulation(&bodies, settings(integrator, 0.05, blocks));
        whole.step(4).unwrap();
        let often = Settings { dt: 0.05, ..settings(integrator, 0.05, blocks) };
        let mut often = simulation(&bodies, often);
        often.step(3).unwrap();
        let early = often.bodies().unwrap();
        often.step(7).unwrap();
        assert_eq!(often.time(), 0.5);
        assert_eq!(often.bodies().unwrap(), whole.bodies().unwrap(), "{integrator}");
        // t = 0.15 is no multiple of any step.
        let finer = BlockSettings { dt_max: f64::powi(0.5, 6), ..blocks };
        let finer = Settings { dt: 0.05, ..settings(integrator, 0.05, finer) };
        let mut finer = simulation(&bodies, finer);
        finer.step(3).unwrap();
        let gap = apart(&finer.bodies().unwrap(), &early);
        assert!(gap > 0.0 && gap < 1e-7, "{integrator}: {gap:e}");
    }
}

#[test]
fn resume_gives_same_bits() {
    let bodies = plummer(100);
    for integrator in BOTH {
        // 0.05 is no multiple of a step: bodies are saved in the middle of their steps.
        let settings = Settings { dt: 0.05, ..settings(integrator, 0.0, BlockSettings::default()) };
        let mut whole = simulation(&bodies, settings.clone());
        whole.step(9).unwrap();
        let mut first = simulation(&bodies, settings.clone());
        first.step(4).unwrap();
        // Diagnostics do not change the run.
        first.diagnostics().unwrap();
        let restart = first.restart();
        assert!(restart.columns["blocks.lx"].iter().any(|low| *low != 0.0));
        let settings = Settings { steps_before: 4, ..settings };
        let mut second = Simulation::builder(first.bodies().unwrap(), settings)
            .restart(Some(&restart))
            .build()
            .unwrap();
        assert_eq!(second.bodies().unwrap(), first.bodies().unwrap());
        second.step(5).unwrap();
        assert_eq!(second.bodies().unwrap(), whole.bodies().unwrap(), "{integrator}");
        assert_eq!(second.restart(), whole.restart(), "{integrator}");
        assert_eq!(second.time(), whole.time());
    }
}

#[test]
fn collision_stops_run_with_explanation() {
    let mut bodies = Bodies::with_capacity(3);
    bodies.push(1.0, DVec3::X, DVec3::ZERO, 0);
    bodies.push(0.1, DVec3::Z * 100.0, DVec3::ZERO, 0);
    bodies.push(1.0, -DVec3::X, DVec3::ZERO, 0);
    for integrator in BOTH {
        let mut sim = simulation(&bodies, settings(integrator, 0.0, BlockSettings::default()));
        let text = sim.step(100).unwrap_err().to_string();
        // Free fall from a distance of 2 with M = 2: pi / 2 sqrt(8 / 4) = 2.22.
        for word in ["body 0 (id 0)", "at t = 2.2", "2^44", "nearest body is 2 (id 2)", "softening"]
        {
            assert!(text.contains(word), "'{text}' should say '{word}'");
        }
        let state = sim.state().unwrap();
        assert!((2.0..2.3).contains(&state.time) && state.time > sim.time(), "{}", state.time);
        assert!(state.bodies.position[0].distance(state.bodies.position[2]) < 1e-3);
    }
}

#[test]
fn invalid_settings_are_refused() {
    let bodies = plummer(10);
    let refuse = |bodies: &Bodies, settings: Settings, words: &[&str]| {
        let Err(error) = Simulation::new(bodies.clone(), settings) else {
            panic!("{words:?} should be refused");
        };
        let text = error.to_string();
        for word in words {
            assert!(text.contains(word), "'{text}' should say '{word}'");
        }
    };
    let good = settings("hermite4", 0.0, BlockSettings::default());
    let with = |blocks: BlockSettings| Settings { blocks, ..good.clone() };
    let defaults = BlockSettings::default();
    refuse(&bodies, with(BlockSettings { eta: 0.0, ..defaults }), &["eta is 0"]);
    refuse(&bodies, with(BlockSettings { dt_max: 0.3, ..defaults }), &["dt-max is 0.3", "0.25"]);
    let precision = Some(gravitile::forces::Precision::DoubleSingle);
    refuse(&bodies, Settings { precision, ..good.clone() }, &["double-single", "engine cpu"]);
    let mut twice = bodies.clone();
    twice.position[7] = twice.position[3];
    refuse(&twice, good.clone(), &["body 7 (id 7)", "same place as body 3"]);
    assert!(Simulation::new(twice, Settings { softening: 0.1, ..good.clone() }).is_ok());

    let mut sim = simulation(&bodies, good);
    sim.set_dt(-0.125).unwrap();
    let text = sim.step(1).unwrap_err().to_string();
    assert!(text.contains("only go forward"), "{text}");
}

/// All derivatives of the central body are rounding errors, which must not determine its step.
#[test]
fn force_free_body_does_not_stop_the_others() {
    let mut bodies = Bodies::with_capacity(3);
    bodies.push(1.0, DVec3::ZERO, DVec3::ZERO, 0);
    bodies.push(0.3, DVec3::new(0.7, 0.1, 0.3), DVec3::new(-0.2, 1.1, 0.3), 0);
    bodies.push(0.3, -bodies.position[1], -bodies.velocity[1], 0);
    for integrator in BOTH {
        let mut sim = simulation(&bodies, settings(integrator, 0.0, BlockSettings::default()));
        sim.step(40).unwrap();
        assert!(sim.bodies().unwrap().position[0].length() < 1e-9);
        let mut alone = Bodies::with_capacity(1);
        alone.push(1.0, DVec3::ZERO, DVec3::X, 0);
        let mut sim = simulation(&alone, settings(integrator, 0.0, BlockSettings::default()));
        sim.step(16).unwrap();
        assert_eq!(sim.bodies().unwrap().position, [DVec3::X * 2.0]);
    }
}

/// Steps on the host, forces on the device: in double equal to the CPU except for the order of
/// sums, in double-single within the accuracy of f32 pairs; its noise does not shrink strict steps.
#[test]
fn gpu_forces_agree_for_both_integrators() {
    use gravitile::forces::Precision;
    let bodies = plummer(64);
    for integrator in BOTH {
        let of = |engine, precision, eta| {
            let blocks = BlockSettings { eta, dt_max: 0.0625, ..BlockSettings::default() };
            let adapter = common::adapter_request();
            let settings = settings(integrator, 0.01, blocks);
            let mut sim = simulation(&bodies, Settings { engine, precision, adapter, ..settings });
            let before = sim.diagnostics().unwrap().energy();
            sim.step(2).unwrap();
            let after = sim.diagnostics().unwrap().energy();
            let blocks = sim.blocks().unwrap().stats().blocks;
            (sim.bodies().unwrap(), ((after - before) / before).abs(), blocks)
        };
        let right = of(EngineKind::Cpu, None, 0.01);
        let rough = of(EngineKind::Gpu, None, 0.01);
        assert!(apart(&rough.0, &right.0) < 1e-5, "{}", apart(&rough.0, &right.0));
        // Noise causes no more blocks, and not many fewer.
        let [strict, blocks] = [EngineKind::Gpu, EngineKind::Cpu].map(|e| of(e, None, 1e-6));
        let share = strict.2 as f64 / blocks.2 as f64;
        assert!(strict.1 < 1e-12, "{}", strict.1);
        assert!((0.9..1.05).contains(&share), "{} blocks, {} on the CPU", strict.2, blocks.2);
        if common::tiers().contains(&Precision::Double) {
            let double = of(EngineKind::Gpu, Some(Precision::Double), 0.01);
            assert!(apart(&double.0, &right.0) < 1e-10, "{}", apart(&double.0, &right.0));
        }
    }
}

#[test]
fn leapfrog_runs_in_double() {
    let bodies = plummer(200);
    let of = |engine, precision| {
        let settings =
            Settings { softening: 0.05, dt: 0.01, engine, precision, ..Settings::default() };
        let mut sim = simulation(&bodies, settings);
        sim.step(50).unwrap();
        sim.bodies().unwrap()
    };
    let double = Some(gravitile::forces::Precision::Double);
    let right = of(EngineKind::Reference, None);
    let (single, double) = (of(EngineKind::Cpu, None), of(EngineKind::Cpu, double));
    assert!(apart(&double, &right) < 1e-12 && apart(&single, &right) > 1e-9);
    let precision = Some(gravitile::forces::Precision::Double);
    let settings = Settings { engine: EngineKind::Gpu, precision, ..Settings::default() };
    let error = Simulation::new(bodies, settings).err().unwrap().to_string();
    assert!(
        error.contains("precision is double") && error.contains("single with leapfrog"),
        "{error}"
    );
}
