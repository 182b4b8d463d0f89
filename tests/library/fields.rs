//! External fields in simulations: orbits, energies and falls on every engine, method and
//! integrator.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::field::Field;
use gravitile::forces::direct::CpuSingle;
use gravitile::forces::tree::{Rebuild, TreeConfig};
use gravitile::forces::{ForceEngine, Forces, Identity, Method, Outputs, Sinks, Sources};
use gravitile::gpu::Gpu;
use gravitile::integrate;
use gravitile::scene::Scene;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};

/// Potentials with circular orbits in the plane through their centre (0.5, -1, 0.25).
const FIELDS: [&str; 8] = [
    "point:mass=2,softening=0.2",
    "plummer:mass=3,scale=0.8",
    "hernquist:mass=3,scale=1.2",
    "nfw:mass=4,scale=2",
    "isothermal:speed=1.3,core=0.5",
    "logarithmic:speed=1.1,core=0.4,flattening=0.8",
    "miyamoto-nagai:mass=2,scale=0.7,height=0.2",
    "tidal:xx=-0.8,yy=-0.8,zz=-2",
];
const CENTRE: DVec3 = DVec3::new(0.5, -1.0, 0.25);
const RADIUS: f64 = 1.7;

fn at_centre(potential: &str) -> Field {
    format!("{potential},x=0.5,y=-1,z=0.25").parse().unwrap()
}

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(field: &Field, engine: EngineKind, method: Method) -> Settings {
    Settings {
        softening: 0.05,
        engine,
        method: Some(method),
        field: field.clone(),
        adapter: common::adapter_request(),
        ..Settings::default()
    }
}

/// Massless bodies on circular orbits in `field`, their period, and the first body's place.
fn circling(field: &Field, count: usize) -> (Bodies, f64) {
    let speed = (-field.acceleration(CENTRE + DVec3::X * RADIUS).x * RADIUS).sqrt();
    let mut bodies = Bodies::with_capacity(count);
    for k in 0..count {
        let (sin, cos) = (k as f64 * std::f64::consts::TAU / count as f64).sin_cos();
        let place = CENTRE + DVec3::new(cos, sin, 0.0) * RADIUS;
        bodies.push(0.0, place, DVec3::new(-sin, cos, 0.0) * speed, 0);
    }
    (bodies, std::f64::consts::TAU * RADIUS / speed)
}

/// The largest distance between bodies of equal index.
fn apart(a: &Bodies, b: &Bodies) -> f64 {
    a.position.iter().zip(&b.position).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn bodies_on_circles_return_after_a_period() {
    for potential in FIELDS {
        let field = at_centre(potential);
        let (bodies, period) = circling(&field, 5);
        for (engine, method, integrator, steps, allowed) in [
            // The error of a leapfrog is (2 pi)^3 / steps^2 of the radius, 1.6e-3 with 400, times a
            // number below 1; those of the Hermite schemes follow from eta.
            (EngineKind::Cpu, Method::Direct, "leapfrog", 400, 1.6e-3),
            (EngineKind::Cpu, Method::Tree, "leapfrog", 400, 1.6e-3),
            (EngineKind::Gpu, Method::Direct, "leapfrog", 400, 1.6e-3),
            (EngineKind::Gpu, Method::Tree, "leapfrog", 100, 2.5e-2),
            (EngineKind::Cpu, Method::Direct, "hermite4", 1, 2e-5),
            (EngineKind::Cpu, Method::Direct, "hermite6", 1, 2e-5),
        ] {
            // Small dispatches take long on a software adapter.
            if engine == EngineKind::Gpu && method == Method::Tree && potential != FIELDS[3] {
                continue;
            }
            let mut settings = settings(&field, engine, method);
            settings.integrator = integrate::find(integrator).unwrap();
            settings.dt = period / f64::from(steps);
            settings.blocks.dt_max = 2f64.powi(-5);
            (settings.blocks.eta, settings.blocks.eta6) = (2e-3, 0.02);
            let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
            sim.step(steps as u64).unwrap();
            let gap = apart(&sim.bodies().unwrap(), &bodies) / RADIUS;
            let what = format!("{potential}, {engine:?} {method:?} {integrator}");
            assert!(gap < allowed, "{what}: {gap:e}");
        }
    }
}

/// Energies of a cluster in a halo and a disk: of the cluster and of all, before and after.
#[test]
fn energy_is_conserved_and_counts_the_field_once() {
    let field: Field =
        "nfw:mass=20,scale=4,x=1 miyamoto-nagai:mass=3,scale=2,height=0.3,y=-0.5".parse().unwrap();
    let mut bodies = plummer(1500);
    bodies.shift(DVec3::new(3.0, 0.0, 0.4), DVec3::new(0.8, 1.5, 0.0));
    let g = 1.5;
    for (engine, method, integrator, allowed) in [
        (EngineKind::Reference, Method::Reference, "leapfrog", 2e-5),
        (EngineKind::Cpu, Method::Tree, "leapfrog", 5e-5),
        (EngineKind::Gpu, Method::Direct, "leapfrog", 2e-5),
        (EngineKind::Gpu, Method::Tree, "leapfrog", 5e-5),
        (EngineKind::Cpu, Method::Direct, "hermite4", 2e-6),
        (EngineKind::Gpu, Method::Direct, "hermite6", 2e-6),
    ] {
        let mut settings = settings(&field, engine, method);
        (settings.gravitational_constant, settings.dt) = (g, 1.0 / 256.0);
        settings.integrator = integrate::find(integrator).unwrap();
        settings.blocks.dt_max = 1.0 / 64.0;
        let steps = if engine == EngineKind::Reference { 16 } else { 64 };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        let state = sim.state().unwrap();
        let before = sim.diagnostics_of(&state).unwrap();
        let of_field = before.field.unwrap();
        let exact: f64 = (0..bodies.len())
            .map(|i| bodies.mass[i] * field.gravitating(g).potential(state.bodies.position[i]))
            .sum();
        assert!((of_field.potential / exact - 1.0).abs() < 1e-12, "{of_field:?}, {exact}");
        assert!((of_field.bulk - 0.5 * 2.89).abs() < 1e-6, "{of_field:?}");
        let sum = before.kinetic + before.potential + of_field.potential + of_field.bulk;
        assert!((before.energy() - sum).abs() < 1e-14);
        sim.step(steps).unwrap();
        let after = sim.diagnostics().unwrap();
        let error = after.energy_error(&before).abs();
        assert!(error < allowed, "{engine:?} {method:?} {integrator}: {error:e}");
        // The cluster moves in the field, so that its parts change by far more than their sum.
        let change = (after.field.unwrap().potential - of_field.potential).abs();
        assert!(change > 30.0 * allowed * before.energy().abs(), "{change:e}");
    }
}

/// In a harmonic field a centre of mass moves as a test body does, whatever the bodies do to each
/// other. The tree's momentum balance must not take the field for an error of its forces.
#[test]
fn sphere_falls_as_test_body_does() {
    let field: Field = "tidal:xx=-4,yy=-4,zz=-4".parse().unwrap();
    let mut bodies = plummer(3000);
    bodies.shift(DVec3::X * 30.0, DVec3::Y * 5.0);
    let (dt, steps) = (0.01, 50);
    let mut alone = Bodies::with_capacity(1);
    alone.push(1.0, DVec3::X * 30.0, DVec3::Y * 5.0, 0);
    let one = settings(&field, EngineKind::Cpu, Method::Direct);
    let mut alone = Simulation::new(alone, Settings { dt, ..one }).unwrap();
    alone.step(steps).unwrap();
    let expected = alone.bodies().unwrap();
    for (engine, method, rebuild) in [
        (EngineKind::Cpu, Method::Direct, 1),
        (EngineKind::Cpu, Method::Tree, 1),
        (EngineKind::Gpu, Method::Direct, 1),
        (EngineKind::Gpu, Method::Tree, 1),
        (EngineKind::Gpu, Method::Tree, 4),
    ] {
        let mut settings = Settings { dt, ..settings(&field, engine, method) };
        settings.tree = TreeConfig { rebuild: Rebuild::Every(rebuild), ..settings.tree };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        sim.step(steps).unwrap();
        let (centre, drift) = sim.bodies().unwrap().centre_of_mass();
        let off = (centre.distance(expected.position[0]), drift.distance(expected.velocity[0]));
        assert!(off.0 < 2e-5 && off.1 < 1e-4, "{engine:?} {method:?} {rebuild}: {off:?}");
        assert!(centre.distance(DVec3::X * 30.0) > 10.0, "it has fallen");
    }
}

/// A field far stronger than the bodies' own forces must not make the tree coarser: its opening
/// rule goes by what bodies give each other. In a uniform field differences of accelerations are
/// those of the bodies.
#[test]
fn tree_on_device_is_as_precise_in_strong_field() {
    let bodies = plummer(6000);
    let own = |field: &str, method| {
        let field: Field = field.parse().unwrap();
        let settings = Settings { dt: 1e-9, ..settings(&field, EngineKind::Gpu, method) };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        // The second force is the first whose rule has the accelerations of a step.
        sim.step(2).unwrap();
        let state = sim.state().unwrap();
        let places = state.bodies.position.iter();
        let own = places.zip(&state.acceleration).map(|(x, a)| *a - field.acceleration(*x));
        own.collect::<Vec<_>>()
    };
    let exact = own("", Method::Direct);
    let error = |found: Vec<DVec3>| {
        let squares =
            found.iter().zip(&exact).map(|(a, b)| a.distance_squared(*b) / b.length_squared());
        (squares.sum::<f64>() / exact.len() as f64).sqrt()
    };
    let alone = error(own("", Method::Tree));
    // 300 times the bodies' own: f32 adds errors of 3e-5.
    let strong = error(own("point:mass=3e10,x=1e4", Method::Tree));
    assert!(
        alone > 1e-4 && strong < 1.3 * alone + 1e-4,
        "{alone:e} alone, {strong:e} in the field"
    );
}

/// Forces of a device's f32 field at the places where the bodies are, against f64: from 1e-6 of a
/// length to 1e6 of it.
#[test]
fn device_field_agrees_with_f64_near_the_centre_and_far_away() {
    for potential in FIELDS {
        let field: Field = potential.parse().unwrap();
        let mut bodies = Bodies::with_capacity(600);
        for k in 0..600 {
            let r = 10f64.powf(f64::from(k) / 50.0 - 6.0);
            let (a, b) = (f64::from(k) * 2.4, f64::from(k) * 0.7);
            let at = DVec3::new(a.cos() * b.cos(), a.sin() * b.cos(), b.sin()) * r;
            bodies.push(0.0, at, DVec3::ZERO, 0);
        }
        bodies.push(0.0, DVec3::ZERO, DVec3::ZERO, 0);
        let settings = Settings { dt: 1e-9, ..settings(&field, EngineKind::Gpu, Method::Direct) };
        let mut sim = Simulation::new(bodies, settings).unwrap();
        let state = sim.state().unwrap();
        for (at, found) in state.bodies.position.iter().zip(&state.acceleration) {
            let exact = field.acceleration(*at);
            let error = found.distance(exact);
            assert!(error <= 2e-6 * exact.length(), "{potential} at {at}: {found} for {exact}");
        }
    }
}

/// A Plummer sphere of 20,000 bodies attracts as the field does, but for the noise of a sample.
#[test]
fn live_sphere_attracts_as_its_field_does() {
    let bodies = plummer(20_000);
    // M = 1 and E = -1/4: a scale of 3 pi / 16.
    let field: Field =
        format!("plummer:mass=1,scale={}", 3.0 * std::f64::consts::PI / 16.0).parse().unwrap();
    for radius in [0.3, 0.6, 1.2, 3.0] {
        let probes: Vec<DVec3> = (0..400)
            .map(|k| {
                let z = (f64::from(k) + 0.5) / 200.0 - 1.0;
                let (sin, cos) = (f64::from(k) * 2.399_963).sin_cos();
                DVec3::new(cos, sin, 0.0) * (1.0 - z * z).sqrt() + DVec3::Z * z
            })
            .collect();
        let at: Vec<DVec3> = probes.iter().map(|probe| *probe * radius).collect();
        let sources = Sources::new(&bodies.position, &bodies.mass);
        let sinks = Sinks::new(&at, Identity::Foreign);
        let mut out = Forces::default();
        CpuSingle::new()
            .evaluate_from(&sources, &sinks, 0.02, &Outputs::POTENTIAL, &mut out)
            .unwrap();
        let mean = |of: &dyn Fn(usize) -> f64| (0..400).map(of).sum::<f64>() / 400.0;
        let inwards = mean(&|k| out.acceleration[k].dot(probes[k]));
        let exact = field.acceleration(DVec3::X * radius).x;
        // The mass within the radius is counted from 20,000 bodies.
        let within = exact.abs() * radius * radius;
        let noise = 4.0 * (within * (1.0 - within) / 20_000.0).sqrt() / within;
        assert!((inwards / exact - 1.0).abs() < noise + 2e-3, "{radius}: {inwards} for {exact}");
        let potential = mean(&|k| out.potential[k]) / field.potential(DVec3::X * radius);
        assert!((potential - 1.0).abs() < 0.01, "{radius}: {potential}");
    }
}

/// Two devices give the bits of one.
#[test]
fn devices_share_bodies_in_field_with_same_bits() {
    let field: Field = "hernquist:mass=5,scale=3,x=2 tidal:xx=0.1,yy=-0.1".parse().unwrap();
    let gpu = || Gpu::open_blocking(&common::adapter_request()).unwrap();
    let (first, second) = (gpu(), gpu());
    for method in [Method::Direct, Method::Tree] {
        let settings = settings(&field, EngineKind::Gpu, method);
        let run = |others: Vec<Arc<Gpu>>| {
            let choice = Choice::of(EngineKind::Gpu, method, "", Some(Arc::clone(&first)));
            let choice = Choice { others, ..choice };
            let mut sim = Simulation::builder(plummer(1500), settings.clone())
                .choice(choice)
                .build()
                .unwrap();
            sim.step(3).unwrap();
            let state = sim.state().unwrap();
            format!("{state:?} {:?}", sim.diagnostics_of(&state).unwrap())
        };
        assert!(run(Vec::new()) == run(vec![Arc::clone(&second)]), "{method:?}");
    }
}

#[test]
fn scene_files_have_fields_and_keep_their_coordinates() {
    let text = "generator = \"plummer\"\n[parameters]\nn = 50\n";
    let read = |text: &str| Scene::from_toml(text, Path::new("mine/test.toml"));
    let halo = "[[field]]\npotential = \"nfw\"\nmass = 30\nscale = 2.5\ncentre = [1, 0, -0.5]\n\
                [[field]]\npotential = \"tidal\"\nxx = 1e-2\n";
    let scene = read(&format!("{text}{halo}")).unwrap();
    assert_eq!(scene.field.to_string(), "nfw:mass=30,scale=2.5,x=1,z=-0.5 tidal:xx=0.01");
    let placed = "[[part]]\ngenerator = \"plummer\"\nparameters = { n = 50 }\n\
                  position = [8, 0, 0]\nvelocity = [0, 2, 0]\n";
    let (centre, drift) =
        read(&format!("{placed}{halo}")).unwrap().build().unwrap().centre_of_mass();
    assert!(centre.distance(DVec3::X * 8.0) < 1e-12 && drift.distance(DVec3::Y * 2.0) < 1e-12);
    let (centre, _) = read(placed).unwrap().build().unwrap().centre_of_mass();
    assert!(centre.length() < 1e-12, "without a field it is at rest at the origin");
    for (wrong, problem) in [
        ("potential = \"nfw\"\nmass = 1\n", "line 4: 'scale' of the potential 'nfw' is missing"),
        ("potential = \"dehnen\"\n", "line 5: there is no potential named 'dehnen'"),
        ("mass = 1\n", "line 4: a [[field]] must name its 'potential'"),
        ("potential = 3\n", "line 5: 'potential' is integer, but must be a name in quotes"),
        ("potential = \"nfw\"\nmass = \"a\"\n", "line 6: 'mass' is string, but must be a number"),
        ("potential = \"nfw\"\ncentre = [1, 2]\n", "line 6: 'centre' is array, but must be three"),
        ("potential = \"nfw\"\nmass = -1\nscale = 1\n", "'mass' of the potential 'nfw' is -1"),
    ] {
        let error = read(&format!("{text}[[field]]\n{wrong}")).unwrap_err().to_string();
        assert!(error.contains(problem), "{wrong}: {error}");
    }
}

#[test]
fn what_has_no_field_is_refused() {
    use gravitile::forces::direct::gpu::{Dispatch, KernelRequest};
    let field: Field = "plummer:mass=1,scale=1".parse().unwrap();
    for dispatch in [Dispatch::Fused, Dispatch::OneWorkgroup] {
        let mut settings = settings(&field, EngineKind::Gpu, Method::Direct);
        settings.kernel = KernelRequest { dispatch, ..KernelRequest::default() };
        let error = Simulation::new(plummer(100), settings).err().unwrap().to_string();
        assert!(error.contains("ordinary in an external field"), "{error}");
    }
    let far: Field = "plummer:mass=1,scale=1e30".parse().unwrap();
    let settings = settings(&far, EngineKind::Gpu, Method::Direct);
    let error = Simulation::new(plummer(100), settings).err().unwrap().to_string();
    assert!(error.contains("'scale' of the potential 'plummer' is 1e30"), "{error}");
    assert!(error.contains("in f32"), "{error}");
}
