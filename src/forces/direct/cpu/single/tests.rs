use glam::DVec3;

use super::{CpuSingle, InstructionSet};
use crate::forces::direct::Reference;
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};

/// Allowed error relative to the sum of the magnitudes of all forces on a sink: r^-3 has 22 bits
/// (2.4e-7), and a pair as well as 128 growing sums take at most ten roundings of 6e-8. Positions
/// below are exact in f32, so narrowing loses nothing.
const TOLERANCE: f64 = 1e-6;

/// Positions on a grid of 1/1024 in [-512, 512) and masses of 0 to 1; every 9th body is massless
/// and bodies 0 and 1 are in one place.
fn bodies(n: usize, seed: u64) -> (Vec<DVec3>, Vec<f64>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 44
    };
    let mut coordinate = || next() as f64 / 1024.0 - 512.0;
    let mut position: Vec<_> =
        (0..n).map(|_| DVec3::new(coordinate(), coordinate(), coordinate())).collect();
    if n > 1 {
        position[1] = position[0];
    }
    let mass = |i: usize| if i % 9 == 4 { 0.0 } else { ((i * 7919) % 1000) as f64 / 1000.0 };
    (position, (0..n).map(mass).collect())
}

fn poison() -> Forces {
    Forces {
        acceleration: vec![DVec3::NAN; 77],
        potential: vec![f64::NAN; 99],
        ..Forces::default()
    }
}

fn forces(
    engine: &mut impl ForceEngine,
    sinks: &Sinks,
    sources: &Sources,
    eps: f64,
    outputs: Outputs,
) -> Forces {
    let mut out = poison();
    engine.evaluate_from(sources, sinks, eps, &outputs, &mut out).unwrap();
    out
}

/// Sums of the magnitudes of all forces and potentials on each sink.
fn magnitudes(sinks: &Sinks, sources: &Sources, eps: f64) -> Vec<(f64, f64)> {
    let on = |(i, sink): (usize, &DVec3)| {
        let (mut pull, mut potential) = (0.0, 0.0);
        for (j, (source, mass)) in sources.position.iter().zip(sources.mass).enumerate() {
            let distance = source.distance_squared(*sink);
            let r = (distance + eps * eps).sqrt();
            if r > 0.0 && sinks.identity.of(i) != Some(j) {
                pull += mass * distance.sqrt() / (r * r * r);
                potential += mass / r;
            }
        }
        (pull, potential)
    };
    sinks.position.iter().enumerate().map(on).collect()
}

/// Describes the first difference between `got` and `expected` that exceeds `tolerance`.
fn difference(
    got: &Forces,
    expected: &Forces,
    magnitudes: &[(f64, f64)],
    tolerance: f64,
) -> Result<(), String> {
    if (got.acceleration.len(), got.potential.len())
        != (expected.acceleration.len(), expected.potential.len())
    {
        return Err(format!("{} and {} entries", got.acceleration.len(), got.potential.len()));
    }
    for (i, (pull, potential)) in magnitudes.iter().enumerate() {
        let error = (got.acceleration[i] - expected.acceleration[i]).length();
        if error.is_nan() || error > tolerance * pull {
            return Err(format!("acceleration {i} is off by {error}, magnitude {pull}"));
        }
        if let (Some(got), Some(expected)) = (got.potential.get(i), expected.potential.get(i)) {
            let error = (got - expected).abs();
            if error.is_nan() || error > tolerance * potential {
                return Err(format!("potential {i} is {got}, not {expected}"));
            }
        }
    }
    Ok(())
}

/// All kernels of this machine against the reference.
fn check(sinks: &Sinks, sources: &Sources, eps: f64, what: &str) {
    let magnitudes = magnitudes(sinks, sources, eps);
    let all = Outputs::POTENTIAL;
    let mut reference = forces(&mut Reference::default(), sinks, sources, eps, all);
    for outputs in [all, Outputs::ACCELERATION] {
        if outputs == Outputs::ACCELERATION {
            reference.potential.clear();
        }
        for kernel in InstructionSet::available() {
            let mut engine = CpuSingle::with_kernel(kernel).unwrap();
            let got = forces(&mut engine, sinks, sources, eps, outputs);
            if let Err(words) = difference(&got, &reference, &magnitudes, TOLERANCE) {
                panic!("{what}, {}, eps {eps}, {outputs:?}: {words}", kernel.name());
            }
        }
    }
}

#[test]
fn every_size_of_sinks_and_sources() {
    const SIZES: [usize; 8] = [0, 1, 2, 15, 16, 17, 1000, 4097];
    for sinks in SIZES {
        for sources in SIZES {
            if sinks * sources > 1_100_000 {
                continue;
            }
            let ((at, _), (position, mass)) = (bodies(sinks, 1), bodies(sources, 2));
            let sources = Sources::new(&position, &mass);
            let sinks = Sinks::new(&at, Identity::Foreign);
            check(&sinks, &sources, 0.5, &format!("{} on {}", mass.len(), at.len()));
            check(&sinks, &sources, 0.0, &format!("{} on {}", mass.len(), at.len()));
        }
    }
}

#[test]
fn all_on_all_with_individual_and_equal_masses() {
    for n in [1, 2, 15, 16, 17, 63, 65, 1000, 4097] {
        let (position, mass) = bodies(n, 3);
        let sinks = Sinks::new(&position, Identity::Offset(0));
        for mass in [mass, vec![0.375; n], vec![0.0; n]] {
            let sources = Sources::new(&position, &mass);
            check(&sinks, &sources, 0.5, &format!("{n} bodies"));
            check(&sinks, &sources, 0.0, &format!("{n} bodies"));
        }
    }
}

#[test]
fn each_kind_of_identity() {
    let (position, mass) = bodies(1000, 4);
    let sources = Sources::new(&position, &mass);
    let index: Vec<u32> =
        (0..333).map(|i| if i % 5 == 0 { u32::MAX } else { 999 - 2 * i }).collect();
    let at: Vec<_> = index.iter().map(|&j| position.get(j as usize).copied()).collect();
    let at: Vec<_> = at.into_iter().map(|p| p.unwrap_or(DVec3::ONE)).collect();
    let moved: Vec<_> = at.iter().map(|&p| p + DVec3::X * 0.25).collect();
    for eps in [0.0, 0.5] {
        let part = Sinks::new(&position[500..900], Identity::Offset(500));
        check(&part, &sources, eps, "a part");
        let beyond = Sinks::new(&position, Identity::Offset(700));
        check(&beyond, &sources, eps, "sinks beyond the sources");
        let each = Sinks::new(&at, Identity::Each(&index));
        check(&each, &sources, eps, "each by its index");
        let each = Sinks::new(&moved, Identity::Each(&index));
        check(&each, &sources, eps, "sinks away from their sources");
    }
}

#[test]
fn coincident_bodies_interact_only_through_softening() {
    let position = [DVec3::new(3.0, -1.0, 7.0); 2];
    let sources = Sources::new(&position, &[2.0, 5.0]);
    let sinks = Sinks::new(&position, Identity::Offset(0));
    for kernel in InstructionSet::available() {
        let mut engine = CpuSingle::with_kernel(kernel).unwrap();
        let all = Outputs::POTENTIAL;
        let soft = forces(&mut engine, &sinks, &sources, 0.25, all);
        assert_eq!(soft.acceleration, [DVec3::ZERO; 2], "{}", kernel.name());
        assert!((soft.potential[0] + 20.0).abs() < 1e-5, "{soft:?}");
        assert!((soft.potential[1] + 8.0).abs() < 1e-5, "{soft:?}");
        let hard = forces(&mut engine, &sinks, &sources, 0.0, all);
        assert_eq!(hard.acceleration, [DVec3::ZERO; 2], "{}", kernel.name());
        assert_eq!(hard.potential, [0.0; 2], "{}", kernel.name());
    }
}

/// Sinks and sources of 3000 bodies, moved, scaled and weighted.
fn scaled(
    shift: f64,
    length: f64,
    mass: f64,
    eps: f64,
    outputs: Outputs,
    kernel: InstructionSet,
) -> Forces {
    let (mut position, mut masses) = bodies(3000, 5);
    position.iter_mut().for_each(|p| *p = (*p + shift) * length);
    masses.iter_mut().for_each(|m| *m *= mass);
    let sources = Sources::new(&position, &masses);
    let sinks = Sinks::new(&position, Identity::Offset(0));
    forces(&mut CpuSingle::with_kernel(kernel).unwrap(), &sinks, &sources, eps * length, outputs)
}

#[test]
fn neither_units_nor_the_origin_matter() {
    for kernel in InstructionSet::available() {
        for outputs in [Outputs::ACCELERATION, Outputs::POTENTIAL] {
            let plain = scaled(0.0, 1.0, 1.0, 0.5, outputs, kernel);
            let moved = scaled(1048576.0, 1.0, 1.0, 0.5, outputs, kernel);
            assert_eq!(plain, moved, "{}", kernel.name());
            let (length, mass) = (f64::powi(2.0, -30), f64::powi(2.0, 40));
            let mut other = scaled(0.0, length, mass, 0.5, outputs, kernel);
            other.acceleration.iter_mut().for_each(|a| *a *= length * length / mass);
            other.potential.iter_mut().for_each(|phi| *phi *= length / mass);
            assert_eq!(plain, other, "{}", kernel.name());
        }
    }
}

#[test]
fn extreme_units_and_softenings_stay_finite() {
    for kernel in InstructionSet::available() {
        for length in [1e-9, 1e-3, 1e3, 1e9] {
            for eps in [0.0, 1e-30, 1e-9, 1e9] {
                let outputs = Outputs::POTENTIAL;
                let out = scaled(0.0, length, 1e12, eps, outputs, kernel);
                let finite = out.acceleration.iter().all(|a| a.is_finite())
                    && out.potential.iter().all(|phi| phi.is_finite());
                assert!(finite, "{} at length {length}, eps {eps}", kernel.name());
                let pulled = out.acceleration.iter().filter(|a| **a != DVec3::ZERO).count();
                assert_eq!(pulled, 3000, "{} at length {length}, eps {eps}", kernel.name());
            }
        }
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let (position, mass) = bodies(5000, 6);
    let sources = Sources::new(&position, &mass);
    let (own, foreign) = (Identity::Offset(0), Identity::Foreign);
    for (n, identity) in [(5000, own), (5000, foreign), (3, foreign)] {
        let sinks = Sinks::new(&position[..n], identity);
        for kernel in InstructionSet::available() {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut engine = CpuSingle::with_kernel(kernel).unwrap();
                pool.install(|| forces(&mut engine, &sinks, &sources, 0.5, Outputs::ACCELERATION))
            };
            let one = on(1);
            assert!(one == on(2) && one == on(3), "{n} sinks, {}", kernel.name());
        }
    }
}

#[test]
fn total_momentum_does_not_change() {
    let (position, mass) = bodies(3000, 7);
    let sources = Sources::new(&position, &mass);
    let sinks = Sinks::new(&position, Identity::Offset(0));
    let out = forces(&mut CpuSingle::new(), &sinks, &sources, 0.5, Outputs::ACCELERATION);
    let (mut net, mut gross) = (DVec3::ZERO, 0.0);
    for (a, m) in out.acceleration.iter().zip(&mass) {
        net += *a * *m;
        gross += a.length() * m;
    }
    // Both sides of a pair come from one product, so only the rounding of sums remains.
    assert!(net.length() < 1e-7 * gross, "{net} of {gross}");
}

#[test]
fn scratch_memory_is_kept() {
    let (position, mass) = bodies(2000, 8);
    let sources = Sources::new(&position, &mass);
    let sinks = Sinks::new(&position, Identity::Offset(0));
    let mut engine = CpuSingle::new();
    let mut out = Forces::default();
    let mut addresses = Vec::new();
    for round in 0..3 {
        for outputs in [Outputs::ACCELERATION, Outputs::POTENTIAL] {
            engine.evaluate_from(&sources, &sinks, 0.5, &outputs, &mut out).unwrap();
        }
        let now = [
            engine.evaluator.packs.as_ptr().addr(),
            engine.evaluator.pulls.as_ptr().addr(),
            engine.evaluator.sinks.as_ptr().addr(),
            engine.evaluator.sums.as_ptr().addr(),
            out.acceleration.as_ptr().addr(),
            out.potential.as_ptr().addr(),
        ];
        if round > 0 {
            assert_eq!(addresses, now);
        }
        addresses = now.to_vec();
    }
}

#[test]
fn unsupported_requests_have_clear_errors() {
    let missing = InstructionSet::ALL.into_iter().find(|kernel| !kernel.is_available()).unwrap();
    let text = CpuSingle::with_kernel(missing).unwrap_err().to_string();
    assert!(text.contains(missing.name()) && text.contains("scalar"), "{text}");
    assert!(CpuSingle::new().describe().contains(" on "));

    let position = [DVec3::ZERO; 2];
    let refuse = |mass: &[f64], identity, eps, words: &str| {
        let sinks = Sinks::new(&position, identity);
        let sources = Sources::new(&position, mass);
        let text = CpuSingle::new()
            .evaluate_from(&sources, &sinks, eps, &Outputs::ACCELERATION, &mut poison())
            .unwrap_err()
            .to_string();
        assert!(text.contains(words), "{text}");
    };
    refuse(&[1.0], Identity::Foreign, 0.1, "number of source masses");
    refuse(&[1.0; 2], Identity::Each(&[0]), 0.1, "number of sink identities");
    refuse(&[1.0; 2], Identity::Foreign, f64::NAN, "softening");
}

#[test]
fn comparison_detects_errors() {
    let (position, mass) = bodies(100, 9);
    let sources = Sources::new(&position, &mass);
    let sinks = Sinks::new(&position, Identity::Offset(0));
    let magnitudes = magnitudes(&sinks, &sources, 0.5);
    let all = Outputs::POTENTIAL;
    let right = forces(&mut Reference::default(), &sinks, &sources, 0.5, all);
    let fails = |change: fn(&mut Forces)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        difference(&wrong, &right, &magnitudes, TOLERANCE).is_err()
    };
    assert!(!fails(|_| ()));
    assert!(fails(|f| f.acceleration[99].y += 1e-4 * f.acceleration[99].length()));
    assert!(fails(|f| f.acceleration[50].z = f64::NAN));
    assert!(fails(|f| f.potential[7] *= 1.0 + 1e-5));
    assert!(fails(|f| f.potential[0] = f64::NAN));
    assert!(fails(|f| f.acceleration.truncate(99)));
    assert!(fails(|f| f.potential.clear()));
}
