//! Leapfrog steps with tree forces on bodies that stay on the device.

use gravitile::bodies::Bodies;
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::forces::{Budget, Method};
use gravitile::scene::Scene;
use gravitile::sim::{DeviceState, EngineKind, Settings, Simulation};

use super::common;

pub fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(method: Method) -> Settings {
    Settings {
        softening: 0.05,
        dt: 0.01,
        engine: EngineKind::Gpu,
        method: Some(method),
        adapter: common::adapter_request(),
        ..Settings::default()
    }
}

pub fn bits(bodies: &Bodies) -> Vec<[u64; 6]> {
    let of =
        |(x, v): (&glam::DVec3, &glam::DVec3)| [x.x, x.y, x.z, v.x, v.y, v.z].map(f64::to_bits);
    bodies.position.iter().zip(&bodies.velocity).map(of).collect()
}

#[test]
fn tree_steps_give_same_bits_however_they_are_split() {
    let bodies = plummer(3000);
    let begin = || {
        let settings = settings(Method::Tree);
        pollster::block_on(DeviceState::new(common::gpu(), &bodies, None, &settings)).unwrap()
    };
    let read = |state: &mut DeviceState| {
        let mut now = bodies.clone();
        pollster::block_on(state.read(&mut now, 0.0)).unwrap();
        bits(&now)
    };
    let mut whole = begin();
    assert!(whole.describe().contains("tree, quadrupoles, acceleration 0.003"));
    whole.run(0.01, 8, &mut |_| true).unwrap();
    let expected = read(&mut whole);

    let mut single = begin();
    for _ in 0..8 {
        single.run(0.01, 1, &mut |_| true).unwrap();
    }
    assert!(read(&mut single) == expected, "one step at a time");

    let mut sliced = begin();
    let budget = Budget { dispatch_secs: 2e-4, submission_secs: 5e-4 };
    // A fixed rate, independent of the device's speed.
    sliced.learn_rate(2e8);
    let (mut done, mut slices) = (0, 0);
    while done < 8 || !sliced.is_between_steps() {
        let slice = sliced.submit_slice(0.01, 8 - done, budget);
        sliced.gpu().wait_for(slice.submission.clone()).unwrap();
        done += slice.work.steps;
        slices += 1;
    }
    assert!(slices >= 16, "{slices} slices are too few to have cut steps");
    assert!(read(&mut sliced) == expected, "in slices");

    // Potentials between two steps build a separate tree and do not affect the steps.
    let mut queried = begin();
    queried.run(0.01, 4, &mut |_| true).unwrap();
    let potential = pollster::block_on(queried.potential()).unwrap();
    assert!(potential.iter().all(|phi| *phi < 0.0));
    queried.run(0.01, 4, &mut |_| true).unwrap();
    assert!(read(&mut queried) == expected, "with potentials in between");
}

#[test]
fn tree_restart_gives_same_bits() {
    let bodies = plummer(2000);
    let mut whole = Simulation::new(bodies.clone(), settings(Method::Tree)).unwrap();
    whole.step(10).unwrap();
    let mut first = Simulation::new(bodies, settings(Method::Tree)).unwrap();
    first.step(5).unwrap();
    let state = first.state().unwrap();
    let restart = first.restart();
    assert!(restart.columns.contains_key("last.ax"));
    // In the frame of the first state, as stored in a run folder.
    let resumed = Settings { frame: first.frame(), ..settings(Method::Tree) };
    let resumed = resumed.going_on_from(&state);
    let mut second =
        Simulation::builder(state.bodies, resumed).restart(Some(&restart)).build().unwrap();
    second.step(5).unwrap();
    assert!(bits(&second.bodies().unwrap()) == bits(&whole.bodies().unwrap()));
}

#[test]
fn lost_body_is_named_and_affects_no_other() {
    let mut bodies = plummer(500);
    // A massless body affects no other. It is lost beyond the tree's range of 2^60 of its units.
    bodies.mass[77] = 0.0;
    bodies.velocity[77].x = 4e18;
    bodies.id[77] = 4711;
    let mut simulation = Simulation::new(bodies, settings(Method::Tree)).unwrap();
    simulation.step(5).unwrap();
    assert!(simulation.bodies().unwrap().position[77].is_finite());
    simulation.step(100).unwrap();
    let text = simulation.bodies().unwrap_err().to_string();
    // Only this body is named.
    assert!(text.starts_with("body 77 (id 4711): ") && text.contains("it has left"), "{text}");
    assert!(text.contains("by step 105"), "{text}");
}

#[test]
fn tree_steps_conserve_energy_like_all_pairs() {
    let bodies = plummer(2000);
    let drift = |settings: Settings| {
        let mut simulation = Simulation::new(bodies.clone(), settings).unwrap();
        let energy = |simulation: &mut Simulation| {
            let diagnostics = simulation.diagnostics().unwrap();
            diagnostics.kinetic + diagnostics.potential
        };
        let before = energy(&mut simulation);
        simulation.step(100).unwrap();
        (energy(&mut simulation) / before - 1.0).abs()
    };
    let direct = drift(settings(Method::Direct));
    let tree = drift(settings(Method::Tree));
    assert!(tree < 1.5 * direct + 2e-5, "{tree:.1e}, all pairs {direct:.1e}");
    let opening = Opening::Radius { theta: 0.4 };
    let precise = TreeConfig { opening, ..TreeConfig::default() };
    let precise = drift(Settings { tree: precise, ..settings(Method::Tree) });
    assert!(precise < 1.5 * direct + 2e-5, "{precise:.1e}, all pairs {direct:.1e}");
}

/// With any opening rule of the steps: `acceleration` 0.003 itself would err by 6e-5 here.
#[test]
fn potential_energies_agree_with_all_pairs_in_f64() {
    for n in [1000, 5000, 12_000] {
        let bodies = plummer(n);
        let exact =
            Settings { engine: EngineKind::Reference, method: None, ..settings(Method::Direct) };
        let energy = |settings: Settings| {
            let mut simulation = Simulation::new(bodies.clone(), settings).unwrap();
            simulation.diagnostics().unwrap().potential
        };
        let exact = energy(exact);
        for engine in [EngineKind::Cpu, EngineKind::Gpu] {
            for opening in [Opening::Acceleration { alpha: 0.003 }, Opening::Bonsai { theta: 0.75 }]
            {
                let tree = TreeConfig { opening, ..TreeConfig::default() };
                let error =
                    energy(Settings { engine, tree, ..settings(Method::Tree) }) / exact - 1.0;
                assert!(error.abs() < 8e-6, "{n} bodies, {engine:?}, {opening:?}: {error:.1e}");
            }
        }
    }
}
