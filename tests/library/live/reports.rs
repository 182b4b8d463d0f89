//! Reports, which kernels compute on the device, against diagnostics of the bodies in f64.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::diagnostics::{FRACTIONS, diagnose, lagrangian_radii};
use gravitile::forces::direct::Reference;
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::live::{Command, Tempo};
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Settings};

use super::watcher::Watcher;
use super::{ENGINES, plummer, settings, shape};

fn scene(name: &str, n: Option<usize>) -> Bodies {
    let mut scene = Scene::builtin(name).unwrap();
    n.map_or(Ok(()), |n| scene.set_n(n)).unwrap();
    scene.build().unwrap()
}

fn potentials(bodies: &Bodies, settings: &Settings) -> Vec<f64> {
    let g = settings.gravitational_constant;
    let mass = bodies.gravitating_mass(g);
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    let sources = Sources::new(&bodies.position, &mass);
    let mut forces = Forces::default();
    let outputs = Outputs::POTENTIAL;
    Reference::default()
        .evaluate_from(&sources, &sinks, settings.softening, &outputs, &mut forces)
        .unwrap();
    forces.potential
}

/// Compares a report of `bodies` after `steps` steps with [`diagnose`].
fn assert_agrees(name: &str, bodies: Bodies, settings: Settings, steps: u64) {
    let mut watcher = Watcher::new(bodies, settings.clone()).ready();
    watcher.steps(steps);
    let (report, state) = (watcher.report(), watcher.state());
    assert_eq!((report.time, report.steps), (state.time, steps), "{name}");
    let (bodies, reported) = (&state.bodies, &report.diagnostics);
    let exact = diagnose(bodies, &potentials(bodies, &settings)).unwrap();

    let near = |what: &str, reported: f64, exact: f64, scale: f64| {
        let error = (reported - exact).abs() / scale;
        assert!(error < 2e-7, "{name}: {what} is {reported}, but {exact} in f64: {error:.1e}");
    };
    let near_vec = |what: &str, reported: DVec3, exact: DVec3, scale: f64| {
        near(what, (reported - exact).length(), 0.0, scale);
    };
    let all = || bodies.position.iter().zip(&bodies.velocity).zip(&bodies.mass);
    let sum = |of: &dyn Fn(DVec3, DVec3, f64) -> f64| -> f64 {
        all().map(|((x, v), m)| of(*x, *v, *m)).sum()
    };
    near("K", reported.kinetic, exact.kinetic, exact.kinetic.max(f64::MIN_POSITIVE));
    near("W", reported.potential, exact.potential, exact.potential.abs().max(f64::MIN_POSITIVE));
    let scale = sum(&|_, v, m| m * v.length()).max(f64::MIN_POSITIVE);
    near_vec("momentum", reported.momentum, exact.momentum, scale);
    let scale = sum(&|x, v, m| m * x.length() * v.length()).max(f64::MIN_POSITIVE);
    near_vec("angular momentum", reported.angular_momentum, exact.angular_momentum, scale);
    let extent = bodies.position.iter().map(|x| x.length()).fold(0.0, f64::max);
    near_vec("centre", reported.centre, exact.centre, extent);
    let fastest = bodies.velocity.iter().map(|v| v.length()).fold(0.0, f64::max);
    near_vec("drift", reported.drift, exact.drift, fastest.max(f64::MIN_POSITIVE));
    near("half-mass radius", reported.half_mass_radius, exact.half_mass_radius, extent);

    assert_eq!(reported.components.len(), exact.components.len(), "{name}");
    for (reported, exact) in reported.components.iter().zip(&exact.components) {
        assert_eq!(reported.component, exact.component);
        // Rounding decides whether a body at the edge of a sphere is inside, which moves the mean a
        // little.
        let off = reported.centre.distance(exact.centre);
        assert!(off < 2e-3 * exact.radii[1].max(1e-4), "{name}: the centre is off by {off}");
        let members: Vec<usize> = bodies.of_component(reported.component).collect();
        let radii = lagrangian_radii(bodies, &members, reported.centre, &FRACTIONS);
        for (k, radius) in radii.iter().enumerate() {
            near(&format!("radius {k}"), reported.radii[k], *radius, extent);
        }
    }
}

#[test]
fn device_diagnostics_agree_with_f64() {
    for engine in ENGINES {
        let settings = settings(engine);
        assert_agrees("plummer", plummer(500), settings.clone(), 3);
        // Several slices of partial sums, and more bodies than summing threads.
        let sliced = Settings { kernel: shape(64, 3), ..settings.clone() };
        assert_agrees("more", plummer(5000), sliced, 1);
        assert_agrees("two galaxies", scene("galaxy-collision", Some(3000)), settings.clone(), 2);
        assert_agrees("two bodies", scene("two-body", None), settings.clone(), 1);
        assert_agrees("three bodies", scene("pythagorean", None), settings, 2);
    }
}

#[test]
fn diagnostics_agree_in_distant_moving_frame() {
    for engine in ENGINES {
        for (shift, drift) in [(0.0, 30.0), (1e3, 0.0), (-2e3, 40.0)] {
            let mut moved = plummer(700);
            moved.shift(DVec3::new(1.0, 0.2, -0.7) * shift, DVec3::new(-0.1, 0.9, 0.4) * drift);
            assert_agrees("moved", moved, settings(engine), 3);
        }
    }
}

#[test]
fn diagnostics_cover_massless_bodies_and_any_sign_of_g() {
    for engine in ENGINES {
        let settings = settings(engine);
        let mut massless = plummer(700);
        massless.mass.fill(0.0);
        assert_agrees("massless", massless, settings.clone(), 1);
        let mut tracers = plummer(700);
        tracers.components.push(Component::new("tracers", Role::Star));
        for i in (0..700).step_by(3) {
            (tracers.mass[i], tracers.component[i]) = (0.0, 1);
        }
        assert_agrees("tracers", tracers, settings.clone(), 1);
        for gravitational_constant in [0.0, -1.0, 4.3e-6] {
            let other = Settings { gravitational_constant, ..settings.clone() };
            assert_agrees("another G", plummer(300), other, 1);
        }
    }
}

#[test]
fn report_does_not_depend_on_budget() {
    let reported = [1e-9, 1e-4, 1.0].map(|secs| {
        let mut watcher = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
        watcher.budget.submission_secs = secs;
        watcher.report().diagnostics
    });
    assert_eq!(reported[0], reported[1]);
    assert_eq!(reported[0], reported[2]);
}

#[test]
fn kernel_change_during_report_keeps_result() {
    let mut watcher = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
    let first = watcher.report().diagnostics;
    watcher.apply(Command::Kernel(shape(32, 3)));
    let second = watcher.report().diagnostics;
    // A dispatch or two per frame: the kernel changes again before the report is finished.
    watcher.budget.submission_secs = 1e-9;
    watcher.apply(Command::Report);
    for _ in 0..40 {
        watcher.frame();
    }
    watcher.apply(Command::Kernel(shape(64, 1)));
    let third = watcher.report().diagnostics;
    assert_eq!((&first.components, first.kinetic), (&second.components, second.kinetic));
    let off = (second.potential / first.potential - 1.0).abs();
    assert!(off > 0.0 && off < 1e-6, "slices add up in another order: {off:e}");
    assert_eq!(first, third);
}

#[test]
fn resumable_states_arrive_unrequested() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(300), settings(engine)).ready();
        watcher.until("the first", |w| !w.retained.is_empty());
        assert_eq!(watcher.retained[0].steps, 0, "{engine:?}");
        watcher.apply(Command::Tempo(Tempo::Fastest));
        watcher.apply(Command::Pause(false));
        watcher.until("another", |w| w.retained.len() >= 2);
        assert!(watcher.retained[1].steps > 0, "{engine:?}");
        assert!(watcher.moments.is_empty(), "nobody asked");
    }
}
