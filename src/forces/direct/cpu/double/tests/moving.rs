//! Sources that the engine predicts.

use glam::{DVec3, Vec3Swizzles};
use proptest::prelude::*;

use super::{CpuDouble, InstructionSet, agree, answer, bodies_of};
use crate::forces::direct::Reference;
use crate::forces::{
    ForceEngine, Forces, Identity, Moving, MovingSources, Order, Outputs, Sources, TestBodies,
    Within,
};

/// The bodies with derivatives up to `highest`, each at its own time.
fn moving(bodies: &TestBodies, highest: usize) -> Vec<Moving> {
    let source = |k: usize| {
        let (x, v, a) = (bodies.position[k], bodies.velocity[k], bodies.acceleration[k]);
        let mut motion = [x, v, a, v.yzx() * 3.0, a.zxy() * 9.0, x.yzx() * 20.0];
        motion[highest + 1..].fill(DVec3::ZERO);
        Moving { time: 0.01 * (k % 7) as f64, mass: bodies.mass[k], motion }
    };
    (0..bodies.len()).map(source).collect()
}

/// Sets the sources to what [`Moving::at`] predicts.
fn set_predicted(engine: &mut dyn ForceEngine, sources: &[Moving], time: Option<f64>) {
    let at = |k: usize| -> Vec<DVec3> { sources.iter().map(|source| source.at(time)[k]).collect() };
    let mass: Vec<f64> = sources.iter().map(|source| source.mass).collect();
    let (position, velocity, acceleration) = (at(0), at(1), at(2));
    let (velocity, acceleration) = (&velocity[..], &acceleration[..]);
    engine
        .set_sources(&Sources { position: &position, velocity, acceleration, mass: &mass })
        .unwrap();
}

/// Everything that `engine` can compute for `sinks` of the bodies.
fn ask(engine: &mut dyn ForceEngine, bodies: &TestBodies, sinks: usize, eps: f64) -> Vec<Forces> {
    let radius = vec![0.3; sinks];
    let own: Vec<u32> = (0..sinks as u32).collect();
    let mut all = Vec::new();
    for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
        let within = Some(Within { radius: &radius, capacity: 5 });
        let outputs = Outputs { order, potential: true, nearest: true, distance: true, within };
        let near = Outputs { within: None, ..outputs };
        for outputs in [Outputs::only(order), Outputs { nearest: false, ..near }, near, outputs] {
            let sinks = bodies.sinks(0..sinks, Identity::Each(&own));
            all.push(answer(engine, &sinks, eps, &outputs));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any numbers of sources and sinks, any times and any derivatives, set all at once or one
    /// by one.
    #[test]
    fn engine_prediction_matches_host_prediction(
        n in 1usize..700,
        sinks in prop_oneof![Just(1usize), 2usize..6, 60usize..140],
        highest in 0usize..6,
        time in prop_oneof![Just(None), (-0.5f64..0.5).prop_map(Some)],
        eps in prop_oneof![Just(0.0), Just(0.01)],
        changed in prop::collection::vec(0u32..700, 0..40),
    ) {
        let bodies = bodies_of(n);
        let sinks = sinks.min(n);
        let (mut sources, other) = (moving(&bodies, highest), moving(&TestBodies::new(n, 77), highest));
        let mut index: Vec<u32> = changed.into_iter().filter(|&k| (k as usize) < n).collect();
        index.sort_unstable();
        index.dedup();
        for kernel in InstructionSet::available() {
            let mut engine = CpuDouble::with_kernel(kernel).unwrap();
            let mut host = CpuDouble::with_kernel(kernel).unwrap();
            // The storage for higher derivatives appears with the first source that has them.
            let plain = moving(&bodies, highest.min(3));
            engine.set_moving(&plain).unwrap();
            engine.predict_to(Some(1.0));
            ask(&mut engine, &bodies, 1, eps);
            let all: Vec<u32> = (0..n as u32).collect();
            engine.update_moving(&all, &sources).unwrap();
            let few: Vec<Moving> = index.iter().map(|&k| other[k as usize]).collect();
            engine.update_moving(&index, &few).unwrap();
            for (&k, &new) in index.iter().zip(&few) {
                sources[k as usize] = new;
            }
            engine.predict_to(time);
            set_predicted(&mut host, &sources, time);
            let (found, expected) = (ask(&mut engine, &bodies, sinks, eps), ask(&mut host, &bodies, sinks, eps));
            prop_assert_eq!(found, expected, "{} on {} sinks", kernel.name(), sinks);
        }
    }
}

#[test]
fn reference_agrees_with_predicted_sources() {
    let bodies = bodies_of(1000);
    let sources = moving(&bodies, 5);
    let time = Some(0.25);
    let mut right = Reference::default();
    set_predicted(&mut right, &sources, time);
    for kernel in InstructionSet::available() {
        let mut engine = CpuDouble::with_kernel(kernel).unwrap();
        engine.set_moving(&sources).unwrap();
        engine.predict_to(time);
        for sinks in [1, 70] {
            let found = ask(&mut engine, &bodies, sinks, 0.01);
            let expected = ask(&mut right, &bodies, sinks, 0.01);
            for (found, expected) in found.iter().zip(&expected) {
                agree(found, expected, &format!("{}, {sinks} sinks", kernel.name()));
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let bodies = bodies_of(9000);
    let sources = moving(&bodies, 3);
    for sinks in [1, 5, 300] {
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut engine = CpuDouble::new();
                engine.set_moving(&sources).unwrap();
                engine.predict_to(Some(0.125));
                ask(&mut engine, &bodies, sinks, 0.01)
            })
        };
        assert_eq!(of(1), of(7), "{sinks} sinks");
    }
}

#[test]
fn still_and_moving_sources_do_not_mix() {
    let bodies = bodies_of(20);
    let sources = moving(&bodies, 3);
    let mut engine = CpuDouble::new();
    engine.set_moving(&sources).unwrap();
    let words = |outcome: crate::error::Result<()>, words: &str| {
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(words), "'{text}' should say '{words}'");
    };
    let one = TestBodies::new(1, 1);
    words(engine.update_sources(&[3], &one.sources(1)), "must be set_moving and update_moving");
    words(engine.update_moving(&[20], &sources[..1]), "index is 20, but must be below 20");
    words(engine.update_moving(&[2, 3], &sources[..1]), "indices is 2, but must be 1");
    engine.set_sources(&bodies.sources(20)).unwrap();
    words(engine.update_moving(&[3], &sources[..1]), "must be set_sources and update_sources");
    // Neither the time nor the earlier sources must remain.
    let mut fresh = CpuDouble::new();
    fresh.set_sources(&bodies.sources(20)).unwrap();
    assert_eq!(ask(&mut engine, &bodies, 20, 0.01), ask(&mut fresh, &bodies, 20, 0.01));
    engine.set_moving(&[]).unwrap();
    assert_eq!(ask(&mut engine, &bodies, 2, 0.0)[2].nearest, [crate::forces::NO_SOURCE; 2]);
}
