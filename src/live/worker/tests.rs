use std::time::Duration;

use super::*;
use crate::forces::Method;
use crate::scene::Scene;
use crate::sim::{EngineKind, host_engine};

/// Seconds from giving up bodies in the middle of their first forces until their worker has ended, and whether the
/// forces were ready before.
fn left(kind: EngineKind, method: Option<Method>, n: usize) -> (f64, bool) {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    let bodies = scene.build().unwrap();
    let mut settings = Settings { softening: 0.05, dt: 0.01, ..Settings::default() };
    (settings.engine, settings.method) = (kind, method);
    let engine = pollster::block_on(host_engine(kind, None, &settings)).unwrap();
    let link = WorkerLink::start(bodies, Home::Host(engine), &settings).unwrap();
    let worker = Arc::downgrade(&link.shared);
    // In the middle of the forces, which take seconds.
    std::thread::sleep(Duration::from_millis(300));
    let ready = lock(&link.shared.outbox).progress.ready;
    let begun = Instant::now();
    drop(link);
    while worker.upgrade().is_some() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{kind:?} {method:?}: it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    (begun.elapsed().as_secs_f64(), ready)
}

#[test]
fn first_forces_that_nobody_waits_for_any_more_end_at_once() {
    let mut seen = 0;
    for (kind, method, n) in [
        // Minutes, and some ten seconds on two cores.
        (EngineKind::Reference, None, 100_000),
        (EngineKind::Cpu, Some(Method::Direct), 400_000),
        // A second.
        (EngineKind::Cpu, Some(Method::Tree), 400_000),
    ] {
        let (secs, ready) = left(kind, method, n);
        // Many cores may have been too fast to give up.
        seen += usize::from(!ready);
        // Hundredths of a second, where nothing else runs.
        assert!(secs < 3.0, "{kind:?} {method:?} went on for {secs} s");
    }
    assert!(seen > 0, "all forces were there before they could be left");
}
