//! Forces and potentials against the sum over all pairs in f64.

use glam::DVec3;
use gravitile::forces::direct::Reference;
use gravitile::forces::tree::gpu::{Field, GpuTree, TreeForces, TreeShape, WalkShape};
use gravitile::forces::tree::{LEAF, MultipoleOrder, Opening, PointMass};
use gravitile::forces::{
    DeviceForces, ForceEngine, Forces, Identity, Outputs, Sinks, Sources, Throughput,
    evaluate_blocking,
};
use gravitile::gpu::{Checks, Gpu, read_blocking};
use gravitile::measure::{TreeCase, check_tree, tree_cases, upload_places};

use super::bodies::{hard_cases, plummer};
use super::common;

/// Accelerations and potentials of all bodies by direct summation in f64.
fn direct(places: &[PointMass], softening: f64) -> Vec<[f64; 4]> {
    let wide = |place: &PointMass| place.map(f64::from);
    let of = |i: usize| {
        let sink = wide(&places[i]);
        let mut sum = [0.0; 4];
        for (j, source) in places.iter().enumerate() {
            let source = wide(source);
            let towards: [f64; 3] = std::array::from_fn(|axis| source[axis] - sink[axis]);
            let square: f64 = towards.iter().map(|x| x * x).sum();
            let softened = square + softening * softening;
            if j == i || softened == 0.0 {
                continue;
            }
            let pull = source[3] / (softened * softened.sqrt());
            (0..3).for_each(|axis| sum[axis] += pull * towards[axis]);
            sum[3] -= source[3] / softened.sqrt();
        }
        sum
    };
    (0..places.len()).map(of).collect()
}

fn length(v: &[f64]) -> f64 {
    v[..3].iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Relative errors of the accelerations: rms, and the largest.
fn errors(found: &[[f32; 4]], right: &[[f64; 4]]) -> (f64, f64) {
    let each = found.iter().zip(right).map(|(found, right)| {
        let off: [f64; 3] = std::array::from_fn(|axis| f64::from(found[axis]) - right[axis]);
        let scale = length(right);
        if scale == 0.0 { length(&off) } else { length(&off) / scale }
    });
    let each: Vec<f64> = each.collect();
    let rms = (each.iter().map(|x| x * x).sum::<f64>() / each.len() as f64).sqrt();
    (rms, each.iter().copied().fold(0.0, f64::max))
}

const ACCELERATION: Opening = Opening::Acceleration { alpha: 0.003 };

fn shape(opening: Opening) -> TreeShape {
    TreeShape { checks: Checks::On, ..TreeShape::new(opening, MultipoleOrder::Quadrupole) }
}

fn field(softening: f32) -> Field {
    Field {
        softening,
        guarded: softening == 0.0,
        potential: false,
        has_accelerations: false,
        is_closed: true,
        external: None,
    }
}

/// Forces; `rate` fixes the throughput estimate and thus the chunk size.
fn forces(
    gpu: &Gpu,
    places: &[PointMass],
    shape: TreeShape,
    field: Field,
    rate: Option<f64>,
) -> Vec<[f32; 4]> {
    let bodies = upload_places(gpu, places);
    let mut forces = pollster::block_on(TreeForces::new(gpu, shape, &bodies, field)).unwrap();
    let mut throughput = match rate {
        Some(rate) => Throughput::fixed(rate),
        None => Throughput::guess(gpu.adapter.class),
    };
    evaluate_blocking(&mut forces, gpu, &mut throughput).unwrap();
    read_blocking(gpu, &[forces.partial_sums()], places.len()).unwrap().remove(0)
}

#[test]
fn opening_rules_stay_within_their_errors() {
    let gpu = common::gpu();
    let places = plummer(4097, 9);
    let right = direct(&places, 0.01);
    // (rule, rms with quadrupoles, rms with monopoles): about twice the errors with 65,536 bodies.
    // Of six spheres by angle, monopoles had 2.4e-3 to 4.1e-3, most of it on few bodies in the
    // middle.
    let theta = 0.5;
    for (opening, quadrupole, monopole) in [
        (ACCELERATION, 8e-4, 1.6e-3),
        (Opening::Radius { theta: 0.6 }, 1.4e-3, 4.5e-3),
        (Opening::Bonsai { theta }, 3e-4, 8e-4),
        (Opening::Octgrav { theta }, 2e-4, 6e-4),
    ] {
        for (order, most) in
            [(MultipoleOrder::Quadrupole, quadrupole), (MultipoleOrder::Monopole, monopole)]
        {
            let found =
                forces(&gpu, &places, TreeShape { order, ..shape(opening) }, field(0.01), None);
            let (rms, largest) = errors(&found, &right);
            println!("{opening:?} {order:?}: rms {rms:.2e}, largest {largest:.2e}");
            assert!(rms < most && rms > 1e-6, "{opening:?} {order:?}: {rms:.2e} for {most:.0e}");
        }
    }
}

/// Far cells have errors of their own, for which the rule of the walk is stricter.
#[test]
fn expansions_leave_the_errors_as_they_are() {
    for case in tree_cases(None).into_iter().step_by(4).take(2) {
        let rms = |far: bool| {
            let shape = TreeShape { far, ..case.shape };
            let case = TreeCase { n: 20_000, sinks: 2_000, potential: false, shape, ..case };
            check_tree(None, case).unwrap().acceleration.rms()
        };
        let (with, without) = (rms(true), rms(false));
        println!("{:?}: rms {with:.2e} with expansions, {without:.2e} without", case.cloud);
        assert!(with < 1.1 * without && with > 0.7 * without, "{with:.2e}, {without:.2e}");
    }
}

#[test]
fn few_bodies_are_summed_directly() {
    let gpu = common::gpu();
    for n in [1, 2, LEAF - 1, LEAF] {
        for softening in [0.01, 0.0] {
            let places = plummer(n, 70 + n as u64);
            let found = forces(&gpu, &places, shape(ACCELERATION), field(softening), None);
            let (_, largest) = errors(&found, &direct(&places, softening.into()));
            assert!(largest < 2e-5, "{n} bodies, softening {softening}: {largest:.2e}");
        }
    }
    for n in [LEAF + 1, 33, 63, 64, 65, 1000] {
        let places = plummer(n, 70 + n as u64);
        let found = forces(&gpu, &places, shape(ACCELERATION), field(0.0), None);
        let (rms, _) = errors(&found, &direct(&places, 0.0));
        assert!(rms < 1e-3, "{n} bodies: {rms:.2e}");
    }
}

#[test]
fn forces_of_hard_cases_are_accurate() {
    let gpu = common::gpu();
    for (name, places) in hard_cases() {
        for softening in [0.01, 0.0] {
            let found = forces(&gpu, &places, shape(ACCELERATION), field(softening), None);
            assert!(found.iter().flatten().all(|x| x.is_finite()), "{name}");
            let right = direct(&places, softening.into());
            let mut sizes: Vec<f64> = right.iter().map(|a| length(a)).collect();
            sizes.sort_by(f64::total_cmp);
            let scale = sizes[sizes.len() / 2];
            let off = |(found, right): (&[f32; 4], &[f64; 4])| {
                let off: [f64; 3] =
                    std::array::from_fn(|axis| f64::from(found[axis]) - right[axis]);
                length(&off) / (length(right) + 1e-3 * scale).max(1e-30)
            };
            let each: Vec<f64> = found.iter().zip(&right).map(off).collect();
            let rms = (each.iter().map(|x| x * x).sum::<f64>() / each.len() as f64).sqrt();
            println!("{name}, softening {softening}: rms {rms:.2e}");
            // On a line each neighbour's pull is hundreds of times the net force.
            let most = if name == "a line" { 1e-2 } else { 3e-3 };
            assert!(rms < most, "{name}, softening {softening}: {rms:.2e}");
        }
    }
}

/// An opening rule's errors do not obey Newton's third law; balancing must make the net force
/// vanish.
#[test]
fn tree_forces_sum_to_zero() {
    let gpu = common::gpu();
    let places = plummer(50_000, 12);
    let found = forces(&gpu, &places, shape(ACCELERATION), field(0.01), None);
    let sums = places.iter().zip(&found).fold([0.0; 4], |mut sums, (place, a)| {
        let (mass, a) = (f64::from(place[3]), a.map(f64::from));
        (0..3).for_each(|axis| sums[axis] += mass * a[axis]);
        sums[3] += mass * length(&a);
        sums
    });
    let residual = length(&sums) / sums[3];
    println!("momentum residual {residual:.1e}");
    // 1.1e-5 without balancing.
    assert!(residual < 1e-6, "{residual:.1e}");
}

#[test]
fn tree_force_bits_are_independent_of_chunks_and_unrolling() {
    let gpu = common::gpu();
    for opening in [ACCELERATION, Opening::Octgrav { theta: 0.7 }] {
        let places = plummer(20_011, 5);
        let bits = |gpu: &Gpu, shape: TreeShape, rate| {
            let found = forces(gpu, &places, shape, field(0.01), rate);
            found.into_iter().flatten().map(f32::to_bits).collect::<Vec<_>>()
        };
        let walked = |walk: WalkShape| TreeShape { walk, ..shape(opening) };
        let once = bits(&gpu, shape(opening), None);
        assert!(once == bits(&gpu, shape(opening), None), "another run");
        assert!(once == bits(&gpu, shape(opening), Some(1e6)), "the smallest pieces");
        assert!(once == bits(&gpu, shape(opening), Some(1e15)), "one piece");
        for unroll in [4, 16, 32] {
            let other = walked(WalkShape { unroll });
            assert!(once == bits(&gpu, other, None), "{unroll} interactions in a turn");
        }
        let narrow = common::narrow();
        assert!(once == bits(&narrow, shape(opening), None), "rows of three workgroups");
        let unchecked = TreeShape { checks: Checks::Off, ..shape(opening) };
        assert!(once == bits(&gpu, unchecked, None), "without checks");
    }
}

#[test]
fn tree_potentials_agree_with_all_pairs() {
    let gpu = common::gpu();
    for softening in [0.05, 0.0] {
        for order in [MultipoleOrder::Quadrupole, MultipoleOrder::Monopole] {
            let places = plummer(3000, 8);
            let right = direct(&places, softening.into());
            let bodies = upload_places(&gpu, &places);
            let shape = TreeShape { order, ..shape(Opening::Radius { theta: 0.5 }) };
            let made = TreeForces::new(&gpu, shape, &bodies, field(softening));
            let plain = pollster::block_on(made).unwrap();
            let mut forces = pollster::block_on(plain.with_potential(&gpu, &bodies)).unwrap();
            evaluate_blocking(forces.as_mut(), &gpu, &mut Throughput::guess(gpu.adapter.class))
                .unwrap();
            let found: Vec<[f32; 4]> =
                read_blocking(&gpu, &[forces.partial_sums()], places.len()).unwrap().remove(0);
            for (i, (found, right)) in found.iter().zip(&right).enumerate() {
                let off = (f64::from(found[3]) / right[3] - 1.0).abs();
                assert!(off < 2e-3, "{i}: {} for {}", found[3], right[3]);
            }
            assert!(errors(&found, &right).0 < 3e-3);
        }
    }
}

#[test]
fn non_finite_bodies_get_nan_forces_and_attract_nothing() {
    let gpu = common::gpu();
    let mut places = plummer(1000, 21);
    let (lost, without) = ([3, 500], places.clone());
    places[3][1] = f32::NAN;
    places[500][0] = f32::INFINITY;
    let found = forces(&gpu, &places, shape(ACCELERATION), field(0.01), None);
    for (i, found) in found.iter().enumerate() {
        assert_eq!(found.iter().all(|x| x.is_finite()), !lost.contains(&i), "{i}");
    }
    let is_finite_body = |i: &usize| !lost.contains(i);
    let others: Vec<PointMass> = (0..1000).filter(is_finite_body).map(|i| without[i]).collect();
    let right = direct(&others, 0.01);
    let found: Vec<[f32; 4]> = (0..1000).filter(is_finite_body).map(|i| found[i]).collect();
    assert!(errors(&found, &right).0 < 2e-3);
}

#[test]
fn leaves_grow_where_cells_exceed_the_capacity() {
    let gpu = common::gpu();
    // Dense clumps of 40 bodies: 0.46 cells per body with leaves of 32.
    let clumps = plummer(200, 2);
    let mut places: Vec<PointMass> = Vec::new();
    for (k, clump) in clumps.iter().enumerate() {
        for i in 0..40 {
            let mut body = *clump;
            body[i % 3] += 1e-5 * (i as f32 + k as f32 / 200.0);
            body[3] = 1.0 / 8000.0;
            places.push(body);
        }
    }
    let bodies = upload_places(&gpu, &places);
    let made = TreeForces::new(&gpu, shape(ACCELERATION), &bodies, field(0.01));
    let mut forces = pollster::block_on(made).unwrap();
    evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let state: Vec<u32> = read_blocking(&gpu, &[&forces.buffers().state], 4).unwrap().remove(0);
    assert!(state[3] > 32, "leaves of {}", state[3]);
    assert!(state[2] <= forces.buffers().reserve, "{} cells", state[2]);
    let found: Vec<[f32; 4]> =
        read_blocking(&gpu, &[forces.partial_sums()], places.len()).unwrap().remove(0);
    let (rms, _) = errors(&found, &direct(&places, 0.01));
    assert!(rms < 1e-3, "{rms:.2e}");
}

#[test]
fn foreign_sinks_get_accurate_forces() {
    let gpu = common::gpu();
    let wide = |place: &PointMass| DVec3::new(place[0].into(), place[1].into(), place[2].into());
    let places = plummer(2000, 31);
    let position: Vec<DVec3> = places.iter().map(wide).collect();
    let mass: Vec<f64> = places.iter().map(|place| place[3].into()).collect();
    // Foreign sinks, then every third source, then a source's index at another position.
    let mut at: Vec<DVec3> = plummer(100, 32).iter().map(|place| wide(place) * 1.5).collect();
    let mut index = vec![u32::MAX; at.len()];
    at.extend(position.iter().step_by(3));
    index.extend((0..2000).step_by(3));
    at.push(position[4] + DVec3::splat(0.3));
    index.push(4);
    let sinks = Sinks::new(&at, Identity::Each(&index));
    let sources = Sources::new(&position, &mass);
    let mut right = Forces::default();
    let outputs = Outputs::POTENTIAL;
    Reference::default().evaluate_from(&sources, &sinks, 0.02, &outputs, &mut right).unwrap();
    let mut found = Forces::default();
    let mut engine = GpuTree::new(gpu, shape(ACCELERATION));
    engine.evaluate_from(&sources, &sinks, 0.02, &outputs, &mut found).unwrap();
    let off = |i: usize| {
        let off = found.acceleration[i] - right.acceleration[i];
        off.length() / right.acceleration[i].length()
    };
    let rms = ((0..at.len()).map(|i| off(i).powi(2)).sum::<f64>() / at.len() as f64).sqrt();
    assert!(rms < 1e-3 && off(at.len() - 1) < 3e-3, "{rms:.2e}, {:.2e}", off(at.len() - 1));
    for (i, (found, right)) in found.potential.iter().zip(&right.potential).enumerate() {
        assert!((found / right - 1.0).abs() < 2e-3, "{i}: {found} for {right}");
    }
}

#[test]
fn too_many_bodies_are_refused_with_the_maximum() {
    let gpu = common::baseline();
    let made =
        gravitile::forces::tree::gpu::TreeBuffers::new(&gpu, 9_000_000, &shape(ACCELERATION));
    let refused = made.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("9000000") && text.contains("at most 8388608"), "{text}");
}
