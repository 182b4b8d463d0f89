//! The fastest shapes of the kernels with derivatives on this device:
//! `cargo bench --bench shapes [-- SOURCES SINKS]`.
//!
//! Evaluates acceleration, jerk, potential and nearest neighbour in double-single, with all sources
//! resident on the device. For each number of sources and sinks, prints the median time in
//! microseconds, from host to host, of up to 60 evaluations: of the shape that the engine chooses,
//! and of the five fastest tried. Rows whose rate is far below that of the longest are limited by
//! the host or by latency, and the shape matters little.

use std::sync::Arc;
use std::time::Instant;

use gravitile::forces::direct::gpu::tiers::{GpuTiers, TierShape};
use gravitile::forces::{ForceEngine, Forces, Identity, Order, Outputs, Precision, TestBodies};
use gravitile::gpu::{AdapterRequest, Checks, Gpu};

const SOURCES: [usize; 3] = [16_384, 131_072, 524_288];
const SINKS: [usize; 7] = [1, 16, 64, 256, 1024, 4096, 16_384];

fn main() {
    // `cargo test --benches` runs one small case.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let arguments: Vec<usize> = if is_bench { numbers.collect() } else { vec![1024, 64] };
    let argument_or =
        |k: usize, all: &[usize]| arguments.get(k).map_or_else(|| all.to_vec(), |n| vec![*n]);
    let gpu = Gpu::open_blocking(&AdapterRequest::default()).expect("an adapter should be there");
    println!("{}", gpu.adapter.name);
    let mut bench = Bench { gpu, bodies: TestBodies::default(), evaluations: 0 };
    for sources in argument_or(0, &SOURCES) {
        bench.bodies = TestBodies::new(sources, 1);
        let (mut default_engine, mut shaped_engine) = (bench.engine(), Some(bench.engine()));
        for sinks in argument_or(1, &SINKS).into_iter().filter(|sinks| *sinks <= sources) {
            let by_default = bench.measure(&mut default_engine, sinks, f64::INFINITY);
            let by_default = by_default.expect("what the engine takes by itself should fit");
            let description = default_engine.describe();
            let mut found = Vec::new();
            let mut best = by_default;
            let tried = shapes(sources as u32, sinks as u32);
            for shape in tried.into_iter().take(if is_bench { usize::MAX } else { 4 }) {
                let engine =
                    shaped_engine.take().expect("it comes back").with_shape(shape, Checks::Off);
                let mut engine = engine.expect("the shape is valid");
                // Skips shapes whose partial sums exceed this adapter's buffers.
                if let Some(micros) = bench.measure(&mut engine, sinks, 2.0 * best) {
                    best = best.min(micros);
                    found.push((micros, shape));
                }
                shaped_engine = Some(engine);
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let pairs = (sources * sinks) as f64;
            println!(
                "nj {sources:6} ni {sinks:5}: by itself {by_default:7.0} us ({:5.1} x 10^9 pairs/s), {}",
                pairs / by_default * 1e-3,
                description.rsplit(", ").next().unwrap_or_default()
            );
            for (micros, shape) in found.iter().take(5) {
                println!("    {micros:7.0} us ({:5.1}) {shape}", pairs / micros * 1e-3);
            }
        }
    }
    println!("{} evaluations", bench.evaluations);
}

struct Bench {
    gpu: Arc<Gpu>,
    bodies: TestBodies,
    evaluations: u64,
}

impl Bench {
    fn engine(&self) -> GpuTiers {
        let engine = GpuTiers::new(Arc::clone(&self.gpu), Precision::DoubleSingle);
        let mut engine = engine.expect("the tier should hold");
        engine.set_sources(&self.bodies.sources(self.bodies.len())).expect("they are sound");
        engine
    }

    /// Median time in microseconds. Stops early if all times are above `give_up_us`. `None` if the
    /// engine returns an error.
    fn measure(&mut self, engine: &mut GpuTiers, sinks: usize, give_up_us: f64) -> Option<f64> {
        let outputs = Outputs { potential: true, nearest: true, ..Outputs::only(Order::Jerk) };
        let (sinks, mut out) =
            (self.bodies.sinks(0..sinks, Identity::Offset(0)), Forces::default());
        let (mut times, begun) = (Vec::new(), Instant::now());
        for turn in 0..60 {
            let start = Instant::now();
            engine.evaluate(&sinks, 1.0 / 256.0, &outputs, &mut out).ok()?;
            self.evaluations += 1;
            // The first evaluations compile.
            if turn >= 2 {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            if turn >= 5 && (begun.elapsed().as_millis() > 150 || least > give_up_us) {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        Some(times[times.len() / 2])
    }
}

/// Shapes to try for these numbers of sources and sinks.
fn shapes(sources: u32, sinks: u32) -> Vec<TierShape> {
    let mut shapes = Vec::new();
    for threads in [64, 128, 256] {
        for p in [1, 4, 16, 32, 64, 128, 256] {
            for r in [1, 2, 4] {
                let is_wide = p * r > 2 * sinks.next_power_of_two();
                let is_narrow = 64 * p * r < sinks && p < 64;
                if p > threads || is_wide || is_narrow {
                    continue;
                }
                let one = TierShape { p, q: threads / p, r, u: p.min(16), l: 1, slices: 1 };
                let workgroups = sinks.div_ceil(p * r);
                let most = sources.div_ceil(threads);
                for fill in [1 << 16, 1 << 17, 1 << 18, 1 << 19] {
                    let slices = (fill / (workgroups * threads)).clamp(1, most.min(4096));
                    shapes.push(TierShape { slices, ..one });
                }
            }
        }
    }
    shapes.dedup();
    shapes
}
