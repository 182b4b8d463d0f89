//! Which shape of the kernels with derivatives is fastest here: `cargo bench --bench shapes [-- SOURCES SINKS]`.
//!
//! Double-single, acceleration, jerk, potential and the nearest, all sources held by the device and not sent again. For
//! each number of sources and sinks, in microseconds from host to host, the median of up to 60 evaluations: what the
//! engine takes by itself, and the five fastest of what was tried. Rows that are far from the rate of the longest are
//! bound by the host or by latency, where a shape changes little.

use std::sync::Arc;
use std::time::Instant;

use gravitile::forces::direct::gpu::tiers::{GpuTiers, Shape};
use gravitile::forces::{Answers, ForceEngine, Identity, Order, Precision, TestBodies, Want};
use gravitile::gpu::{AdapterRequest, Checks, Gpu};

const SOURCES: [usize; 3] = [16_384, 131_072, 524_288];
const SINKS: [usize; 7] = [1, 16, 64, 256, 1024, 4096, 16_384];

fn main() {
    // `cargo test --benches` only wants to see that it runs.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let asked: Vec<usize> = if is_bench { numbers.collect() } else { vec![1024, 64] };
    let of = |k: usize, all: &[usize]| asked.get(k).map_or_else(|| all.to_vec(), |n| vec![*n]);
    let gpu = Gpu::open_blocking(&AdapterRequest::default()).expect("an adapter should be there");
    println!("{}", gpu.adapter.name);
    let mut measuring = Measuring { gpu, bodies: TestBodies::default(), taken: 0 };
    for sources in of(0, &SOURCES) {
        measuring.bodies = TestBodies::new(sources, 1);
        let (mut usual, mut shaped) = (measuring.engine(), Some(measuring.engine()));
        for sinks in of(1, &SINKS).into_iter().filter(|sinks| *sinks <= sources) {
            let by_itself = measuring.measure(&mut usual, sinks, f64::INFINITY);
            let by_itself = by_itself.expect("what the engine takes by itself should fit");
            let known = usual.describe();
            let mut found = Vec::new();
            let mut best = by_itself;
            let tried = shapes(sources as u32, sinks as u32);
            for shape in tried.into_iter().take(if is_bench { usize::MAX } else { 4 }) {
                let engine = shaped.take().expect("it comes back").with_shape(shape, Checks::Off);
                let mut engine = engine.expect("the shape is valid");
                // A shape whose partial sums fit no buffer of this adapter is none.
                if let Some(micros) = measuring.measure(&mut engine, sinks, 2.0 * best) {
                    best = best.min(micros);
                    found.push((micros, shape));
                }
                shaped = Some(engine);
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let pairs = (sources * sinks) as f64;
            println!(
                "nj {sources:6} ni {sinks:5}: by itself {by_itself:7.0} us ({:5.1} x 10^9 pairs/s), {}",
                pairs / by_itself * 1e-3,
                known.rsplit(", ").next().unwrap_or_default()
            );
            for (micros, shape) in found.iter().take(5) {
                println!("    {micros:7.0} us ({:5.1}) {shape}", pairs / micros * 1e-3);
            }
        }
    }
    println!("{} evaluations", measuring.taken);
}

struct Measuring {
    gpu: Arc<Gpu>,
    bodies: TestBodies,
    taken: u64,
}

impl Measuring {
    fn engine(&self) -> GpuTiers {
        let engine = GpuTiers::new(Arc::clone(&self.gpu), Precision::DoubleSingle);
        let mut engine = engine.expect("the tier should hold");
        engine.set_sources(&self.bodies.sources(self.bodies.len())).expect("they are sound");
        engine
    }

    /// The median; what is beyond `hopeless` after a few is given up. None where the engine refuses.
    fn measure(&mut self, engine: &mut GpuTiers, sinks: usize, hopeless: f64) -> Option<f64> {
        let want = Want { potential: true, nearest: true, ..Want::only(Order::Jerk) };
        let (sinks, mut out) =
            (self.bodies.sinks(0..sinks, Identity::Offset(0)), Answers::default());
        let (mut times, begun) = (Vec::new(), Instant::now());
        for turn in 0..60 {
            let start = Instant::now();
            engine.evaluate(&sinks, 1.0 / 256.0, &want, &mut out).ok()?;
            self.taken += 1;
            // The first compiles.
            if turn >= 2 {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            if turn >= 5 && (begun.elapsed().as_millis() > 150 || least > hopeless) {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        Some(times[times.len() / 2])
    }
}

/// What suits that many.
fn shapes(sources: u32, sinks: u32) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for threads in [64, 128, 256] {
        for p in [1, 4, 16, 32, 64, 128, 256] {
            for r in [1, 2, 4] {
                let is_wide = p * r > 2 * sinks.next_power_of_two();
                let is_narrow = 64 * p * r < sinks && p < 64;
                if p > threads || is_wide || is_narrow {
                    continue;
                }
                let one = Shape { p, q: threads / p, r, u: p.min(16), l: 1, slices: 1 };
                let workgroups = sinks.div_ceil(p * r);
                let most = sources.div_ceil(threads);
                for fill in [1 << 16, 1 << 17, 1 << 18, 1 << 19] {
                    let slices = (fill / (workgroups * threads)).clamp(1, most.min(4096));
                    shapes.push(Shape { slices, ..one });
                }
            }
        }
    }
    shapes.dedup();
    shapes
}
