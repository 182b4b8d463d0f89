//! Prefix sums and sorts on the device, timed by its timestamps where it has them. Criterion's
//! elements are numbers and keys.
//!
//! `GRAVITILE_SORT_MOST=26` measures up to 2^26 keys. The default is 2^20, which a software adapter
//! sorts in a second.

use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gravitile::gpu::AdapterRequest;
use gravitile::gpu::{Checks, Gpu, KeyWidth, Scan, Sort, SortedBuffers, blocking};
use gravitile::measure::Stopwatch;

/// Base-2 logarithm of the smallest number of keys.
const SMALLEST: u32 = 12;

/// A new buffer of `count` pseudo-random 32-bit words.
fn random_words(gpu: &Gpu, count: u64, seed: u64) -> wgpu::Buffer {
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4 * count,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    // In chunks: staging all words at once would take as much memory as the buffer.
    let mut state = seed;
    let mut chunk = vec![0u64; 1 << 17];
    let mut at = 0;
    while at < buffer.size() {
        for word in &mut chunk {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state;
        }
        let bytes = (buffer.size() - at).min(8 << 17) as usize;
        gpu.queue.write_buffer(&buffer, at, &bytemuck::cast_slice(&chunk)[..bytes]);
        at += bytes as u64;
    }
    buffer
}

fn sizes(gpu: &Gpu, bytes_per_entry: u64) -> impl Iterator<Item = u32> {
    let most = std::env::var("GRAVITILE_SORT_MOST").ok().and_then(|most| most.parse().ok());
    let capacity = gpu.limits.storage_buffer / bytes_per_entry;
    (SMALLEST..=most.unwrap_or(20))
        .step_by(2)
        .map(|k| 1 << k)
        .filter(move |n| *n as u64 <= capacity)
}

fn sort(c: &mut Criterion, gpu: &Arc<Gpu>) {
    let mut watch = Stopwatch::new(gpu);
    for width in [KeyWidth::Bits32, KeyWidth::Bits64] {
        let mut group = c.benchmark_group(format!("sort/{} bits", width.bits()));
        group.sample_size(10);
        for n in sizes(gpu, 4 * u64::from(width.words())) {
            let count = u64::from(n) * u64::from(width.words());
            let (keys, payloads) =
                (random_words(gpu, count, 1), random_words(gpu, u64::from(n), 2));
            let buffers =
                SortedBuffers { keys: &keys, width, payloads: &payloads, capacity: n, count: None };
            let mut sort = pollster::block_on(Sort::new(gpu, buffers, Checks::Off)).expect("room");
            group.throughput(Throughput::Elements(u64::from(n)));
            let unsorted = random_words(gpu, count, 3);
            group.bench_function(BenchmarkId::from_parameter(n), |b| {
                b.iter_custom(|times| {
                    let secs = (0..times)
                        .map(|_| time_sort(gpu, &mut watch, &mut sort, [&unsorted, &keys], n));
                    Duration::from_secs_f64(secs.sum())
                });
            });
        }
    }
}

/// Seconds of a sort of unsorted keys; sorted ones would be scattered to adjacent addresses. Four
/// sorts that are not timed run just before, so that the device is at its full clock rate.
fn time_sort(
    gpu: &Gpu,
    watch: &mut Stopwatch,
    sort: &mut Sort,
    [unsorted, keys]: [&wgpu::Buffer; 2],
    n: u32,
) -> f64 {
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    sort.begin_submission();
    for _ in 0..4 {
        encoder.copy_buffer_to_buffer(unsorted, 0, keys, 0, unsorted.size());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        sort.record(&mut pass, n, u32::MAX);
    }
    encoder.copy_buffer_to_buffer(unsorted, 0, keys, 0, unsorted.size());
    sort.end_submission(gpu);
    gpu.queue.submit([encoder.finish()]);
    let timed = blocking(watch.time(|pass| {
        sort.begin_submission();
        sort.record(pass, n, u32::MAX);
        sort.end_submission(gpu);
    }));
    timed.expect("the device works")
}

/// Seconds of a prefix sum, after 16 that are not timed.
fn time_scan(gpu: &Gpu, watch: &mut Stopwatch, scan: &mut Scan, n: u32) -> f64 {
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    scan.begin_submission();
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for _ in 0..16 {
            scan.record(&mut pass, n);
        }
    }
    scan.end_submission(gpu);
    gpu.queue.submit([encoder.finish()]);
    let timed = blocking(watch.time(|pass| {
        scan.begin_submission();
        scan.record(pass, n);
        scan.end_submission(gpu);
    }));
    timed.expect("the device works")
}

fn scan(c: &mut Criterion, gpu: &Arc<Gpu>) {
    let mut watch = Stopwatch::new(gpu);
    let mut group = c.benchmark_group("scan");
    group.sample_size(10);
    for n in sizes(gpu, 4) {
        let values = random_words(gpu, u64::from(n), 1);
        let scan = pollster::block_on(Scan::new(gpu, &values, None, n, Checks::Off));
        let mut scan = scan.expect("room");
        group.throughput(Throughput::Elements(u64::from(n)));
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter_custom(|times| {
                let secs = (0..times).map(|_| time_scan(gpu, &mut watch, &mut scan, n));
                Duration::from_secs_f64(secs.sum())
            });
        });
    }
}

fn all(c: &mut Criterion) {
    let gpu = Gpu::open_blocking(&AdapterRequest::default()).expect("an adapter");
    println!("{} ({})", gpu.adapter.name, Stopwatch::new(&gpu).method().name());
    scan(c, &gpu);
    sort(c, &gpu);
}

criterion_group!(benches, all);
criterion_main!(benches);
