//! The stopwatch and the kernel timer on the adapter.

use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::gpu::blocking;
use gravitile::measure::{KernelTimer, Stopwatch, Summary, Timer, TimingMethod, interleave};

use super::common::gpu;

const BASE: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(64) };

#[test]
fn kernel_timer_verifies_and_times_kernels() {
    let mut timer = KernelTimer::new(&gpu(), 500, 1000).unwrap();
    let candidates =
        [BASE, KernelConfig { q: 2, s: 3, ..BASE }, KernelConfig { untiled: true, r: 2, ..BASE }];
    for candidate in &candidates {
        blocking(timer.prepare(candidate)).unwrap();
        let (repeats, _, error) = timer.prepared(candidate).unwrap();
        assert!(error.rms > 0.0 && error.rms < 2e-6, "{candidate}: {error:?}");
        assert!(repeats >= 1);
    }
    let samples = blocking(interleave(&mut timer, &candidates, 3, &mut || true)).unwrap();
    for set in samples {
        assert_eq!(set.len(), 3);
        assert!(set.iter().all(|secs| *secs > 0.0 && *secs < 10.0), "{set:?}");
    }
    timer.forget(&BASE);
    assert!(timer.prepared(&BASE).is_none());
}

#[test]
fn more_work_takes_longer() {
    let gpu = gpu();
    let median_secs = |n: usize| {
        let mut timer = KernelTimer::new(&gpu, n, n).unwrap();
        Summary::of(&blocking(timer.time(&BASE, 5)).unwrap()).unwrap().median
    };
    // 1000 times the interactions must take longer, even with noise.
    assert!(median_secs(8192) > median_secs(256));
}

#[test]
fn kernels_beyond_the_adapter_limits_are_refused() {
    let mut timer = KernelTimer::new(&gpu(), 100, 100).unwrap();
    let text = blocking(timer.prepare(&KernelConfig { p: 1024, q: 1024, ..BASE }))
        .unwrap_err()
        .to_string();
    assert!(text.contains("threads per workgroup"), "{text}");
    assert!(KernelTimer::new(&gpu(), 0, 100).is_err());
    assert!(KernelTimer::new(&gpu(), 100, usize::MAX).is_err());
}

#[test]
fn stopwatch_works_with_both_clocks() {
    let gpu = gpu();
    let mut wall = Stopwatch::by_wall_clock(&gpu);
    assert_eq!(wall.method(), TimingMethod::WallClock);
    assert!(blocking(wall.time(|_| ())).unwrap() > 0.0);
    let mut own = Stopwatch::new(&gpu);
    if gpu.tier.timestamps {
        assert_eq!(own.method(), TimingMethod::GpuTimestamps);
    }
    // A coarse clock may measure no time for an empty pass; then `doubt` gives the reason.
    let secs = blocking(own.time(|_| ())).unwrap();
    assert!(secs > 0.0 && (own.method() == TimingMethod::GpuTimestamps) == own.doubt().is_none());
}

/// A span includes the time between its passes, and is at most the wall-clock time.
#[test]
fn span_covers_first_to_last_pass() {
    let gpu = gpu();
    for mut watch in [Stopwatch::new(&gpu), Stopwatch::by_wall_clock(&gpu)] {
        let stamped = watch.method() == TimingMethod::GpuTimestamps;
        let pause = std::time::Duration::from_millis(20);
        let start = std::time::Instant::now();
        let secs = pollster::block_on(watch.span(async |stamps: Option<&wgpu::QuerySet>| {
            assert_eq!(stamps.is_some(), stamped);
            for first in [true, false] {
                let mut encoder = gpu.device.create_command_encoder(&Default::default());
                let writes = stamps.map(|query_set| wgpu::ComputePassTimestampWrites {
                    query_set,
                    beginning_of_pass_write_index: first.then_some(0),
                    end_of_pass_write_index: Some(1),
                });
                let timestamp_writes = writes;
                let label = Some("of a span");
                let pass = wgpu::ComputePassDescriptor { label, timestamp_writes };
                drop(encoder.begin_compute_pass(&pass));
                gpu.queue.submit([encoder.finish()]);
                gpu.wait()?;
                std::thread::sleep(pause);
            }
            Ok(())
        }));
        let (secs, wall) = (secs.unwrap(), start.elapsed().as_secs_f64());
        // The pause between the two passes counts with either clock; the second pause only with the
        // wall clock.
        assert!(secs > 0.9 * pause.as_secs_f64() && secs <= wall, "{secs} s of {wall} s");
    }
}
