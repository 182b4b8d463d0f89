//! Runs with forces that depend on the accelerations of the last step.

use super::*;
use crate::forces::direct::CpuSingle;
use crate::forces::tree::{CpuTree, TreeConfig};
use crate::forces::{Method, TestBodies};
use crate::sim::EngineKind;

fn state(bodies: &Bodies, restart: Option<&Restart>) -> HostState {
    let settings = Settings {
        engine: EngineKind::Cpu,
        method: Some(Method::Tree),
        softening: 0.05,
        ..Settings::default()
    };
    let engine = Box::new(CpuTree::new(TreeConfig::default()));
    pollster::block_on(HostState::open(bodies.clone(), engine, &settings, restart)).unwrap()
}

fn step(state: &mut HostState, steps: u64) -> (Vec<DVec3>, Vec<f64>) {
    for _ in 0..steps {
        pollster::block_on(state.step(0.01)).unwrap();
    }
    (state.bodies.position.clone(), pollster::block_on(state.potential()).unwrap())
}

#[test]
fn overflowing_body_is_named_and_state_is_restored() {
    let cloud = TestBodies::new(300, 5);
    let mut bodies = Bodies::default();
    for i in 0..cloud.len() {
        bodies.push(cloud.mass[i], cloud.position[i], cloud.velocity[i], 0);
    }
    (bodies.mass[77], bodies.id[77]) = (0.0, 4711);
    bodies.velocity[77].y = 1e308;
    let engines: [Box<dyn ForceEngine>; 2] =
        [Box::new(CpuTree::new(TreeConfig::default())), Box::new(CpuSingle::default())];
    for engine in engines {
        let name = engine.describe();
        let settings = Settings { softening: 0.05, ..Settings::default() };
        let mut state =
            pollster::block_on(HostState::open(bodies.clone(), engine, &settings, None)).unwrap();
        pollster::block_on(state.step(1e-300)).unwrap();
        let (before, known) = (state.bodies.clone(), state.acceleration.clone());
        let text = pollster::block_on(state.step(4.0)).unwrap_err().to_string();
        let expected = "body 77 (id 4711): it has left the range of numbers";
        assert!(text.contains(expected), "{name}: {text}");
        // The state before the step is complete: it can be saved, or continued with another step.
        assert_eq!((&state.bodies, &state.acceleration), (&before, &known), "{name}");
        let text = pollster::block_on(state.step(1.0)).unwrap_err().to_string();
        assert!(text.contains("body 77 (id 4711): its position ["), "{name}: {text}");
        assert_eq!((&state.bodies, &state.acceleration), (&before, &known), "{name}");
        pollster::block_on(state.step(1e-300)).unwrap();
    }
}

#[test]
fn restarted_tree_run_gives_same_bits() {
    let cloud = TestBodies::new(1500, 3);
    let mut bodies = Bodies::default();
    for i in 0..cloud.len() {
        bodies.push(cloud.mass[i], cloud.position[i], cloud.velocity[i], 0);
    }
    let mut whole = state(&bodies, None);
    step(&mut whole, 3);
    let (half, restart) = (whole.bodies.clone(), whole.restart());
    let end = step(&mut whole, 4);
    // As read from a snapshot.
    let restart = Restart::find(&restart.columns, &restart.facts).unwrap();
    assert_eq!(step(&mut state(&half, Some(&restart)), 4), end);
    assert_ne!(step(&mut state(&half, None), 4), end, "without the accelerations");
}
