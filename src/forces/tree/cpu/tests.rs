//! Forces of the tree against direct summation in f64.

use glam::DVec3;

use super::*;
use crate::forces::direct::CpuDouble;
use crate::forces::test_bodies::Random;
use crate::forces::tree::{MultipoleOrder, Opening};
use crate::forces::{ForceEngine, Identity, TestBodies};

const QUADRUPOLE: MultipoleOrder = MultipoleOrder::Quadrupole;

fn config(opening: Opening) -> TreeConfig {
    TreeConfig { opening, moments: QUADRUPOLE, ..TreeConfig::default() }
}

/// A Plummer sphere of `n` bodies without its outermost ones.
fn plummer(n: usize, seed: u64) -> TestBodies {
    let mut random = Random(seed);
    let mut bodies = TestBodies::default();
    while bodies.len() < n {
        let radius = (random.unit().powf(-2.0 / 3.0) - 1.0).sqrt().recip();
        let direction = 2.0 * random.vector();
        if radius < 25.0 && direction.length() < 1.0 && direction.length() > 0.1 {
            let position = radius * direction.normalize();
            bodies.push(position, DVec3::ZERO, DVec3::ZERO, 1.0 / n as f64);
        }
    }
    bodies
}

fn answers(
    engine: &mut dyn ForceEngine,
    bodies: &TestBodies,
    eps: f64,
    outputs: &Outputs,
) -> Forces {
    let mut out = Forces::default();
    let (sources, sinks) = (
        Sources::new(&bodies.position, &bodies.mass),
        Sinks::new(&bodies.position, Identity::Offset(0)),
    );
    engine.evaluate_from(&sources, &sinks, eps, outputs, &mut out).unwrap();
    out
}

/// Forces in f64 on every `stride`-th body.
fn right(bodies: &TestBodies, stride: usize, eps: f64) -> Forces {
    let some: Vec<usize> = (0..bodies.len()).step_by(stride).collect();
    let position: Vec<DVec3> = some.iter().map(|&i| bodies.position[i]).collect();
    let index: Vec<u32> = some.iter().map(|&i| i as u32).collect();
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let sinks = Sinks::new(&position, Identity::Each(&index));
    let mut out = Forces::default();
    CpuDouble::new().evaluate_from(&sources, &sinks, eps, &Outputs::POTENTIAL, &mut out).unwrap();
    out
}

/// Relative errors of accelerations and of potentials: rms and maximum.
fn errors(found: &Forces, right: &Forces, stride: usize) -> [[f64; 2]; 2] {
    let sinks = || right.acceleration.iter().enumerate();
    let of = |error: &dyn Fn(usize) -> f64| {
        let all: Vec<f64> = sinks().map(|(k, _)| error(k)).collect();
        let rms = (all.iter().map(|e| e * e).sum::<f64>() / all.len() as f64).sqrt();
        [rms, all.into_iter().fold(0.0, f64::max)]
    };
    let a = |k: usize| {
        let exact = right.acceleration[k];
        found.acceleration[k * stride].distance(exact) / exact.length()
    };
    let phi = |k: usize| (found.potential[k * stride] / right.potential[k] - 1.0).abs();
    [of(&a), of(&phi)]
}

/// Counts and errors for 65,536 bodies as found by a simulation of the walk in f64 with exact
/// radii. Here radii are upper bounds, so slightly more cells are opened and errors are smaller. It
/// had no scattered groups, which make up to a sixth of the interactions at this size.
#[test]
fn rules_err_and_cost_as_designed() {
    let bodies = plummer(65_536, 7);
    let stride = 32;
    let exact = right(&bodies, stride, 0.01);
    let radius = Opening::Radius { theta: 0.6 };
    // Interactions per sink, rms error.
    for (opening, count, rms) in [
        (radius, 1882.0, 7.0e-4),
        (Opening::Acceleration { alpha: 0.01 }, 1579.0, 7.5e-4),
        (Opening::Acceleration { alpha: 0.003 }, 1974.0, 3.9e-4),
        (Opening::Acceleration { alpha: 0.0003 }, 3886.0, 9.1e-5),
        (Opening::Bonsai { theta: 0.75 }, 2188.0, 6.5e-4),
        (Opening::Octgrav { theta: 0.75 }, 4002.0, 2.2e-4),
    ] {
        let mut engine = CpuTree::new(config(opening));
        let found = answers(&mut engine, &bodies, 0.01, &Outputs::POTENTIAL);
        let mut interactions = engine.interactions(0) as f64 / 65_536.0;
        if opening.needs_accelerations() {
            let mut first = CpuTree::new(config(radius));
            answers(&mut first, &bodies, 0.01, &Outputs::ACCELERATION);
            interactions -= first.interactions(0) as f64 / 65_536.0;
        }
        let [[a, worst], [phi, _]] = errors(&found, &exact, stride);
        assert!((0.8..1.2).contains(&(interactions / count)), "{opening:?}: {interactions}");
        assert!((0.6..1.1).contains(&(a / rms)), "{opening:?}: {a:e}");
        assert!(worst < 20.0 * a && phi < 0.3 * a, "{opening:?}: {worst:e} {phi:e}");
    }
}

/// A few bodies and cells far from a sink, so that only multipoles cause errors.
#[test]
fn errors_fall_with_the_order_of_the_multipoles() {
    let cloud = TestBodies::new(30, 3);
    for eps in [0.0, 0.3, 1.0] {
        let mut before: Option<[f64; 2]> = None;
        for distance in [20.0, 40.0, 80.0] {
            let at = [DVec3::new(0.6, -0.64, 0.48) * distance];
            let sinks = Sinks::new(&at, Identity::Foreign);
            let sources = Sources::new(&cloud.position, &cloud.mass);
            let mut exact = Forces::default();
            let mut engine = CpuDouble::new();
            engine.evaluate_from(&sources, &sinks, eps, &Outputs::POTENTIAL, &mut exact).unwrap();
            let errors = [MultipoleOrder::Monopole, MultipoleOrder::Quadrupole].map(|moments| {
                let opening = Opening::Radius { theta: 1.0 };
                let config = TreeConfig { moments, ..config(opening) };
                let mut engine = CpuTree::new(config);
                let mut found = Forces::default();
                engine
                    .evaluate_from(&sources, &sinks, eps, &Outputs::POTENTIAL, &mut found)
                    .unwrap();
                assert_eq!(engine.interactions(1), 1, "the root as a whole");
                found.acceleration[0].distance(exact.acceleration[0])
                    / exact.acceleration[0].length()
            });
            if let Some(before) = before {
                // Proportional to d^-2 and d^-3; f32 adds 1e-7.
                assert!(errors[0] < 0.35 * before[0] + 2e-7, "eps {eps}: {errors:?} {before:?}");
                assert!(errors[1] < 0.2 * before[1] + 2e-7, "eps {eps}: {errors:?} {before:?}");
            }
            before = Some(errors);
        }
    }
}

/// Bodies that are difficult for a tree, with names.
fn hard_cases() -> Vec<(&'static str, TestBodies)> {
    let mut random = Random(9);
    let mut of = |n: usize, place: &dyn Fn(usize, DVec3) -> (DVec3, f64)| {
        let mut bodies = TestBodies::default();
        for i in 0..n {
            let (position, mass) = place(i, random.vector());
            bodies.push(position, DVec3::ZERO, DVec3::ZERO, mass);
        }
        bodies
    };
    let clumps = plummer(100, 13).position;
    let lattice = |i: usize| DVec3::new((i % 16) as f64, (i / 16 % 16) as f64, (i / 256) as f64);
    let mut all = vec![
        ("one place", of(1000, &|_, _| (DVec3::splat(0.7), 1.0))),
        // Any closer, and f32 could not distinguish neighbours.
        ("a line", of(2000, &|_, v| (DVec3::X * (v.x * 65536.0).round() / 65536.0, 1.0))),
        ("a lattice", of(4096, &|i, _| (lattice(i), 1.0))),
        ("two clusters", of(3000, &|i, v| (v + DVec3::X * (1e6 * (i % 2) as f64), 1.0))),
        ("far from the origin", of(3000, &|_, v| (v + DVec3::splat(1e7), 1.0))),
        ("without mass", of(500, &|_, v| (v, 0.0))),
        ("tracers", of(3000, &|i, v| (v, if i % 3 == 0 { 1.0 } else { 0.0 }))),
        ("a heavy one", of(3000, &|i, v| (v, if i == 77 { 1e9 } else { 1.0 }))),
        ("an escaper", of(3000, &|i, v| (v * if i == 5 { 1e6 } else { 1.0 }, 1.0))),
        (
            "a close pair",
            of(3000, &|i, v| (if i < 2 { DVec3::splat(1e-7 * i as f64) } else { 100.0 * v }, 1.0)),
        ),
        // Chains of cells with one child each.
        ("clumps", of(3300, &|i, v| (clumps[i / 33] + 1e-3 * v, 1.0))),
        ("nested clusters", of(3000, &|i, v| (v * 0.1f64.powi((i % 9) as i32), 1.0))),
        ("escapers", of(30_000, &|i, v| (v * if i % 10_007 == 0 { 1e6 } else { 1.0 }, 1.0))),
    ];
    for n in [1, 2, 63, 64, 65] {
        all.push(("few", of(n, &|_, v| (v, 1.0))));
    }
    all
}

#[test]
fn hard_cases_are_right_at_any_softening() {
    for (name, bodies) in hard_cases() {
        let stride = bodies.len().div_ceil(500);
        for eps in [0.0, 0.05] {
            let exact = right(&bodies, stride, eps);
            let found = answers(
                &mut CpuTree::new(TreeConfig::default()),
                &bodies,
                eps,
                &Outputs::POTENTIAL,
            );
            assert!(found.lost().is_none(), "{name}, eps {eps}");
            // Sums that nearly cancel are compared with the size of their terms.
            let typical = exact.acceleration.iter().map(|a| a.length()).sum::<f64>()
                / exact.acceleration.len() as f64;
            // The two bodies of the pair are closer than f32 resolves, so their mutual attraction
            // is lost.
            let told_apart = if name == "a close pair" { 2 } else { 0 };
            for (k, right) in exact.acceleration.iter().enumerate().skip(told_apart) {
                let error = found.acceleration[k * stride].distance(*right);
                assert!(
                    error <= 0.02 * right.length().max(0.3 * typical),
                    "{name}, eps {eps}: {k} {error:e}"
                );
                let (phi, right) = (found.potential[k * stride], exact.potential[k]);
                assert!(
                    (phi - right).abs() <= 5e-3 * right.abs(),
                    "{name}, eps {eps}: {k} {phi} {right}"
                );
            }
        }
    }
}

/// The errors of a body's acceleration are not cancelled by those of others: the sum of all forces
/// should be nearly 0.
#[test]
fn forces_of_all_bodies_cancel() {
    let bodies = plummer(100_000, 14);
    let residual = |opening: Opening| {
        let mut engine = CpuTree::new(config(opening));
        let found = answers(&mut engine, &bodies, 0.01, &Outputs::ACCELERATION);
        let forces = || bodies.mass.iter().zip(&found.acceleration).map(|(mass, a)| *a * *mass);
        forces().sum::<DVec3>().length() / forces().map(DVec3::length).sum::<f64>()
    };
    // With rms errors of 4e-4 and 2e-4 per body, correlated within the 64 of a group.
    let [typical, octgrav] =
        [TreeConfig::default().opening, Opening::Octgrav { theta: 0.75 }].map(residual);
    assert!(typical < 5e-5 && octgrav < 1.5e-5, "{typical:.1e} {octgrav:.1e}");
}

/// Sinks that are not sources, that are some of them, and that are away from their sources'
/// positions.
#[test]
fn arbitrary_sinks_do_not_attract_themselves() {
    let bodies = plummer(3000, 11);
    let probes: Vec<DVec3> = plummer(500, 12).position.iter().map(|x| 1.5 * *x).collect();
    let index: Vec<u32> =
        (0..500).map(|i| if i % 5 == 0 { u32::MAX } else { 2999 - 3 * i }).collect();
    let moved: Vec<DVec3> = (1000..1500).map(|i| 1.01 * bodies.position[i]).collect();
    let sources = Sources::new(&bodies.position, &bodies.mass);
    for (sinks, outputs) in [
        (Sinks::new(&probes, Identity::Foreign), Outputs::ACCELERATION),
        (Sinks::new(&probes, Identity::Foreign), Outputs::POTENTIAL),
        (Sinks::new(&bodies.position[700..], Identity::Offset(700)), Outputs::POTENTIAL),
        (Sinks::new(&probes, Identity::Each(&index)), Outputs::POTENTIAL),
        (Sinks::new(&moved, Identity::Offset(1000)), Outputs::ACCELERATION),
        (Sinks::new(&[], Identity::Foreign), Outputs::POTENTIAL),
    ] {
        for eps in [0.0, 1e-4] {
            let (mut found, mut exact) = (Forces::default(), Forces::default());
            CpuDouble::new().evaluate_from(&sources, &sinks, eps, &outputs, &mut exact).unwrap();
            let mut tree = CpuTree::new(TreeConfig::default());
            tree.evaluate_from(&sources, &sinks, eps, &outputs, &mut found).unwrap();
            assert_eq!(found.acceleration.len(), sinks.position.len());
            for (found, right) in found.acceleration.iter().zip(&exact.acceleration) {
                assert!(found.distance(*right) < 0.02 * right.length(), "{found} {right}");
            }
            for (found, right) in found.potential.iter().zip(&exact.potential) {
                assert!((found / right - 1.0).abs() < 1e-3, "{found} {right}");
            }
        }
    }
}

#[test]
fn given_accelerations_avoid_first_force() {
    let bodies = plummer(4000, 2);
    let mut engine = CpuTree::new(TreeConfig::default());
    let first = answers(&mut engine, &bodies, 0.01, &Outputs::ACCELERATION);
    let both = engine.interactions(0);
    let mut again = Forces::default();
    let sinks = Sinks {
        acceleration: &first.acceleration,
        ..Sinks::new(&bodies.position, Identity::Offset(0))
    };
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let outputs = &Outputs::ACCELERATION;
    engine.evaluate_from(&sources, &sinks, 0.01, outputs, &mut again).unwrap();
    assert!(engine.interactions(0) < both);
    let exact = right(&bodies, 8, 0.01);
    let of = |found: &Forces| {
        let found = Forces { potential: vec![0.0; bodies.len()], ..found.clone() };
        errors(&found, &exact, 8)[0][0]
    };
    assert!(of(&again) < 6e-4 && of(&first) < 6e-4, "{} {}", of(&first), of(&again));
}

/// Bodies far outside the cube, a heavy one and one without mass among them; and points that are no
/// bodies.
#[test]
fn estimated_accelerations_cost_less_and_have_the_same_errors() {
    let mut bodies = plummer(20_000, 7);
    for i in 0..20 {
        bodies.position[8 * 97 * i] *= 1e5;
    }
    (bodies.mass[500], bodies.mass[501]) = (0.01, 0.0);
    let points: Vec<DVec3> = bodies.position.iter().step_by(8).map(|x| *x * 1.01).collect();
    let sources = Sources::new(&bodies.position, &bodies.mass);
    for eps in [0.0, 0.01] {
        let exact = right(&bodies, 8, eps);
        let mut at_points = Forces::default();
        let sinks = Sinks::new(&points, Identity::Foreign);
        let outputs = Outputs::POTENTIAL;
        CpuDouble::new().evaluate_from(&sources, &sinks, eps, &outputs, &mut at_points).unwrap();
        let of = |mut engine: CpuTree| {
            let found = answers(&mut engine, &bodies, eps, &outputs);
            let cost = engine.interactions(0) as f64;
            let mut there = Forces::default();
            engine.evaluate_from(&sources, &sinks, eps, &outputs, &mut there).unwrap();
            (cost, errors(&found, &exact, 8)[0][0], errors(&there, &at_points, 1)[0][0])
        };
        let computed = of(CpuTree::new(TreeConfig::default()));
        let estimated = of(CpuTree::new(TreeConfig::default()).estimating());
        assert!(estimated.0 < 0.75 * computed.0, "{estimated:?} {computed:?}");
        assert!(estimated.1 < 1.2 * computed.1, "{estimated:?} {computed:?}");
        assert!(estimated.2 < 1.2 * computed.2, "{estimated:?} {computed:?}");
    }
}

#[test]
fn kernels_agree_and_bits_do_not_depend_on_threads() {
    let bodies = plummer(5000, 4);
    let run = |kernel| {
        let mut engine = CpuTree::with_kernel(kernel, TreeConfig::default()).unwrap();
        answers(&mut engine, &bodies, 0.01, &Outputs::POTENTIAL)
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let fastest = run(InstructionSet::available()[0]);
    assert_eq!(pool.install(|| run(InstructionSet::available()[0])), fastest);
    for kernel in InstructionSet::available() {
        let found = run(kernel);
        for (a, b) in found.acceleration.iter().zip(&fastest.acceleration) {
            // A cell at the limit of the rule may be accepted by one kernel and opened by another.
            assert!(a.distance(*b) < 1e-3 * b.length(), "{}", kernel.name());
        }
    }
}

#[test]
fn nan_positions_are_reported_and_do_not_affect_others() {
    let mut bodies = plummer(500, 6);
    bodies.position[123].y = f64::NAN;
    bodies.position[321].x = f64::INFINITY;
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let mut engine = CpuTree::new(TreeConfig::default());
    engine.set_sources(&sources).unwrap();
    engine.begin(&sinks, 0.01, &Outputs::POTENTIAL).unwrap();
    let mut found = Forces::default();
    engine.collect(&mut found).unwrap();
    let lost: Vec<_> = (0..500).filter(|&i| !found.acceleration[i].is_finite()).collect();
    assert_eq!(lost, [123, 321]);
    let error = engine.evaluate(&sinks, 0.01, &Outputs::POTENTIAL, &mut found).unwrap_err();
    assert!(error.to_string().contains("123"), "{error}");
}

#[test]
fn jerks_and_neighbours_are_refused() {
    let bodies = plummer(10, 6);
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let sinks =
        Sinks { velocity: &bodies.position, ..Sinks::new(&bodies.position, Identity::Offset(0)) };
    let mut engine = CpuTree::new(TreeConfig::default());
    for outputs in [Outputs::only(Order::Jerk), Outputs { nearest: true, ..Outputs::ACCELERATION }]
    {
        let refused = engine.evaluate_from(&sources, &sinks, 0.0, &outputs, &mut Forces::default());
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("acceleration and potential"), "{text}");
    }
    let negative = engine.evaluate_from(
        &sources,
        &sinks,
        -1.0,
        &Outputs::ACCELERATION,
        &mut Forces::default(),
    );
    assert!(negative.is_err());
}
