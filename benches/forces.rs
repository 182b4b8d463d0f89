//! Direct summation over all pairs with the `cpu` engine, with the `particular` crate's SIMD brute
//! force on the same bodies, and with the reference for scale. Criterion's elements are
//! interactions (ordered pairs).
//!
//! `particular` chooses its instruction set at compile time:
//! `RUSTFLAGS="-C target-cpu=native"` shows it at its best. Prints each engine's error against f64
//! first: the rms and the largest over bodies of |a - a_ref| / |a_ref|.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use glam::DVec3;
use gravitile::forces::direct::Reference;
use gravitile::forces::direct::{CpuSingle, cpu::InstructionSet};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use particular::prelude::*;

const SOFTENING: f64 = 0.01;

/// Lanes of `particular`'s vectors: the most it offers for f32.
const PEER_LANES: usize = 8;

/// A Plummer sphere of scale length 1, cut at radius 40, with masses of 1/2 to 3/2 of the mean.
struct Sphere {
    position: Vec<DVec3>,
    mass: Vec<f64>,
}

impl Sphere {
    fn new(n: usize) -> Self {
        let mut state = 0x853c_49e6_748f_ea9b_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut position, mut mass) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let r = 1.0 / ((0.999 * uniform() + 1e-9).powf(-2.0 / 3.0) - 1.0).sqrt();
            let (cos, phi) = (2.0 * uniform() - 1.0, std::f64::consts::TAU * uniform());
            let sin = (1.0 - cos * cos).sqrt();
            position.push(r * DVec3::new(sin * phi.cos(), sin * phi.sin(), cos));
            mass.push((0.5 + uniform()) / n as f64);
        }
        Self { position, mass }
    }

    fn evaluate(&self, engine: &mut impl ForceEngine, outputs: Outputs, out: &mut Forces) {
        let sinks = Sinks::new(&self.position, Identity::Offset(0));
        let sources = Sources::new(&self.position, &self.mass);
        engine
            .evaluate_from(&sources, &sinks, SOFTENING, &outputs, out)
            .expect("the sphere is sound");
    }

    fn point_masses(&self) -> Vec<([f32; 3], f32)> {
        let narrow = |(p, m): (&DVec3, &f64)| (p.as_vec3().to_array(), *m as f32);
        self.position.iter().zip(&self.mass).map(narrow).collect()
    }

    /// Prints the root mean square and the largest relative error of `acceleration`.
    fn report(&self, name: &str, reference: &Forces, acceleration: &[DVec3]) {
        let errors = || {
            acceleration
                .iter()
                .zip(&reference.acceleration)
                .map(|(a, b)| (*a - *b).length() / b.length())
        };
        let n = acceleration.len();
        let rms = (errors().map(|e| e * e).sum::<f64>() / n as f64).sqrt();
        println!("N {n}: {name}: rms error {rms:.2e}, worst {:.2e}", errors().fold(0.0, f64::max));
    }
}

fn peer_on_one_thread() -> sequential::BruteForceSoftenedSIMD<PEER_LANES, f32> {
    sequential::BruteForceSoftenedSIMD { softening: SOFTENING as f32 }
}

fn peer_on_all_threads() -> parallel::BruteForceSoftenedSIMD<PEER_LANES, f32> {
    parallel::BruteForceSoftenedSIMD { softening: SOFTENING as f32 }
}

fn forces(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    for n in [1024, 4096, 16384] {
        let sphere = Sphere::new(n);
        let peers = sphere.point_masses();
        let (mut reference, mut out) = (Forces::default(), Forces::default());
        sphere.evaluate(&mut Reference::default(), Outputs::ACCELERATION, &mut reference);

        let mut group = c.benchmark_group(format!("forces/{n}"));
        group.sample_size(20).throughput(Throughput::Elements((n * n) as u64));
        for kernel in InstructionSet::available() {
            let mut engine = CpuSingle::with_kernel(kernel).expect("it is available");
            sphere.evaluate(&mut engine, Outputs::ACCELERATION, &mut out);
            sphere.report(kernel.name(), &reference, &out.acceleration);
            for (what, outputs) in
                [("", Outputs::ACCELERATION), (" and potential", Outputs::POTENTIAL)]
            {
                let name = format!("cpu {}{what}", kernel.name());
                group.bench_function(BenchmarkId::new(&name, "1 thread"), |b| {
                    one.install(|| b.iter(|| sphere.evaluate(&mut engine, outputs, &mut out)));
                });
                group.bench_function(BenchmarkId::new(&name, "all threads"), |b| {
                    b.iter(|| sphere.evaluate(&mut engine, outputs, &mut out));
                });
            }
        }
        let peer: Vec<DVec3> = peers
            .iter()
            .accelerations(&mut peer_on_one_thread())
            .map(|a| glam::Vec3::from_array(a).as_dvec3())
            .collect();
        sphere.report("particular", &reference, &peer);
        group.bench_function(BenchmarkId::new("particular", "1 thread"), |b| {
            b.iter(|| peers.iter().accelerations(&mut peer_on_one_thread()).count());
        });
        group.bench_function(BenchmarkId::new("particular", "all threads"), |b| {
            b.iter(|| peers.iter().accelerations(&mut peer_on_all_threads()).count());
        });
        if n <= 4096 {
            group.bench_function(BenchmarkId::new("reference", "all threads"), |b| {
                b.iter(|| {
                    sphere.evaluate(&mut Reference::default(), Outputs::ACCELERATION, &mut out)
                });
            });
        }
    }
}

criterion_group!(benches, forces);
criterion_main!(benches);
