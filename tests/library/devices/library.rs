//! Forces with derivatives on several devices, as the C library uses them: same bits as on one.

use glam::DVec3;
use gravitile::forces::direct::{GpuTiers, SeveralTiers};
use gravitile::forces::{
    ForceEngine, Forces, Identity, Moving, Order, Outputs, Precision, Sinks, Sources, TestBodies,
    Within,
};

use super::{common, devices};

/// All outputs, for all sources as sinks and for subsets.
fn answers(engine: &mut dyn ForceEngine, bodies: &TestBodies, lists: bool) -> Vec<Forces> {
    let n = bodies.position.len();
    let radius = vec![0.2; n];
    [n, 150, 1, 0]
        .map(|count| {
            let mut sinks = Sinks::new(&bodies.position[..count], Identity::Offset(0));
            sinks.velocity = &bodies.velocity[..count];
            let within = Within { radius: &radius[..count], capacity: 40 };
            let outputs = Outputs {
                potential: true,
                nearest: true,
                within: lists.then_some(within),
                ..Outputs::only(Order::Jerk)
            };
            let mut out = Forces::default();
            engine.evaluate(&sinks, 0.01, &outputs, &mut out).unwrap();
            out
        })
        .into()
}

fn moving(bodies: &TestBodies, at: f64) -> Vec<Moving> {
    let zero = DVec3::ZERO;
    let both = bodies.position.iter().zip(&bodies.velocity).zip(&bodies.mass);
    both.map(|((x, v), mass)| Moving {
        time: at,
        mass: *mass,
        motion: [*x, *v, -*x, zero, zero, zero],
    })
    .collect()
}

/// Forces for static sources, after an update, and for moving sources.
fn all_answers(engine: &mut dyn ForceEngine, bodies: &TestBodies) -> Vec<Forces> {
    let mut sources = Sources::new(&bodies.position, &bodies.mass);
    sources.velocity = &bodies.velocity;
    engine.set_sources(&sources).unwrap();
    let mut all = answers(engine, bodies, true);
    let (position, mass) = ([DVec3::new(0.1, 0.2, 0.3)], [0.5]);
    let mut one = Sources::new(&position, &mass);
    one.velocity = &bodies.velocity[..1];
    engine.update_sources(&[7], &one).unwrap();
    all.extend(answers(engine, bodies, false));
    let movers = engine.interfaces().moving.unwrap();
    movers.set_moving(&moving(bodies, 0.0)).unwrap();
    movers.update_moving(&[3], &moving(bodies, 0.25)[9..10]).unwrap();
    movers.predict_to(Some(0.5));
    all.extend(answers(engine, bodies, false));
    all
}

#[test]
fn c_library_forces_do_not_depend_on_device_count() {
    let bodies = TestBodies::new(600, 3);
    for precision in [Precision::DoubleSingle, Precision::Double] {
        if !common::tiers().contains(&precision) {
            common::skip::skipped("forces on several devices", precision.name());
            continue;
        }
        let mut one = GpuTiers::new(devices(1).remove(0), precision).unwrap();
        let one = all_answers(&mut one, &bodies);
        for count in [2, 3] {
            let mut several = SeveralTiers::new(&devices(count), precision).unwrap();
            assert!(all_answers(&mut several, &bodies) == one, "{count} devices, {precision:?}");
            assert!(several.describe().contains(" + "), "{}", several.describe());
        }
    }
    assert!(SeveralTiers::new(&[], Precision::Double).is_err());
}
