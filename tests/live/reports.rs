//! A report against the same diagnostics of the bodies in f64: on the device kernels compute it.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::diagnostics::{FRACTIONS, diagnose, lagrangian_radii};
use gravitile::forces::direct::Reference;
use gravitile::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want};
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
    let mut forces = Answers::default();
    let want = Want::POTENTIAL;
    Reference::default()
        .evaluate_from(&sources, &sinks, settings.softening, &want, &mut forces)
        .unwrap();
    forces.potential
}

/// Compares a report of `bodies` after `steps` steps with [`diagnose`].
fn assert_agrees(name: &str, bodies: Bodies, settings: Settings, steps: u64) {
    let mut watcher = Watcher::new(bodies, settings.clone()).ready();
    watcher.steps(steps);
    let (report, moment) = (watcher.report(), watcher.moment());
    assert_eq!((report.time, report.steps), (moment.time, steps), "{name}");
    let (bodies, told) = (&moment.bodies, &report.diagnostics);
    let exact = diagnose(bodies, &potentials(bodies, &settings)).unwrap();

    let near = |what: &str, told: f64, exact: f64, scale: f64| {
        let error = (told - exact).abs() / scale;
        assert!(error < 2e-7, "{name}: {what} is {told}, but {exact} in f64: {error:.1e}");
    };
    let near_vec = |what: &str, told: DVec3, exact: DVec3, scale: f64| {
        near(what, (told - exact).length(), 0.0, scale);
    };
    let all = || bodies.position.iter().zip(&bodies.velocity).zip(&bodies.mass);
    let sum = |of: &dyn Fn(DVec3, DVec3, f64) -> f64| -> f64 {
        all().map(|((x, v), m)| of(*x, *v, *m)).sum()
    };
    near("K", told.kinetic, exact.kinetic, exact.kinetic.max(f64::MIN_POSITIVE));
    near("W", told.potential, exact.potential, exact.potential.abs().max(f64::MIN_POSITIVE));
    let scale = sum(&|_, v, m| m * v.length()).max(f64::MIN_POSITIVE);
    near_vec("momentum", told.momentum, exact.momentum, scale);
    let scale = sum(&|x, v, m| m * x.length() * v.length()).max(f64::MIN_POSITIVE);
    near_vec("angular momentum", told.angular_momentum, exact.angular_momentum, scale);
    let extent = bodies.position.iter().map(|x| x.length()).fold(0.0, f64::max);
    near_vec("centre", told.centre, exact.centre, extent);
    let fastest = bodies.velocity.iter().map(|v| v.length()).fold(0.0, f64::max);
    near_vec("drift", told.drift, exact.drift, fastest.max(f64::MIN_POSITIVE));
    near("half-mass radius", told.half_mass_radius, exact.half_mass_radius, extent);

    assert_eq!(told.components.len(), exact.components.len(), "{name}");
    for (told, exact) in told.components.iter().zip(&exact.components) {
        assert_eq!(told.component, exact.component);
        // A body on the edge of a sphere can be in or out by rounding: then the mean moves a little.
        let off = told.centre.distance(exact.centre);
        assert!(off < 2e-3 * exact.radii[1].max(1e-4), "{name}: the centre is off by {off}");
        let members: Vec<usize> = bodies.of_component(told.component).collect();
        let radii = lagrangian_radii(bodies, &members, told.centre, &FRACTIONS);
        for (k, radius) in radii.iter().enumerate() {
            near(&format!("radius {k}"), told.radii[k], *radius, extent);
        }
    }
}

#[test]
fn what_the_device_sums_up_is_what_f64_does() {
    for engine in ENGINES {
        let settings = settings(engine);
        assert_agrees("plummer", plummer(500), settings.clone(), 3);
        // Several slices of partial sums, more bodies than threads that sum.
        let sliced = Settings { kernel: shape(64, 3), ..settings.clone() };
        assert_agrees("more", plummer(5000), sliced, 1);
        assert_agrees("two galaxies", scene("galaxy-collision", Some(3000)), settings.clone(), 2);
        assert_agrees("two bodies", scene("two-body", None), settings.clone(), 1);
        assert_agrees("three bodies", scene("pythagorean", None), settings, 2);
    }
}

#[test]
fn far_away_and_in_motion_a_report_is_the_same() {
    for engine in ENGINES {
        for (shift, drift) in [(0.0, 30.0), (1e3, 0.0), (-2e3, 40.0)] {
            let mut moved = plummer(700);
            moved.shift(DVec3::new(1.0, 0.2, -0.7) * shift, DVec3::new(-0.1, 0.9, 0.4) * drift);
            assert_agrees("moved", moved, settings(engine), 3);
        }
    }
}

#[test]
fn bodies_without_mass_and_gravity_of_any_sign_are_counted() {
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
fn a_report_does_not_depend_on_how_its_work_is_cut_up() {
    let told = [1e-9, 1e-4, 1.0].map(|secs| {
        let mut watcher = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
        watcher.budget.submission_secs = secs;
        watcher.report().diagnostics
    });
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
}

#[test]
fn another_kernel_has_the_same_report_also_if_it_comes_in_the_middle_of_one() {
    let mut watcher = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
    let first = watcher.report().diagnostics;
    watcher.apply(Command::Kernel(shape(32, 3)));
    let second = watcher.report().diagnostics;
    // A dispatch or two per frame: the report is not finished when the kernel changes again.
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
fn states_to_go_on_from_come_by_themselves() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(300), settings(engine)).ready();
        watcher.until("the first", |w| !w.kept.is_empty());
        assert_eq!(watcher.kept[0].steps, 0, "{engine:?}");
        watcher.apply(Command::Tempo(Tempo::Fastest));
        watcher.apply(Command::Pause(false));
        watcher.until("another", |w| w.kept.len() >= 2);
        assert!(watcher.kept[1].steps > 0, "{engine:?}");
        assert!(watcher.moments.is_empty(), "nobody asked");
    }
}
