//! Sources that the engine predicts on the device, against f64 predictions on the host.

use glam::DVec3;
use gravitile::forces::direct::Reference;
use gravitile::forces::{
    ArrivalList, ForceEngine, Forces, Goal, Identity, Moving, Order, Outputs, Precision, Sinks,
    Sources, TestBodies, Within,
};

use super::{answers_of, engine, tiers};

#[path = "in_place.rs"]
mod in_place;

/// Bodies with individual times, whose derivatives matter over a step of 1/64.
fn moving(n: usize, snaps: bool) -> Vec<Moving> {
    let (first, second) = (TestBodies::new(n, 5), TestBodies::new(n, 6));
    let one = |i: usize| Moving {
        time: 3.0 + (i % 37) as f64 / 2048.0,
        mass: first.mass[i],
        motion: [
            first.position[i],
            first.velocity[i],
            8.0 * second.position[i],
            64.0 * second.velocity[i],
            if snaps { 512.0 * first.velocity[i] } else { DVec3::ZERO },
            if snaps { 4096.0 * second.position[i] } else { DVec3::ZERO },
        ],
    };
    (0..n).map(one).collect()
}

/// The reference's answers for sources predicted on the host.
fn right(sources: &[Moving], time: Option<f64>, sinks: &Sinks, outputs: &Outputs) -> Forces {
    let row = |k: usize| -> Vec<DVec3> { sources.iter().map(|m| m.at(time)[k]).collect() };
    let (position, velocity, acceleration) = (row(0), row(1), row(2));
    let mass: Vec<f64> = sources.iter().map(|moving| moving.mass).collect();
    let mut reference = Reference::default();
    let predicted = Sources {
        position: &position,
        velocity: &velocity,
        acceleration: &acceleration,
        mass: &mass,
    };
    reference.set_sources(&predicted).unwrap();
    answers_of(&mut reference, sinks, outputs)
}

fn worst(found: &[DVec3], right: &[DVec3]) -> f64 {
    let errors = found.iter().zip(right).map(|(a, b)| (*a - *b).length() / b.length());
    errors.fold(0.0, f64::max)
}

/// The first `n` sources as sinks, predicted to `time`.
struct Block {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
}

impl Block {
    fn of(sources: &[Moving], n: usize, time: Option<f64>) -> Self {
        let row = |k: usize| -> Vec<DVec3> { sources[..n].iter().map(|m| m.at(time)[k]).collect() };
        Self { position: row(0), velocity: row(1), acceleration: row(2) }
    }

    fn sinks(&self) -> Sinks<'_> {
        Sinks {
            position: &self.position,
            velocity: &self.velocity,
            acceleration: &self.acceleration,
            identity: Identity::Offset(0),
            only: None,
        }
    }
}

fn outputs(order: Order) -> Outputs<'static> {
    Outputs { potential: true, nearest: true, ..Outputs::only(order) }
}

/// Relative error bounds of accelerations, jerks and snaps; cancellation makes the latter larger.
fn bounds(precision: Precision, n: usize) -> [f64; 3] {
    match precision {
        Precision::Double => [1e-12, 1e-11, 1e-10],
        Precision::DoubleSingle if precision.refines(n) => [1e-10, 1e-9, 1e-8],
        Precision::DoubleSingle => [2e-6, 2e-5, 2e-4],
        _ => [2e-4, 4e-3, 4e-2],
    }
}

#[track_caller]
fn compare(engine: &mut dyn ForceEngine, sources: &[Moving], time: Option<f64>, order: Order) {
    let block = Block::of(sources, 130.min(sources.len()), time);
    let outputs = outputs(order);
    let right = right(sources, time, &block.sinks(), &outputs);
    engine.interfaces().moving.unwrap().predict_to(time);
    let found = answers_of(engine, &block.sinks(), &outputs);
    let bounds = bounds(engine.precision(), sources.len());
    let rows = [
        (&found.acceleration, &right.acceleration),
        (&found.jerk, &right.jerk),
        (&found.snap, &right.snap),
    ];
    for (k, (found, right)) in rows.into_iter().enumerate().take(order as usize + 1) {
        let worst = worst(found, right);
        let name = engine.precision().name();
        println!("{name}, {} sources, {time:?}, row {k}: {worst:.1e}", sources.len());
        assert!(worst < bounds[k], "{name} {time:?} row {k}: {worst:.1e} over {:.0e}", bounds[k]);
    }
    // The nearest neighbour may differ only if two are equally far.
    for (i, (found, right)) in
        found.nearest_distance.iter().zip(&right.nearest_distance).enumerate()
    {
        assert!((found - right).abs() <= 1e-6 * right, "sink {i}: {found} and not {right}");
    }
}

#[test]
fn device_prediction_agrees_with_host() {
    for precision in tiers() {
        for (n, snaps) in [(700, false), (700, true), (4200, true), (1, true)] {
            let sources = moving(n, snaps);
            let mut engine = engine(precision);
            engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
            for time in [None, Some(3.0), Some(3.0 + 1.0 / 64.0), Some(2.99)] {
                let order = if snaps { Order::Snap } else { Order::Jerk };
                if n > 1 {
                    compare(&mut engine, &sources, time, order);
                }
            }
            // Evaluations for the same time give the same bits, whatever is evaluated in between.
            let block = Block::of(&sources, n.min(100), Some(3.01));
            let mut evaluate_twice = || {
                engine.interfaces().moving.unwrap().predict_to(Some(3.01));
                let first = answers_of(&mut engine, &block.sinks(), &outputs(Order::Jerk));
                engine.interfaces().moving.unwrap().predict_to(None);
                answers_of(&mut engine, &block.sinks(), &outputs(Order::Snap));
                first
            };
            assert_eq!(evaluate_twice().acceleration, evaluate_twice().acceleration);
        }
    }
}

/// Times that differ by little, or are large: their difference in f32 would be zero or wrong.
#[test]
fn prediction_is_exact_at_large_or_close_times() {
    for (begin, step) in
        [(1e6, 2f64.powi(-20)), (1.0 - 2f64.powi(-26), 2f64.powi(-24)), (-3e4, 1e-3)]
    {
        let mut sources = moving(300, true);
        for source in &mut sources {
            source.time = begin;
            // Within a step bodies move as far as they are apart, so the step must be exact.
            // Crackles are stored in f32.
            let mut factorial = 1.0;
            for (k, row) in source.motion.iter_mut().enumerate().skip(1) {
                factorial *= k as f64;
                let part = if k < 5 { 0.3 } else { 1e-5 } * factorial * step.powi(-(k as i32));
                *row = part * row.normalize_or_zero();
            }
        }
        for precision in tiers() {
            let mut engine = engine(precision);
            engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
            compare(&mut engine, &sources, Some(begin + step), Order::Acceleration);
        }
    }
}

#[test]
fn replaced_sources_update_the_frame() {
    for precision in tiers() {
        let mut sources = moving(400, false);
        let mut engine = engine(precision);
        engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
        compare(&mut engine, &sources, Some(3.01), Order::Jerk);
        let mut replace =
            |engine: &mut dyn ForceEngine, index: &[u32], by: &dyn Fn(&mut Moving)| {
                let changed: Vec<Moving> = index
                    .iter()
                    .map(|&j| {
                        by(&mut sources[j as usize]);
                        sources[j as usize]
                    })
                    .collect();
                engine.interfaces().moving.unwrap().update_moving(index, &changed).unwrap();
                compare(engine, &sources, Some(3.015), Order::Jerk);
            };
        replace(&mut engine, &[7], &|m| m.motion[0] += 0.1);
        // More than half, so all are uploaded; index 7 occurs twice.
        let most: Vec<u32> = (0..350).chain([7]).collect();
        replace(&mut engine, &most, &|m| m.time += 1.0 / 1024.0);
        // The first snap that is not zero.
        replace(&mut engine, &[3, 399], &|m| m.motion[4] = DVec3::splat(100.0));
        // Distant, heavy, fast: each changes the frame.
        replace(&mut engine, &[11], &|m| m.motion[0] = DVec3::new(300.0, -1e3, 40.0));
        replace(&mut engine, &[12], &|m| m.mass *= 1e4);
        replace(&mut engine, &[13], &|m| m.motion[1] *= 1e5);
        // All displaced, with a common velocity.
        let all: Vec<u32> = (0..400).collect();
        replace(&mut engine, &all, &|m| {
            m.motion[0] += DVec3::new(5e4, 1e4, 0.0);
            m.motion[1] += DVec3::new(0.0, 200.0, -100.0);
        });
    }
}

/// Stores announced sources in the engine's table.
pub fn store(engine: &mut dyn ForceEngine, placed: &ArrivalList) {
    let placed = placed.all();
    let table = engine.interfaces().moving.unwrap().table().unwrap();
    table.write().settle(&placed, &vec![0.0; placed.len()]);
}

/// Sources announced before an evaluation begins and stored after give the same bits as sources
/// replaced at once.
#[test]
fn announced_sources_give_same_bits_as_replaced() {
    for precision in tiers() {
        for snaps in [false, true] {
            let mut sources = moving(3000, snaps);
            let (mut first, mut second) = (engine(precision), engine(precision));
            first.interfaces().moving.unwrap().set_moving(&sources).unwrap();
            second.interfaces().moving.unwrap().set_moving(&sources).unwrap();
            let lists: [Vec<u32>; 6] = [
                (0..3000).step_by(7).collect(),
                (0..700).rev().collect(),
                // One index twice with different values; so many that all are uploaded; none.
                vec![5, 1, 2999, 5],
                (0..2000).collect(),
                Vec::new(),
                vec![17],
            ];
            for (turn, list) in lists.iter().enumerate() {
                let time = Some(3.01 + turn as f64 / 4096.0);
                let (mut placed, mut values) = (ArrivalList::default(), Vec::new());
                for (k, &at) in list.iter().enumerate() {
                    let moving = &mut sources[at as usize];
                    moving.time += 1.0 / 2048.0;
                    moving.motion[0] += DVec3::splat(1e-3 * (k + 1) as f64 / list.len() as f64);
                    // In the last turn, the first snap that is not zero.
                    moving.motion[4].x += if turn == 5 { 300.0 } else { 0.0 };
                    placed.push(Goal { at, tag: -1 }, moving);
                    values.push(*moving);
                }
                let block = Block::of(&sources, 90, time);
                let (mut at_once, mut announced) = (Forces::default(), Forces::default());
                let outputs = Outputs { distance: true, ..outputs(Order::Jerk) };
                first.interfaces().moving.unwrap().predict_to(time);
                first.interfaces().moving.unwrap().update_moving(list, &values).unwrap();
                first.evaluate(&block.sinks(), 0.0, &outputs, &mut at_once).unwrap();
                second.interfaces().moving.unwrap().predict_to(time);
                second.interfaces().moving.unwrap().announce(&placed.all()).unwrap();
                second.begin(&block.sinks(), 0.0, &outputs).unwrap();
                store(&mut second, &placed);
                second.finish(&mut announced).unwrap();
                assert_eq!(at_once.acceleration, announced.acceleration, "{turn}");
                assert_eq!(at_once.jerk, announced.jerk, "{turn}");
                assert_eq!(at_once.nearest_distance, announced.nearest_distance, "{turn}");
                compare(&mut second, &sources, time, Order::Jerk);
            }
            let mut wrong = ArrivalList::default();
            wrong.push(Goal { at: 3000, tag: 0 }, &Moving::default());
            let refused = second.interfaces().moving.unwrap().announce(&wrong.all());
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("below 3000"), "{text}");
        }
    }
}

#[test]
fn updates_between_begin_and_finish_keep_distances() {
    let mut engine = engine(Precision::DoubleSingle);
    let sources = moving(500, true);
    let time = Some(3.01);
    engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
    engine.interfaces().moving.unwrap().predict_to(time);
    let block = Block::of(&sources, 40, time);
    let radius = vec![0.4; 40];
    let within = Some(Within { radius: &radius, capacity: 500 });
    let outputs = Outputs { within, ..outputs(Order::Jerk) };
    let right = right(&sources, time, &block.sinks(), &outputs);
    engine.begin(&block.sinks(), 0.0, &outputs).unwrap();
    let moved: Vec<Moving> = (0..500).map(|_| Moving { mass: 1.0, ..Moving::default() }).collect();
    let index: Vec<u32> = (0..500).collect();
    engine.interfaces().moving.unwrap().update_moving(&index, &moved).unwrap();
    engine.interfaces().moving.unwrap().predict_to(None);
    let mut found = Forces::default();
    engine.finish(&mut found).unwrap();
    for i in 0..40 {
        assert!((found.nearest_distance[i] / right.nearest_distance[i] - 1.0).abs() < 1e-6);
        assert_eq!(found.neighbours.of(i), right.neighbours.of(i), "of sink {i}");
    }
}

#[test]
fn static_and_moving_sources_do_not_mix() {
    let mut engine = engine(Precision::DoubleSingle);
    let sources = moving(50, true);
    engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
    let bodies = TestBodies::new(80, 3);
    let text = engine.update_sources(&[0], &bodies.sources(1)).unwrap_err().to_string();
    assert!(text.contains("update_moving"), "{text}");
    engine.set_sources(&bodies.sources(80)).unwrap();
    assert_eq!(engine.source_count(), 80);
    let text = engine.interfaces().moving.unwrap().update_moving(&[0], &sources[..1]).unwrap_err();
    assert!(text.to_string().contains("update_sources"), "{text}");
    engine.interfaces().moving.unwrap().set_moving(&sources).unwrap();
    compare(&mut engine, &sources, Some(3.0), Order::Jerk);
    let text = engine.interfaces().moving.unwrap().update_moving(&[50], &sources[..1]).unwrap_err();
    assert!(text.to_string().contains("below 50"), "{text}");
    // A value out of range is refused with the index of the source; a later update restores the
    // engine.
    let mut wild = sources[3];
    wild.motion[5] = DVec3::splat(1e300);
    let text =
        engine.interfaces().moving.unwrap().update_moving(&[3], &[wild]).unwrap_err().to_string();
    assert!(text.contains("body 3") && text.contains("double-single"), "{text}");
    // Until then there are no forces, on other sinks either.
    let block = Block::of(&sources, 5, Some(3.0));
    let text = engine.begin(&block.sinks(), 0.0, &outputs(Order::Jerk)).unwrap_err().to_string();
    assert!(text.contains("body 3"), "{text}");
    engine.interfaces().moving.unwrap().update_moving(&[3], &sources[3..4]).unwrap();
    compare(&mut engine, &sources, Some(3.0), Order::Jerk);
}
