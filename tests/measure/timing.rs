//! The stopwatch and the kernel timer on the adapter.

use gravitile::force::KernelConfig;
use gravitile::measure::{KernelTimer, Method, Stopwatch, Summary, Timer, interleave};

use super::common::gpu;

const BASE: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(64) };

#[test]
fn kernels_are_found_right_and_take_time() {
    let mut timer = KernelTimer::new(&gpu(), 500, 1000).unwrap();
    let candidates =
        [BASE, KernelConfig { q: 2, s: 3, ..BASE }, KernelConfig { untiled: true, r: 2, ..BASE }];
    for candidate in &candidates {
        timer.prepare(candidate).unwrap();
        let error = timer.error_of(candidate).unwrap();
        assert!(error.rms > 0.0 && error.rms < 2e-6, "{candidate}: {error:?}");
        assert!(timer.repeats_of(candidate).unwrap() >= 1);
    }
    let samples = interleave(&mut timer, &candidates, 3, &mut || true).unwrap();
    for set in samples {
        assert_eq!(set.len(), 3);
        assert!(set.iter().all(|secs| *secs > 0.0 && *secs < 10.0), "{set:?}");
    }
    timer.forget(&BASE);
    assert!(timer.error_of(&BASE).is_none());
}

#[test]
fn more_work_takes_longer() {
    let gpu = gpu();
    let middle = |n: usize| {
        let mut timer = KernelTimer::new(&gpu, n, n).unwrap();
        Summary::of(&timer.time(&BASE, 5).unwrap()).unwrap().median
    };
    // 1000 times the interactions: a sign, not a speed.
    assert!(middle(8192) > middle(256));
}

#[test]
fn what_the_adapter_cannot_hold_is_refused_with_the_limit() {
    let mut timer = KernelTimer::new(&gpu(), 100, 100).unwrap();
    let text = timer.prepare(&KernelConfig { p: 1024, q: 1024, ..BASE }).unwrap_err().to_string();
    assert!(text.contains("threads per workgroup"), "{text}");
    assert!(KernelTimer::new(&gpu(), 0, 100).is_err());
    assert!(KernelTimer::new(&gpu(), 100, usize::MAX).is_err());
}

#[test]
fn both_clocks_serve() {
    let gpu = gpu();
    let mut wall = Stopwatch::by_wall_clock(&gpu);
    assert_eq!(wall.method(), Method::WallClock);
    assert!(wall.time(|_| ()).unwrap() > 0.0);
    let mut own = Stopwatch::new(&gpu);
    if gpu.tier.timestamps {
        assert_eq!(own.method(), Method::GpuTimestamps);
    }
    // An empty pass may take no time by a coarse clock; then the doubt is said.
    let secs = own.time(|_| ()).unwrap();
    assert!(secs > 0.0 && (own.method() == Method::GpuTimestamps) == own.doubt().is_none());
}
