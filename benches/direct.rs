//! Forces with derivatives on the CPU in f64. Criterion's elements are interactions (ordered
//! pairs).
//!
//! Prints each kernel's error against the reference first: the rms over bodies of
//! |a - a_ref| / |a_ref|.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use glam::DVec3;
use gravitile::forces::direct::Reference;
use gravitile::forces::direct::{CpuDouble, cpu::InstructionSet};
use gravitile::forces::{ForceEngine, Forces, Identity, Order, Outputs, TestBodies, Within};

const SOFTENING: f64 = 1.0 / 256.0;

/// Evaluates forces on the first `sinks` bodies.
fn evaluate(
    cloud: &TestBodies,
    engine: &mut dyn ForceEngine,
    sinks: usize,
    softening: f64,
    outputs: &Outputs,
    out: &mut Forces,
) {
    let sinks = cloud.sinks(0..sinks, Identity::Offset(0));
    engine.evaluate(&sinks, softening, outputs, out).expect("the cloud is sound");
}

/// Root mean square of |a - b| / |b|.
fn rms(a: &[DVec3], b: &[DVec3]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (*a - *b).length_squared() / b.length_squared());
    (squares.sum::<f64>() / a.len().max(1) as f64).sqrt()
}

fn direct(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let n = 8192;
    let cloud = TestBodies::new(n, 1);
    let radius = vec![0.02; n];
    let (mut reference, mut expected, mut out) =
        (Reference::default(), Forces::default(), Forces::default());
    reference.set_sources(&cloud.sources(n)).expect("the cloud is sound");
    evaluate(&cloud, &mut reference, 512, SOFTENING, &Outputs::only(Order::Snap), &mut expected);

    for kernel in InstructionSet::available() {
        let mut engine = CpuDouble::with_kernel(kernel).expect("it is available");
        engine.set_sources(&cloud.sources(n)).expect("the cloud is sound");
        evaluate(&cloud, &mut engine, 512, SOFTENING, &Outputs::only(Order::Snap), &mut out);
        println!(
            "{}: rms error of accelerations {:.1e}, jerks {:.1e}, snaps {:.1e}",
            kernel.name(),
            rms(&out.acceleration, &expected.acceleration),
            rms(&out.jerk, &expected.jerk),
            rms(&out.snap, &expected.snap)
        );
        let mut group = c.benchmark_group(format!("direct/{}", kernel.name()));
        group.sample_size(10);
        let jerk = Outputs::only(Order::Jerk);
        let mut bench = |name: &str, sinks: usize, softening: f64, outputs: Outputs| {
            group.throughput(Throughput::Elements((sinks * n) as u64));
            group.bench_function(BenchmarkId::new(name, "1 thread"), |b| {
                one.install(|| {
                    b.iter(|| evaluate(&cloud, &mut engine, sinks, softening, &outputs, &mut out));
                });
            });
        };
        bench("acceleration", 2048, SOFTENING, Outputs::only(Order::Acceleration));
        bench("jerk", 2048, SOFTENING, jerk);
        bench("jerk, eps 0", 2048, 0.0, jerk);
        bench("jerk of 1 sink", 1, SOFTENING, jerk);
        bench("jerk of 16 sinks", 16, SOFTENING, jerk);
        bench("snap", 2048, SOFTENING, Outputs::only(Order::Snap));
        let within = Some(Within { radius: &radius[..2048], capacity: 64 });
        let near = Outputs { nearest: true, potential: true, within, ..jerk };
        bench("jerk, potential and neighbours", 2048, SOFTENING, near);
        group.finish();
    }
}

criterion_group!(benches, direct);
criterion_main!(benches);
