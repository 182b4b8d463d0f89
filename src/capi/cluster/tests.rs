mod threads;

use super::*;
use gravitile::forces::direct::Reference;
use gravitile::forces::{Moving, TestBodies};

const EPS2: f64 = 1e-4;

fn cluster(bodies: &TestBodies, order: Order, index_of: impl Fn(usize) -> i32) -> Cluster {
    let mut cluster = Cluster::new(Box::new(Reference::default()), order);
    for k in 0..bodies.len() {
        let (x, v, a) = (bodies.position[k], bodies.velocity[k], bodies.acceleration[k]);
        let motion = [x, v, a, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        let moving = Moving { time: 0.0, mass: bodies.mass[k], motion };
        let particle = Particle { index: index_of(k), moving, ..Particle::default() };
        cluster.memory.set(k as i32, &particle).unwrap();
    }
    cluster
}

fn call(bodies: &TestBodies, index_of: impl Fn(usize) -> i32) -> Call<'static> {
    Call {
        addresses: bodies.len(),
        position: Cow::Owned(bodies.position.clone()),
        velocity: Cow::Owned(bodies.velocity.clone()),
        acceleration: Cow::Owned(bodies.acceleration.clone()),
        index: (0..bodies.len()).map(index_of).collect(),
        softening_squared: EPS2,
        radius_squared: vec![0.04; bodies.len()].into(),
    }
}

/// Forces of the engine alone, where sink `k` is source `k`.
fn expected(bodies: &TestBodies, order: Order, capacity: usize) -> Forces {
    let mut engine = Reference::default();
    engine.set_sources(&bodies.sources(bodies.len())).unwrap();
    let radius = vec![0.2; bodies.len()];
    let within = Some(Within { radius: &radius, capacity });
    let outputs = Outputs { order, potential: true, nearest: true, distance: true, within };
    let mut out = Forces::default();
    let sinks = Sinks {
        position: &bodies.position,
        velocity: &bodies.velocity,
        acceleration: &bodies.acceleration,
        identity: Identity::Offset(0),
        only: None,
    };
    engine.evaluate(&sinks, EPS2.sqrt(), &outputs, &mut out).unwrap();
    out
}

#[test]
fn results_use_client_indices() {
    let bodies = TestBodies::new(60, 3);
    let index_of = |k: usize| 1000 - 7 * k as i32;
    let expected = expected(&bodies, Order::Snap, 100);
    let mut cluster = cluster(&bodies, Order::Snap, index_of);
    // In the second round the lists are computed with the forces.
    for round in 0..2 {
        cluster.begin(&call(&bodies, index_of)).unwrap();
        assert_eq!(cluster.calls.all[0].with_lists, round == 1);
        let BoardForces { results: got, nearest } =
            cluster.finish(60, Requested::Distance).unwrap();
        assert_eq!((&got.jerk, &got.snap), (&expected.jerk, &expected.snap));
        let nearest = nearest.to_vec();
        assert!(!cluster.read_lists().unwrap());
        for (i, nearest) in nearest.into_iter().enumerate() {
            assert_eq!(nearest, index_of(expected.nearest[i] as usize));
            let list: Vec<i32> =
                expected.neighbours.of(i).iter().map(|&j| index_of(j as usize)).collect();
            assert_eq!(cluster.list(i as i32).unwrap(), (list, expected.neighbours.found(i)));
        }
    }
    assert!(expected.neighbours.found(0) > 0, "the test needs neighbours");
}

#[test]
fn long_lists_are_recomputed_with_larger_capacity() {
    let bodies = TestBodies::new(600, 5);
    let index_of = |k: usize| k as i32;
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    for _ in 0..2 {
        let call = Call { radius_squared: vec![100.0; 600].into(), ..call(&bodies, index_of) };
        cluster.begin(&call).unwrap();
        cluster.finish(600, Requested::Distance).unwrap();
        assert!(!cluster.read_lists().unwrap());
        assert_eq!(cluster.list(17).unwrap().1, 599);
    }
}

#[test]
fn all_particles_of_same_index_are_excluded() {
    let bodies = TestBodies::new(40, 9);
    // 0, 10 and 30 share an index, and so do 5 and 6.
    let index_of = |k: usize| match k {
        10 | 30 => 0,
        6 => 5,
        k => k as i32,
    };
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    for _ in 0..2 {
        cluster.begin(&call(&bodies, index_of)).unwrap();
        let BoardForces { results: got, nearest } =
            cluster.finish(40, Requested::Distance).unwrap();
        let (got, nearest) = (got.clone(), nearest.to_vec());
        cluster.read_lists().unwrap();
        for i in [0, 5, 7, 10, 30] {
            let others: Vec<usize> = (0..40).filter(|&j| index_of(j) != index_of(i)).collect();
            let mut potential = 0.0;
            let mut near = (f64::INFINITY, 0);
            let mut list = Vec::new();
            for &j in &others {
                let r2 = (bodies.position[j] - bodies.position[i]).length_squared();
                potential -= bodies.mass[j] / (r2 + EPS2).sqrt();
                if r2 < near.0 {
                    near = (r2, index_of(j));
                }
                if r2 <= 0.04 {
                    list.push(index_of(j));
                }
            }
            assert!((got.potential[i] - potential).abs() < 1e-13, "{i}");
            assert_eq!((nearest[i], cluster.list(i as i32).unwrap().0), (near.1, list));
        }
    }
}

#[test]
fn calls_out_of_order_are_rejected() {
    let bodies = TestBodies::new(10, 1);
    let index_of = |k: usize| k as i32;
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    assert!(
        cluster.finish(10, Requested::Distance).is_err()
            && cluster.read_lists().is_err()
            && cluster.list(0).is_err()
    );
    cluster.begin(&call(&bodies, index_of)).unwrap();
    assert!(cluster.read_lists().is_err());
    // A second first half replaces the first.
    cluster.begin(&call(&bodies, index_of)).unwrap();
    assert!(cluster.finish(9, Requested::Distance).unwrap_err().to_string().contains("ni"));
    cluster.finish(10, Requested::Distance).unwrap();
    assert!(cluster.finish(10, Requested::Distance).is_err() && cluster.list(0).is_err());
    cluster.read_lists().unwrap();
    assert!(cluster.list(10).is_err() && cluster.list(-1).is_err() && cluster.list(9).is_ok());
    cluster.reset();
    assert!(cluster.read_lists().is_err());
}

#[test]
fn errors_name_values_that_are_not_finite() {
    let bodies = TestBodies::new(10, 1);
    let index_of = |k: usize| k as i32 + 70;
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    let mut broken = call(&bodies, index_of);
    broken.velocity.to_mut()[4].z = f64::NAN;
    let text = cluster.begin(&broken).unwrap_err().to_string();
    assert!(text.contains("velocity of i-particle 4 (index 74)"), "{text}");
    for eps2 in [-1.0, f64::NAN] {
        let text = cluster.begin(&Call { softening_squared: eps2, ..call(&bodies, index_of) });
        assert!(text.unwrap_err().to_string().contains("eps2"));
    }
    // Radii are checked only when lists are read.
    let odd = Call { radius_squared: vec![f64::NAN; 10].into(), ..call(&bodies, index_of) };
    cluster.begin(&odd).unwrap();
    cluster.finish(10, Requested::Distance).unwrap();
    let text = cluster.read_lists().unwrap_err().to_string();
    assert!(text.contains("h2 of i-particle 0"), "{text}");
    cluster.begin(&Call { radius_squared: Cow::default(), ..call(&bodies, index_of) }).unwrap();
    cluster.finish(10, Requested::Distance).unwrap();
    assert!(cluster.read_lists().unwrap_err().to_string().contains("h2"));
    // No sources, no i-particles.
    cluster.begin(&Call { addresses: 0, ..call(&bodies, index_of) }).unwrap();
    let BoardForces { results: got, nearest } = cluster.finish(10, Requested::Distance).unwrap();
    assert_eq!((&got.acceleration[..], nearest[3]), (&[DVec3::ZERO; 10][..], -1));
    cluster.begin(&Call { addresses: 10, softening_squared: 0.0, ..Call::default() }).unwrap();
    assert!(cluster.finish(0, Requested::Distance).unwrap().results.acceleration.is_empty());
}
