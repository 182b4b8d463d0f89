//! Ranks find together what one process finds.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::test_adapter as adapter;
use super::*;
use crate::bodies::{Bodies, Component, Role, Rows};
use crate::exchange::{self, Ranks, team};
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::{EngineKind, Method};
use crate::integrate::blocks::Restart;
use crate::scene::{Spread, test_bodies};
use crate::sim::{ASKED_FOR, Backend, Simulation};

const N: usize = 3000;

/// The bodies of each rank that has some of them; the second has none.
const EACH: [Range<usize>; 3] = [0..1700, 1700..1700, 1700..N];

fn bodies() -> Bodies {
    let mut bodies = test_bodies(N, Spread::Even);
    for i in [7, 1500, 2999] {
        (bodies.position[i], bodies.velocity[i]) = (bodies.position[i / 2], bodies.velocity[i / 2]);
    }
    bodies.components = ["disk", "bulge"].map(|name| Component::new(name, Role::Star)).to_vec();
    bodies.component = (0..N).map(|i| u8::from(i % 7 == 0)).collect();
    bodies
}

fn settings(engine: EngineKind) -> Settings {
    Settings {
        softening: 0.05,
        dt: 0.01,
        field: "plummer:mass=2,scale=1".parse().unwrap(),
        engine,
        method: Some(Method::Tree),
        ..Settings::default()
    }
}

/// What a process finds: bodies and accelerations, potentials, columns of a restart, and what all
/// find together.
type Found = (Bodies, Vec<DVec3>, Vec<f64>, Restart, String);

/// Opens a simulation of bodies at the end of step number `u64`.
type Open<'a> = dyn Fn(Bodies, Option<&Restart>, u64) -> Result<Simulation> + 'a;

/// Opens a simulation and takes two steps, then opens another from where that is and takes one.
fn found(open: &Open<'_>, own: &Bodies) -> Result<Found> {
    let mut sim = open(own.clone(), None, 0)?;
    sim.step(2)?;
    let state = sim.state()?;
    let restart = sim.restart();
    let mut sim = open(state.bodies, Some(&restart), 2)?;
    sim.step(1)?;
    let state = sim.state()?;
    let potentials = sim.potentials()?;
    let diagnostics = sim.diagnostics_of(&state)?;
    let near = sim.closer_than_f32(&state.bodies)?;
    let all = format!("{diagnostics:?} {near}");
    Ok((state.bodies, state.acceleration, potentials, sim.restart(), all))
}

/// Compares three ranks with one process, whose engine is `choice`; ranks begin with `own_choice`.
fn check(engine: EngineKind, choice: &(dyn Fn() -> Choice + Sync), bodies: &Bodies) {
    let open = |choice: Choice, bodies: Bodies, restart: Option<&Restart>, steps| {
        let settings = Settings { steps_before: steps, ..settings(engine) };
        Simulation::builder(bodies, settings).choice(choice).restart(restart).build()
    };
    let alone = found(&|bodies, restart, steps| open(choice(), bodies, restart, steps), bodies);
    let alone = alone.unwrap();
    assert!(!alone.4.ends_with(" 0"), "some bodies share a place: {}", alone.4);
    let some = Choice { rows: Some(Rows { own: 0..1, n: N }), ..choice() };
    let refused = open(some, bodies.clone(), None, 0).err().unwrap().to_string();
    assert!(refused.contains("several ranks share a tree"), "{refused}");
    let by_ranks: Vec<Found> = std::thread::scope(|scope| {
        let of = |(member, rows): (_, Range<usize>)| {
            scope.spawn(move || {
                let mut own = bodies.clone();
                own.keep(&rows);
                let ranks = Some(Ranks::new(Box::new(member), 0));
                let rows = Some(Rows { own: rows, n: N });
                let open = |bodies, restart: Option<&Restart>, steps| {
                    let choice = Choice { ranks: ranks.clone(), rows: rows.clone(), ..choice() };
                    let choice = Choice { others: Vec::new(), ..choice };
                    let mut sim = open(choice, bodies, restart, steps)?;
                    assert_eq!(
                        (sim.len(), Some(sim.rows())),
                        (N, rows.clone().map(|rows| rows.own))
                    );
                    let refused = pollster::block_on(sim.replace(Bodies::default()));
                    assert!(refused.unwrap_err().to_string().contains("reads all bodies"));
                    Ok(sim)
                };
                found(&open, &own).unwrap()
            })
        };
        let threads: Vec<_> =
            team(EACH.len(), None, Duration::ZERO).into_iter().zip(EACH).map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for ((own, acceleration, potentials, restart, all), rows) in by_ranks.into_iter().zip(EACH) {
        let mut expected = alone.0.clone();
        expected.keep(&rows);
        assert_eq!(own, expected);
        assert_eq!(acceleration, alone.1[rows.clone()]);
        assert_eq!(potentials, alone.2[rows.clone()]);
        assert_eq!(all, alone.4);
        let columns = alone.3.columns.iter();
        let columns = columns.map(|(name, all)| (name.clone(), all[rows.clone()].to_vec()));
        assert_eq!(restart.columns, columns.collect());
    }
}

#[test]
fn ranks_with_devices_find_the_bits_of_one_process() {
    let gpu = adapter();
    let choice = || {
        let others = vec![Arc::clone(&gpu)];
        let gpu = Some(Arc::clone(&gpu));
        Choice { others, ..Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, gpu) }
    };
    check(EngineKind::Gpu, &choice, &bodies());
}

#[test]
fn ranks_with_processors_find_the_bits_of_one_process() {
    let choice = || Choice::of(EngineKind::Cpu, Method::Tree, ASKED_FOR, None);
    check(EngineKind::Cpu, &choice, &bodies());
}

/// A body that leaves the range of numbers on one rank is an error of all.
#[test]
fn a_lost_body_ends_the_step_of_all_ranks() {
    let mut bodies = bodies();
    bodies.velocity[2500] = DVec3::new(1.5e308, 0.0, 0.0);
    bodies.id[2500] = 77;
    let errors: Vec<String> = std::thread::scope(|scope| {
        let bodies = &bodies;
        let of = |(member, rows): (_, Range<usize>)| {
            scope.spawn(move || {
                let mut own = bodies.clone();
                own.keep(&rows);
                let choice = Choice::of(EngineKind::Cpu, Method::Tree, ASKED_FOR, None);
                let ranks = Some(Ranks::new(Box::new(member), 0));
                let choice = Choice { ranks, rows: Some(Rows { own: rows, n: N }), ..choice };
                let settings = Settings { dt: 10.0, ..settings(EngineKind::Cpu) };
                let mut sim = Simulation::builder(own, settings).choice(choice).build().unwrap();
                let before = sim.state().unwrap();
                let error = sim.step(1).unwrap_err().to_string();
                assert_eq!(sim.state().unwrap().bodies, before.bodies, "the step is taken back");
                error
            })
        };
        let threads: Vec<_> =
            team(EACH.len(), None, Duration::ZERO).into_iter().zip(EACH).map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for error in errors {
        assert!(error.contains("2500") && error.contains("77"), "{error}");
        assert!(error.contains("left the range of numbers"), "{error}");
    }
}

/// Two ranks, one of them with two devices: checks whether potentials came with the last force
/// of each advance, and compares all bodies and potentials. There are enough bodies for the
/// combined kernel (`device/combined.rs`).
#[test]
fn ranks_compute_expected_potentials_with_same_bits_as_one_device() {
    let gpu = adapter();
    let bodies = test_bodies(1500, Spread::Even);
    // With several slices, steps are not fused.
    let kernel = KernelRequest { tiled: true, s: Some(3), ..KernelRequest::default() };
    let engine = EngineKind::Gpu;
    let settings = Settings { softening: 0.05, dt: 0.01, engine, kernel, ..Settings::default() };
    let describe_state = |backend: &mut dyn Backend| {
        let mut bodies = bodies.clone();
        pollster::block_on(backend.read(&mut bodies, 0.0)).unwrap();
        let potential = pollster::block_on(backend.potential()).unwrap();
        format!("{bodies:?} {potential:?}")
    };
    let as_rank = |ranks: Option<Ranks>, devices: usize| {
        let devices = vec![Arc::clone(&gpu); devices];
        let group = DeviceGroup::open(&devices, ranks.as_ref(), &bodies, None, &settings);
        let mut group = pollster::block_on(group).unwrap();
        let mut states = vec![describe_state(&mut group)];
        for (steps, is_expected) in [(2, true), (1, true), (0, true), (1, true)] {
            group.advance(0.01, steps, &mut |_| true).unwrap();
            let mut devices = group.local_devices.iter();
            assert_eq!(devices.all(|local| local.state.has_potentials()), is_expected, "{steps}");
            states.push(describe_state(&mut group));
        }
        // No potentials are requested after the first of these, so the second computes none.
        for is_expected in [true, false] {
            group.advance(0.01, 1, &mut |_| true).unwrap();
            let mut devices = group.local_devices.iter();
            assert!(devices.all(|local| local.state.has_potentials() == is_expected));
        }
        states.push(describe_state(&mut group));
        states
    };
    let alone = as_rank(None, 1);
    let by_ranks: Vec<_> = std::thread::scope(|scope| {
        let members = exchange::team(2, None, Duration::ZERO);
        let ranks = members.into_iter().map(|member| Ranks::new(Box::new(member), 0));
        let as_rank = &as_rank;
        let each = |(k, ranks)| scope.spawn(move || as_rank(Some(ranks), 1 + k));
        let threads: Vec<_> = ranks.enumerate().map(each).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(by_ranks.iter().all(|states| *states == alone));
}
