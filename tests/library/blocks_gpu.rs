//! Block steps on the device, compared with those of the host.

use crate::common;

use common::tiers;
use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::forces::Precision;
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

fn settings(integrator: &str, precision: Precision, dt: f64, blocks: BlockSettings) -> Settings {
    Settings {
        softening: 0.01,
        dt,
        integrator: find(integrator).unwrap(),
        blocks,
        engine: EngineKind::Gpu,
        precision: Some(precision),
        adapter: common::adapter_request(),
        ..Settings::default()
    }
}

fn on_host(settings: &Settings) -> Settings {
    let blocks = BlockSettings { on_host: true, ..settings.blocks };
    Settings { blocks, ..settings.clone() }
}

fn open(bodies: &Bodies, settings: &Settings) -> Simulation {
    let sim = Simulation::new(bodies.clone(), settings.clone()).unwrap();
    let description = sim.describe_engine();
    let expected = if settings.blocks.on_host { "on the host: as asked" } else { "on the device" };
    assert!(description.contains(expected), "{description}");
    sim
}

fn apart(a: &Bodies, b: &Bodies) -> f64 {
    a.position.iter().zip(&b.position).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// All positions, velocities and accelerations, bit for bit.
fn bits(sim: &mut Simulation) -> Vec<u64> {
    let state = sim.state().unwrap();
    let bodies = &state.bodies;
    let all = bodies.position.iter().chain(&bodies.velocity).chain(&state.acceleration);
    all.flat_map(|v| v.to_array().map(f64::to_bits)).collect()
}

/// Output steps of 0.1 are no multiple of the block steps of 1/16, so bodies are synchronised
/// between their own times.
#[test]
fn device_and_host_block_steps_agree() {
    let bodies = plummer(100);
    for precision in tiers() {
        for integrator in BOTH {
            let blocks = BlockSettings { dt_max: 0.0625, ..BlockSettings::default() };
            let settings = settings(integrator, precision, 0.1, blocks);
            let mut host = open(&bodies, &on_host(&settings));
            let mut device = open(&bodies, &settings);
            let before = device.diagnostics().unwrap().energy();
            for sim in [&mut host, &mut device] {
                sim.step(2).unwrap();
            }
            let after = device.diagnostics().unwrap().energy();
            let error = ((after - before) / before).abs();
            let difference = apart(&host.bodies().unwrap(), &device.bodies().unwrap());
            // With so few bodies double-single is refined: its force error is too small to show.
            let limit = 1e-10;
            println!(
                "{} {integrator}: {difference:.1e} apart, energy {error:.1e}",
                precision.name()
            );
            assert!(difference < limit, "{} {integrator}: {difference:e}", precision.name());
            assert!(error < 1e-5, "{error:e}");
            let counts = [&host, &device].map(|sim| *sim.blocks().unwrap().stats());
            let [a, b] = counts.map(|stats| stats.body_steps as f64);
            assert!((a / b - 1.0).abs() < 0.02, "{counts:?}");
            assert!(counts[1].blocks > 10 && counts[1].last_active > 0, "{counts:?}");
            let levels = device.blocks().unwrap().steps_by_level();
            assert_eq!(levels.iter().sum::<usize>(), bodies.len());
        }
    }
}

/// More bodies than a software adapter computes in one dispatch.
#[test]
fn large_blocks_split_into_dispatches() {
    let bodies = plummer(1100);
    let precision = tiers()[0];
    let blocks = BlockSettings { eta: 0.1, dt_max: 1.0 / 256.0, ..BlockSettings::default() };
    let settings = settings("hermite4", precision, 1.0 / 256.0, blocks);
    let mut host = open(&bodies, &on_host(&settings));
    let mut device = open(&bodies, &settings);
    for sim in [&mut host, &mut device] {
        sim.step(1).unwrap();
    }
    let stats = *device.blocks().unwrap().stats();
    assert_eq!(stats.last_active, bodies.len(), "all meet at the end");
    let difference = apart(&host.bodies().unwrap(), &device.bodies().unwrap());
    assert!(difference < 1e-9, "{difference:e}");
}

#[test]
fn batches_and_restart_give_same_bits() {
    let bodies = plummer(150);
    for precision in tiers() {
        for integrator in BOTH {
            let blocks = BlockSettings { dt_max: 0.03125, ..BlockSettings::default() };
            let settings = settings(integrator, precision, 0.02, blocks);
            let mut whole = open(&bodies, &settings);
            whole.step(4).unwrap();
            let mut once = open(&bodies, &settings);
            once.step(2).unwrap();
            // Submissions of other numbers of blocks than in one call.
            once.step(1).unwrap();
            once.step(1).unwrap();
            let same = bits(&mut whole) == bits(&mut once);
            assert!(same, "{} {integrator}: the batches matter", precision.name());

            let mut first = open(&bodies, &settings);
            first.step(2).unwrap();
            let (restart, steps) = (first.restart(), first.steps());
            let settings = Settings { steps_before: steps, ..settings.clone() };
            let mut second = Simulation::builder(first.bodies().unwrap(), settings)
                .restart(Some(&restart))
                .build()
                .unwrap();
            assert!(
                second.describe_engine().contains("on the device"),
                "{}",
                second.describe_engine()
            );
            second.step(2).unwrap();
            let off = apart(&whole.bodies().unwrap(), &second.bodies().unwrap());
            let same = bits(&mut whole) == bits(&mut second);
            assert!(same, "{} {integrator}: {off:e} off after a restart", precision.name());
        }
    }
}

/// With few bodies one close pair dominates the error. Double-single then computes pairs, and the
/// derivatives that strict steps depend on, nearly as well as f64.
#[test]
fn small_n_conserves_energy_in_double_single() {
    let precision = tiers()[0];
    let bodies = plummer(256);
    for softening in [0.0, 1.0 / 256.0] {
        let blocks = BlockSettings {
            eta: 0.0025,
            eta6: 0.06,
            dt_max: 1.0 / 64.0,
            ..BlockSettings::default()
        };
        let settings = settings("hermite6", precision, 0.125, blocks);
        let mut sim = open(&bodies, &Settings { softening, ..settings });
        let before = sim.diagnostics().unwrap().energy();
        sim.step(1).unwrap();
        let error = ((sim.diagnostics().unwrap().energy() - before) / before).abs();
        println!("eps {softening}: energy {error:.1e}");
        assert!(error < 1e-11, "eps {softening}: {error:e}");
    }
}

/// Above the number of bodies for which forces are refined, a body whose close neighbour's pull is
/// nearly cancelled has more noise in its forces than its net force suggests. Its step must stay
/// what strict settings request instead of shrinking without bound.
#[test]
fn force_noise_of_close_pairs_does_not_shrink_steps() {
    let precision = tiers()[0];
    let blocks = BlockSettings { eta: 0.0025, eta6: 0.06, dt_max: 0.03125, on_host: false };
    let settings = settings("hermite6", precision, 0.03125, blocks);
    let mut sim = open(&plummer(4200), &Settings { softening: 1.0 / 256.0, ..settings });
    sim.step(1).unwrap();
    let stats = *sim.blocks().unwrap().stats();
    assert!(stats.blocks < 500, "{stats:?}");
}

/// A star and five planets at perihelion, on eccentric orbits in different planes.
fn planets() -> Bodies {
    let mut bodies = Bodies::with_capacity(6);
    let mut balance = (DVec3::ZERO, DVec3::ZERO);
    let mut others = Vec::new();
    for (k, (size, eccentricity, mass)) in [
        (0.39, 0.21, 1.7e-7),
        (0.72, 0.07, 2.4e-6),
        (1.0, 0.17, 3.0e-4),
        (1.52, 0.09, 3.2e-7),
        (5.2, 0.05, 9.5e-4),
    ]
    .into_iter()
    .enumerate()
    {
        let (along, tilt) = (2.4 * k as f64, 0.05 + 0.03 * k as f64);
        let near = size * (1.0 - eccentricity);
        let speed = f64::sqrt((1.0 + mass) * (1.0 + eccentricity) / near);
        let position = DVec3::new(along.cos(), along.sin(), 0.0) * near;
        let ahead = DVec3::new(-along.sin(), along.cos(), 0.0) * tilt.cos();
        let velocity = (ahead + DVec3::Z * tilt.sin()) * speed;
        balance = (balance.0 - mass * position, balance.1 - mass * velocity);
        others.push((mass, position, velocity));
    }
    bodies.push(1.0, balance.0, balance.1, 0);
    for (mass, position, velocity) in others {
        bodies.push(mass, position, velocity, 0);
    }
    bodies
}

/// Integrates the planets to `time` on the CPU and, in every tier, on the device; `check` gets the
/// device's distance from the CPU, its share of body steps, and its noise statistics.
fn compare_strict_runs(
    integrator: &str,
    (eta, eta6): (f64, f64),
    time: f64,
    mut check: impl FnMut(Precision, &str, f64, f64, (f64, f64)),
) {
    let bodies = planets();
    let blocks = BlockSettings { eta, eta6, dt_max: 0.0625, on_host: false };
    let run = |engine, precision| {
        let settings = settings(integrator, precision, time, blocks);
        let settings = Settings { softening: 0.0, engine, ..settings };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        let engine_text = sim.describe_engine();
        assert_eq!(
            engine_text.contains("on the device"),
            engine == EngineKind::Gpu,
            "{engine_text}"
        );
        sim.step(1).unwrap();
        let stats = *sim.blocks().unwrap().stats();
        (sim.bodies().unwrap(), stats)
    };
    let (right, cpu) = run(EngineKind::Cpu, Precision::Double);
    assert_eq!(cpu.noise().0, 0.0);
    for precision in tiers() {
        let (found, gpu) = run(EngineKind::Gpu, precision);
        let off = apart(&found, &right);
        let share = gpu.body_steps as f64 / cpu.body_steps as f64;
        let (noisy, longer) = gpu.noise();
        let summary = format!(
            "{integrator} eta {eta}, {}: {} body steps, {share:.3} of the CPU's, {off:.1e} apart; noise in {noisy:.3}, {longer:.1} times",
            precision.name(),
            gpu.body_steps
        );
        println!("{summary}");
        check(precision, &summary, off, share, (noisy, longer));
    }
}

/// The device takes the steps of the CPU in double and, as far as its forces allow, in
/// double-single. (With f32 snaps hermite6 would take a fifth of the steps, and be 1e-10 off.)
#[test]
fn strict_steps_match_the_cpu() {
    for integrator in BOTH {
        for accuracy in [(1e-2, 0.1), (1e-3, 0.03), (1e-4, 0.01)] {
            compare_strict_runs(integrator, accuracy, 1.0, |_, summary, off, share, (noisy, _)| {
                assert!(off < 1e-11 && (0.95..1.05).contains(&share) && noisy < 0.05, "{summary}");
            });
        }
    }
}

/// Stricter still, double-single noise does not shrink steps, and the statistics report that they
/// are longer than requested.
#[test]
fn steps_limited_by_force_noise_are_reported() {
    let accuracy = (1e-7, 3e-4);
    compare_strict_runs(
        "hermite6",
        accuracy,
        0.0625,
        |precision, summary, off, share, (noisy, longer)| {
            assert!(off < 1e-11 && share < 1.05, "{summary}");
            if precision == Precision::Double {
                assert!(share > 0.95 && noisy == 0.0, "{summary}");
            } else {
                assert!(share > 0.3 && noisy > 0.2 && longer > 1.5, "{summary}");
            }
        },
    );
}

/// The integrators' order on the device, measured by halving all steps.
#[test]
fn error_scales_with_integrator_order() {
    // Without f64 (reported as skipped) the rounding of f32 pairs hides the order.
    if !tiers().contains(&Precision::Double) {
        return;
    }
    let mut bodies = Bodies::with_capacity(2);
    let speed = 0.125f64.sqrt();
    bodies.push(0.5, DVec3::X, DVec3::Y * speed, 0);
    bodies.push(0.5, -DVec3::X, DVec3::Y * -speed, 0);
    for (integrator, order) in BOTH.into_iter().zip([4.0, 6.0]) {
        let error = |dt_max: f64| {
            // An accuracy so low that all steps are dt_max.
            let blocks =
                BlockSettings { eta: 1e30, eta6: 1e30, dt_max, ..BlockSettings::default() };
            let settings = settings(integrator, Precision::Double, 2.0, blocks);
            let settings = Settings { softening: 0.0, ..settings };
            let mut sim = open(&bodies, &settings);
            sim.step(2).unwrap();
            let angle = speed * sim.time();
            let right = DVec3::new(angle.cos(), angle.sin(), 0.0);
            sim.bodies().unwrap().position[0].distance(right)
        };
        let (coarse, fine) = (error(0.25), error(0.125));
        let found = (coarse / fine).log2();
        assert!((found - order).abs() < 0.5, "{integrator}: {coarse:e} {fine:e} -> {found}");
    }
}

/// Two bodies fall onto each other without softening: device and host report the same reason.
#[test]
fn step_below_minimum_is_reported() {
    let mut bodies = Bodies::with_capacity(2);
    bodies.push(1.0, DVec3::X, DVec3::ZERO, 0);
    bodies.push(1.0, -DVec3::X, DVec3::ZERO, 0);
    for precision in tiers() {
        let settings = settings("hermite4", precision, 1.0, BlockSettings::default());
        let settings = Settings { softening: 0.0, ..settings };
        let mut messages = Vec::new();
        for settings in [on_host(&settings), settings] {
            let mut sim = open(&bodies, &settings);
            let error = sim.step(3).unwrap_err().to_string();
            let time = sim.state().unwrap().time;
            // Free fall from a distance of 2 with M = 2: pi / 2 sqrt(8 / 4).
            assert!((time - 2.2214).abs() < 1e-3, "{time}");
            messages.push(error);
        }
        for text in &messages {
            assert!(
                text.contains("shortest") || text.contains("range of numbers"),
                "{}: {messages:?}",
                precision.name()
            );
            assert!(text.contains("the nearest body is"), "{text}");
        }
    }
}
