//! Forces with derivatives on the device: every tier and order against f64, and the self-test.

use crate::common;

mod moving;

use std::sync::Arc;

use glam::DVec3;
use gravitile::forces::direct::Reference;
use gravitile::forces::direct::gpu::tiers::{GpuTiers, Pairs, double_single, verdict};
use gravitile::forces::{
    ForceEngine, Forces, Identity, Order, Outputs, Precision, Sinks, Sources, TestBodies, Within,
};
use gravitile::measure::{check_direct, direct_cases};

/// Tiers that pass the self-test here; prints the reason for those that do not.
fn tiers() -> Vec<Precision> {
    let gpu = common::gpu();
    let holds = |precision: &Precision| match verdict(&gpu, *precision).unwrap() {
        Ok(pairs) => {
            println!("{} holds ({})", precision.name(), pairs.name());
            true
        }
        Err(reason) => {
            println!("{} does not hold: {reason}", precision.name());
            false
        }
    };
    Precision::ALL.map(|(precision, _)| precision).into_iter().filter(holds).collect()
}

#[test]
fn every_tier_and_order_agrees_with_f64() {
    let gpu = common::gpu();
    let tiers = tiers();
    assert!(tiers.contains(&Precision::DoubleSingle), "the tests' adapters have it");
    let cases = direct_cases(&tiers, true);
    let mut failures = Vec::new();
    for case in &cases {
        let begun = std::time::Instant::now();
        let row = check_direct(&gpu, *case).unwrap();
        if std::env::var_os("VERBOSE").is_some() {
            println!("{:.2} s {row:?}", begun.elapsed().as_secs_f64());
        }
        if !row.passed() {
            failures.push(format!("{row:?}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn self_test_refuses_arithmetic_without_fence() {
    let gpu = common::gpu();
    // Mesa's compiler folds the error term of a plain two-sum to 0; a driver that does not would
    // need no fence.
    if gpu.adapter.driver.contains("llvmpipe") {
        let reason = double_single(&gpu, false).unwrap().unwrap_err();
        println!("{reason}");
        assert!(reason.contains("lose their low part") && reason.contains("CPU engine"));
    }
}

#[test]
fn split_products_are_as_accurate_as_fma() {
    let gpu = common::gpu();
    let found = verdict(&gpu, Precision::DoubleSingle).unwrap().unwrap();
    let sources = TestBodies::new(600, 17);
    let mut right = Forces::default();
    let mut reference = Reference::default();
    reference.set_sources(&sources.sources(600)).unwrap();
    let sinks = sources.sinks(0..600, Identity::Offset(0));
    reference.evaluate(&sinks, 1e-4, &jerks(), &mut right).unwrap();
    // Where fma is rounded twice only split products are used.
    for fused in [false, found.fused] {
        let pairs = Pairs { fused, ..found };
        let mut engine = GpuTiers::unproven(Arc::clone(&gpu), Precision::DoubleSingle, pairs);
        engine.set_sources(&sources.sources(600)).unwrap();
        let mut answers = Forces::default();
        engine.evaluate(&sinks, 1e-4, &jerks(), &mut answers).unwrap();
        for (what, found, right) in [
            ("acceleration", &answers.acceleration, &right.acceleration),
            ("jerk", &answers.jerk, &right.jerk),
        ] {
            let errors = found.iter().zip(right).map(|(a, b)| (*a - *b).length() / b.length());
            let worst = errors.fold(0.0, f64::max);
            println!("{what} {worst:.1e}, fused {fused}");
            assert!(worst < 1e-10, "{what} is off by {worst:.1e}, fused {fused}");
        }
    }
}

fn engine(precision: Precision) -> GpuTiers {
    GpuTiers::new(common::gpu(), precision).unwrap()
}

fn jerks() -> Outputs<'static> {
    Outputs { potential: true, nearest: true, ..Outputs::only(Order::Jerk) }
}

fn answers_of(engine: &mut dyn ForceEngine, sinks: &Sinks, outputs: &Outputs) -> Forces {
    let mut answers = Forces::default();
    engine.evaluate(sinks, 0.0, outputs, &mut answers).unwrap();
    answers
}

/// Snaps of a self-gravitating cloud with its own accelerations, by `engine` and by the reference.
fn snaps(engine: &mut dyn ForceEngine, cloud: &TestBodies, sinks: usize) -> (Forces, Forces) {
    let mut cloud = cloud.clone();
    let n = cloud.len();
    let mut reference = Reference::default();
    reference.set_sources(&cloud.sources(n)).unwrap();
    let all = cloud.sinks(0..n, Identity::Offset(0));
    let pulls = answers_of(&mut reference, &all, &Outputs::only(Order::Acceleration)).acceleration;
    cloud.acceleration = pulls;
    let outputs = Outputs { potential: true, ..Outputs::only(Order::Snap) };
    let both = [&mut reference as &mut dyn ForceEngine, engine].map(|engine| {
        engine.set_sources(&cloud.sources(n)).unwrap();
        answers_of(engine, &cloud.sinks(0..sinks, Identity::Offset(0)), &outputs)
    });
    let [right, found] = both;
    (found, right)
}

/// The acceleration by such a pair is 1e18, and its second derivative 1e27 times that, which
/// overflows f32 without scaling.
#[test]
fn derivatives_of_very_close_pairs_are_right() {
    // With a number of bodies that is refined, and with one beyond.
    for n in [200, 4300] {
        for apart in [1e-9, 1e-11] {
            let mut cloud = TestBodies::default();
            let bodies = TestBodies::new(n, 11);
            for i in 4..n {
                let (x, v, m) = (bodies.position[i], bodies.velocity[i], bodies.mass[i]);
                cloud.push(x, v, DVec3::ZERO, m);
                if i % 40 == 0 {
                    let neighbour = x + apart * bodies.velocity[i - 1].normalize();
                    cloud.push(neighbour, bodies.velocity[i - 1], DVec3::ZERO, m);
                }
            }
            let (found, right) = snaps(&mut engine(Precision::DoubleSingle), &cloud, 150);
            // Pairs of f32 resolve positions to about 1e-15 of the extent, which is 4 here; the
            // terms of a snap cancel.
            let limit = (2e-13 / apart).max(1e-5);
            for (what, found, right) in [
                ("acceleration", &found.acceleration, &right.acceleration),
                ("jerk", &found.jerk, &right.jerk),
                ("snap", &found.snap, &right.snap),
            ] {
                // For other sinks the huge snaps by the two bodies of a pair nearly cancel, and f32
                // retains no correct digits.
                let largest = right.iter().map(|b| b.length()).fold(0.0, f64::max);
                let counts = |b: &DVec3| n < 4096 || b.length() > 1e-3 * largest;
                let both = found.iter().zip(right).filter(|(_, right)| counts(right));
                let errors = both.map(|(a, b)| (*a - *b).length() / b.length());
                let worst = errors.fold(0.0, |worst: f64, e| if e <= worst { worst } else { e });
                println!("{n} bodies, pairs {apart:e} apart: {what} {worst:.1e}");
                assert!(worst < limit, "{n} bodies, {apart:e} apart: {what} {worst:e}");
            }
        }
    }
}

/// An update moves one source close to another.
#[test]
fn pair_made_close_by_update_is_right() {
    let mut cloud = TestBodies::new(300, 13);
    let mut engine = engine(Precision::DoubleSingle);
    engine.set_sources(&cloud.sources(300)).unwrap();
    cloud.position[200] = cloud.position[100] + DVec3::new(1e-9, 0.0, 0.0);
    let towards = DVec3::new(1e15, 0.0, 0.0);
    (cloud.acceleration[100], cloud.acceleration[200]) = (towards, -towards);
    let pick = |from: &[DVec3]| [from[100], from[200]];
    let changed = Sources {
        position: &pick(&cloud.position),
        velocity: &pick(&cloud.velocity),
        acceleration: &pick(&cloud.acceleration),
        mass: &[cloud.mass[100], cloud.mass[200]],
    };
    engine.update_sources(&[100, 200], &changed).unwrap();
    let mut reference = Reference::default();
    reference.set_sources(&cloud.sources(300)).unwrap();
    let sinks = cloud.sinks(0..300, Identity::Offset(0));
    let outputs = Outputs::only(Order::Snap);
    let [found, right] = [&mut engine as &mut dyn ForceEngine, &mut reference]
        .map(|engine| answers_of(engine, &sinks, &outputs).snap);
    for i in 0..300 {
        let off = (found[i] - right[i]).length() / right[i].length();
        assert!(off < 3e-5, "{i}: {off:e}");
    }
}

/// Clumps of very different sizes: most nearest neighbours are closer than the spacing of f32
/// positions.
fn clumps(n: usize) -> TestBodies {
    let (random, mut cloud) = (TestBodies::new(2 * n, 23), TestBodies::default());
    for i in 0..n {
        let centre = random.position[n + i / 50];
        let size = 10f64.powf(-1.0 - (i / 50 % 9) as f64 / 2.0);
        let place = centre + size * random.velocity[i];
        cloud.push(place, DVec3::ZERO, DVec3::ZERO, 1.0 / n as f64);
    }
    cloud
}

#[test]
fn neighbours_in_clumps_match_f64() {
    let n = 5000;
    let cloud = clumps(n);
    let radius: Vec<f64> =
        (0..n).map(|i| 3.0 * 10f64.powf(-1.0 - (i / 50 % 9) as f64 / 2.0)).collect();
    let mut reference = Reference::default();
    let within = Some(Within { radius: &radius, capacity: 200 });
    let outputs = Outputs { nearest: true, within, ..Outputs::only(Order::Acceleration) };
    reference.set_sources(&cloud.sources(n)).unwrap();
    let sinks = cloud.sinks(0..n, Identity::Offset(0));
    let right = answers_of(&mut reference, &sinks, &outputs);
    for precision in tiers() {
        let mut engine = engine(precision);
        engine.set_sources(&cloud.sources(n)).unwrap();
        let found = answers_of(&mut engine, &sinks, &outputs);
        let wrong = |i: &usize| found.nearest[*i] != right.nearest[*i];
        let wrong: Vec<usize> = (0..n).filter(wrong).collect();
        assert!(wrong.is_empty(), "{}: nearest of {wrong:?}", precision.name());
        assert_eq!(found.nearest_distance, right.nearest_distance);
        for i in 0..n {
            let (found, right) = (&found.neighbours, &right.neighbours);
            assert_eq!(found.found(i), right.found(i), "{} {i}", precision.name());
            if !right.overflowed(i) {
                assert_eq!(found.of(i), right.of(i), "{} {i}", precision.name());
            }
        }
        assert!((0..n).map(|i| right.neighbours.of(i).len()).sum::<usize>() > 20 * n);
    }
}

#[test]
fn partial_and_full_source_updates_give_same_bits() {
    let old = TestBodies::new(500, 1);
    let new = TestBodies::new(500, 2);
    let sinks = TestBodies::new(20, 3);
    let mut reference = Reference::default();
    for precision in [Precision::Single, Precision::DoubleSingle] {
        let (mut few, mut all) = (engine(precision), engine(precision));
        for engine in [&mut few, &mut all] {
            engine.set_sources(&old.sources(old.len())).unwrap();
            answers_of(engine, &sinks.sinks(0..sinks.len(), Identity::Foreign), &jerks());
        }
        let index = [499u32, 3, 77, 250];
        let pick = |from: &[DVec3]| index.map(|j| from[j as usize]);
        let [position, velocity, acceleration] =
            [&new.position, &new.velocity, &new.acceleration].map(|v| pick(v));
        let mass = [0.5; 4];
        let changes = |k: std::ops::Range<usize>| Sources {
            position: &position[k.clone()],
            velocity: &velocity[k.clone()],
            acceleration: &acceleration[k.clone()],
            mass: &mass[k],
        };
        // The first index is updated twice: the second value wins.
        few.update_sources(&index[..1], &changes(1..2)).unwrap();
        few.update_sources(&index[..2], &changes(0..2)).unwrap();
        few.update_sources(&index[2..], &changes(2..4)).unwrap();
        let mut whole = TestBodies::new(500, 1);
        for (k, &j) in index.iter().enumerate() {
            let j = j as usize;
            (whole.position[j], whole.velocity[j], whole.acceleration[j]) =
                (position[k], velocity[k], acceleration[k]);
            whole.mass[j] = mass[k];
        }
        let every: Vec<u32> = (0..500).collect();
        all.update_sources(&every, &whole.sources(whole.len())).unwrap();
        let one = answers_of(&mut few, &sinks.sinks(0..sinks.len(), Identity::Foreign), &jerks());
        let other = answers_of(&mut all, &sinks.sinks(0..sinks.len(), Identity::Foreign), &jerks());
        assert_eq!(one, other);
        reference.set_sources(&whole.sources(whole.len())).unwrap();
        let right =
            answers_of(&mut reference, &sinks.sinks(0..sinks.len(), Identity::Foreign), &jerks());
        for (found, right) in one.jerk.iter().zip(&right.jerk) {
            assert!((*found - *right).length() < 1e-4 * right.length(), "{found} {right}");
        }
        assert_eq!(one.nearest, right.nearest);
    }
    let mut double = engine(Precision::DoubleSingle);
    double.set_sources(&old.sources(old.len())).unwrap();
    let bad = double.update_sources(&[500], &TestBodies::new(1, 1).sources(1));
    assert!(bad.unwrap_err().to_string().contains("below 500"));
}

#[test]
fn updates_after_begin_affect_next_evaluation_only() {
    let (old, new) = (TestBodies::new(300, 4), TestBodies::new(300, 5));
    let mut engine = engine(Precision::DoubleSingle);
    engine.set_sources(&old.sources(old.len())).unwrap();
    let sinks = old.sinks(0..old.len(), Identity::Offset(0));
    let before = answers_of(&mut engine, &sinks, &jerks());
    engine.begin(&sinks, 0.0, &jerks()).unwrap();
    engine.update_sources(&(0..300).collect::<Vec<_>>(), &new.sources(new.len())).unwrap();
    let mut found = Forces::default();
    engine.finish(&mut found).unwrap();
    assert_eq!(found, before);
    let after = answers_of(&mut engine, &sinks, &jerks());
    assert_ne!(after.acceleration, before.acceleration);
    engine.set_sources(&old.sources(old.len())).unwrap();
    engine.begin(&sinks, 0.0, &jerks()).unwrap();
    engine.set_sources(&new.sources(new.len())).unwrap();
    engine.finish(&mut found).unwrap();
    assert_eq!(found, before);
    // An evaluation whose answers were never fetched does not disturb the next.
    engine.set_sources(&old.sources(old.len())).unwrap();
    engine.begin(&new.sinks(0..new.len(), Identity::Foreign), 0.0, &jerks()).unwrap();
    assert_eq!(answers_of(&mut engine, &sinks, &jerks()), before);
    engine.finish(&mut found).unwrap();
    assert_eq!(found.acceleration.len(), 0);
}

/// With many sinks, some are computed while the host prepares the others.
#[test]
fn overlapped_sink_upload_gives_same_bits() {
    let cloud = TestBodies::new(2500, 4);
    let sinks = cloud.sinks(0..2500, Identity::Foreign);
    for precision in tiers() {
        let found = [1e15, 1e6].map(|rate| {
            let mut engine = engine(precision).with_rate(rate);
            engine.set_sources(&cloud.sources(300)).unwrap();
            answers_of(&mut engine, &sinks, &jerks())
        });
        assert_eq!(found[0], found[1], "{}", precision.name());
    }
}

#[test]
fn overflowing_list_is_flagged_and_still_counted() {
    let cloud = TestBodies::new(400, 6);
    let sinks = cloud.sinks(0..cloud.len(), Identity::Offset(0));
    let mut radius = vec![10.0; 400];
    radius[7] = 0.0;
    for (precision, _) in Precision::ALL.iter().filter(|(p, _)| tiers().contains(p)) {
        let mut engine = engine(*precision);
        engine.set_sources(&cloud.sources(cloud.len())).unwrap();
        for capacity in [0, 5, 399, 1000] {
            let within = Some(Within { radius: &radius, capacity });
            let outputs = Outputs { within, ..Outputs::only(Order::Acceleration) };
            let found = answers_of(&mut engine, &sinks, &outputs).neighbours;
            for i in 0..400 {
                let all = if i == 7 { 0 } else { 399 };
                assert_eq!((found.found(i), found.of(i).len()), (all, all.min(capacity)));
                assert_eq!(found.overflowed(i), all > capacity);
                assert!(!found.of(i).contains(&(i as u32)));
            }
        }
    }
}

#[test]
fn empty_and_invalid_bodies_are_handled() {
    let cloud = TestBodies::new(10, 7);
    let none = TestBodies::new(0, 7);
    let mut single = engine(Precision::Single);
    let radius = [1.0; 10];
    let outputs = Outputs { within: Some(Within { radius: &radius, capacity: 3 }), ..jerks() };
    let alone = answers_of(&mut single, &cloud.sinks(0..cloud.len(), Identity::Foreign), &outputs);
    assert_eq!(alone.jerk, [DVec3::ZERO; 10]);
    assert_eq!((alone.nearest[3], alone.nearest_distance[3]), (u32::MAX, f64::INFINITY));
    assert_eq!((alone.neighbours.len(), alone.neighbours.found(9)), (10, 0));
    single.set_sources(&cloud.sources(cloud.len())).unwrap();
    assert!(
        answers_of(&mut single, &none.sinks(0..none.len(), Identity::Foreign), &jerks())
            .acceleration
            .is_empty()
    );

    let mut far = TestBodies::new(10, 7);
    far.velocity[4].y = f64::NAN;
    let error = single.set_sources(&far.sources(far.len())).unwrap_err().to_string();
    assert!(error.contains("body 4") && error.contains("'single'"), "{error}");
    assert_eq!(single.source_count(), 0);
    single.set_sources(&cloud.sources(cloud.len())).unwrap();
    let mut answers = Forces::default();
    let error =
        single.evaluate(&far.sinks(0..far.len(), Identity::Foreign), 0.0, &jerks(), &mut answers);
    assert!(error.unwrap_err().to_string().contains("as a sink"));
    let error = single.evaluate(
        &cloud.sinks(0..cloud.len(), Identity::Foreign),
        -1.0,
        &jerks(),
        &mut answers,
    );
    assert!(error.unwrap_err().to_string().contains("eps"));
    // The engine remains usable.
    assert_eq!(
        answers_of(&mut single, &cloud.sinks(0..cloud.len(), Identity::Offset(0)), &jerks())
            .jerk
            .len(),
        10
    );
}

#[test]
fn double_is_refused_without_f64_in_shaders() {
    let modest = common::baseline();
    let error = GpuTiers::new(Arc::clone(&modest), Precision::Double).err().unwrap().to_string();
    assert!(error.contains("no f64 in shaders") && error.contains("--engine cpu"), "{error}");
    // Double-single needs nothing beyond the baseline.
    GpuTiers::new(modest, Precision::DoubleSingle).unwrap();
}
