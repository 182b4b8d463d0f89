mod moving;

use glam::DVec3;

use super::{CpuDouble, InstructionSet};
use crate::forces::direct::Reference;
use crate::forces::{
    ForceEngine, Forces, Identity, Order, Outputs, Sinks, Sources, TestBodies, Within,
};

/// Bodies in random places, two of them very close together.
fn bodies_of(n: usize) -> TestBodies {
    let mut bodies = TestBodies::new(n, 0x9e37);
    if n > 4 {
        bodies.position[4] = bodies.position[2] + DVec3::splat(1e-7);
    }
    bodies
}

fn answer(engine: &mut dyn ForceEngine, sinks: &Sinks, eps: f64, outputs: &Outputs) -> Forces {
    let mut out = Forces::default();
    engine.evaluate(sinks, eps, outputs, &mut out).unwrap();
    out
}

/// Largest |a - b| / |b|.
fn worst(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    let error = |(a, b): (&DVec3, &DVec3)| (*a - *b).length() / (b.length() + 1e-300);
    a.iter().zip(b).map(error).fold(0.0, f64::max)
}

/// Asserts that all results in `found` agree with `right`.
fn agree(found: &Forces, right: &Forces, what: &str) {
    // A sum of n terms that cancel loses about sqrt(n) units in the last place, and the snap of a
    // close pair is a difference of large terms.
    assert!(worst(&found.acceleration, &right.acceleration) < 1e-12, "{what}: acceleration");
    assert!(worst(&found.jerk, &right.jerk) < 1e-11, "{what}: jerk");
    assert!(worst(&found.snap, &right.snap) < 1e-10, "{what}: snap");
    assert_eq!(found.potential.len(), right.potential.len());
    for (a, b) in found.potential.iter().zip(&right.potential) {
        assert!((a - b).abs() <= 1e-13 * b.abs(), "{what}: potential {a} instead of {b}");
    }
    assert_eq!(found.nearest, right.nearest, "{what}");
    for (a, b) in found.nearest_distance.iter().zip(&right.nearest_distance) {
        assert!(a == b || (a - b).abs() <= 1e-14 * b, "{what}: nearest at {a} instead of {b}");
    }
    assert_eq!(found.neighbours, right.neighbours, "{what}");
}

#[test]
fn every_kernel_agrees_with_the_reference() {
    for n in [1, 2, 7, 8, 9, 65, 1000] {
        let bodies = bodies_of(n);
        let radius = vec![0.3; n];
        let mut right = Reference::default();
        right.set_sources(&bodies.sources(bodies.len())).unwrap();
        for kernel in InstructionSet::available() {
            let mut engine = CpuDouble::with_kernel(kernel).unwrap();
            engine.set_sources(&bodies.sources(bodies.len())).unwrap();
            for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
                for eps in [0.0, 0.01] {
                    let outputs = Outputs {
                        order,
                        potential: true,
                        nearest: true,
                        distance: true,
                        within: Some(Within { radius: &radius, capacity: 5 }),
                    };
                    let requests = [
                        Outputs::only(order),
                        Outputs { within: None, nearest: false, ..outputs },
                        outputs,
                    ];
                    for outputs in requests {
                        let few = 0..n.min(3);
                        let index = [u32::MAX, 1, 0];
                        for sinks in [
                            bodies.sinks(0..n, Identity::Offset(0)),
                            bodies.sinks(n / 2..n, Identity::Offset(n / 2)),
                            bodies.sinks(few.clone(), Identity::Foreign),
                            bodies.sinks(few.clone(), Identity::Each(&index[..few.len()])),
                        ] {
                            let within = outputs.within.map(|within| Within {
                                radius: &within.radius[..sinks.position.len()],
                                ..within
                            });
                            let outputs = Outputs { within, ..outputs };
                            let found = answer(&mut engine, &sinks, eps, &outputs);
                            let expected = answer(&mut right, &sinks, eps, &outputs);
                            let what = format!("{}, {n} sources, {outputs:?}", kernel.name());
                            agree(&found, &expected, &what);
                        }
                    }
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "jerk")]
fn comparison_detects_wrong_jerk() {
    let bodies = bodies_of(10);
    let mut engine = Reference::default();
    engine.set_sources(&bodies.sources(bodies.len())).unwrap();
    let outputs = Outputs::only(Order::Jerk);
    let right = answer(&mut engine, &bodies.sinks(0..10, Identity::Offset(0)), 0.1, &outputs);
    let mut wrong = right.clone();
    wrong.jerk[7].y *= 1.0 + 1e-9;
    agree(&wrong, &right, "wrong");
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let bodies = bodies_of(3000);
    for kernel in InstructionSet::available() {
        for sinks in [1, 5, 300] {
            let of = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut engine = CpuDouble::with_kernel(kernel).unwrap();
                    engine.set_sources(&bodies.sources(bodies.len())).unwrap();
                    let sinks = bodies.sinks(0..sinks, Identity::Offset(0));
                    answer(&mut engine, &sinks, 0.01, &Outputs::only(Order::Snap))
                })
            };
            assert_eq!(of(1), of(7), "{}", kernel.name());
        }
    }
}

#[test]
fn update_changes_only_given_sources() {
    let (bodies, mut other) = (bodies_of(100), bodies_of(100));
    let index = [3u32, 99, 50];
    let moved: Vec<DVec3> = index.iter().map(|&j| DVec3::splat(f64::from(j) * 0.1)).collect();
    let few = Sources {
        position: &moved,
        velocity: &moved,
        acceleration: &moved,
        mass: &[5.0, 6.0, 7.0],
    };
    for (k, j) in index.iter().map(|&j| j as usize).enumerate() {
        (other.position[j], other.velocity[j], other.acceleration[j]) =
            (moved[k], moved[k], moved[k]);
        other.mass[j] = few.mass[k];
    }
    let engines: [(Box<dyn ForceEngine>, Box<dyn ForceEngine>); 2] = [
        (Box::new(CpuDouble::new()), Box::new(CpuDouble::new())),
        (Box::new(Reference::default()), Box::new(Reference::default())),
    ];
    for (mut updated, mut whole) in engines {
        updated.set_sources(&bodies.sources(bodies.len())).unwrap();
        updated.update_sources(&index, &few).unwrap();
        whole.set_sources(&other.sources(other.len())).unwrap();
        let sinks = bodies.sinks(0..20, Identity::Foreign);
        let outputs = Outputs { potential: true, ..Outputs::only(Order::Snap) };
        let before = answer(whole.as_mut(), &sinks, 0.1, &outputs);
        assert_eq!(answer(updated.as_mut(), &sinks, 0.1, &outputs), before);
        let text = updated.update_sources(
            &[100],
            &Sources { position: &moved[..1], velocity: &[], acceleration: &[], mass: &[1.0] },
        );
        assert!(text.unwrap_err().to_string().contains("index is 100, but must be below 100"));
    }
}

#[test]
fn missing_or_out_of_range_inputs_are_named() {
    let bodies = bodies_of(10);
    let engines: [Box<dyn ForceEngine>; 2] =
        [Box::new(CpuDouble::new()), Box::new(Reference::default())];
    for mut engine in engines {
        let mut refuse = |sinks: Sinks, eps: f64, outputs: Outputs, words: &str| {
            let text = engine.begin(&sinks, eps, &outputs).unwrap_err().to_string();
            assert!(text.contains(words), "'{text}' should say '{words}'");
        };
        let all = bodies.sinks(0..10, Identity::Offset(0));
        let jerk = Outputs::only(Order::Jerk);
        refuse(all, -1.0, jerk, "eps is -1");
        refuse(Sinks { velocity: &[], ..all }, 0.0, jerk, "sink velocities is 0, but must be 10");
        refuse(Sinks { identity: Identity::Each(&[1]), ..all }, 0.0, jerk, "identities is 1");
        let within = |radius| Outputs { within: Some(Within { radius, capacity: 1 }), ..jerk };
        refuse(all, 0.0, within(&[1.0; 9]), "radii is 9");
        refuse(all, 0.0, within(&[-0.5; 10]), "neighbour radius is -0.5, but must be finite");
        let sources = Sources { acceleration: &[], ..bodies.sources(bodies.len()) };
        engine.set_sources(&sources).unwrap();
        let text = engine.begin(&all, 0.0, &Outputs::only(Order::Snap)).unwrap_err().to_string();
        assert!(text.contains("source accelerations is 0, but must be 10"), "{text}");
        let text = engine.set_sources(&Sources { mass: &[], ..sources }).unwrap_err().to_string();
        assert!(text.contains("source masses is 0, but must be 10"), "{text}");
    }
}
