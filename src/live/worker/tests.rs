use std::time::Duration;

use super::*;
use crate::forces::Method;
use crate::scene::Scene;
use crate::sim::{EngineKind, host_engine};

/// Drops a simulation while its first forces are being computed. Returns the seconds until its
/// worker has ended, and whether the forces were ready before.
fn secs_to_cancel(kind: EngineKind, method: Option<Method>, n: usize) -> (f64, bool) {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    let bodies = scene.build().unwrap();
    let mut settings = Settings { softening: 0.05, dt: 0.01, ..Settings::default() };
    (settings.engine, settings.method) = (kind, method);
    let engine = pollster::block_on(host_engine(kind, None, &[], &settings)).unwrap();
    let choice = Choice::of(kind, kind.method(), "the test's", None);
    let link = WorkerLink::start(bodies, WorkerSource::Engine(choice, engine), &settings).unwrap();
    let worker = Arc::downgrade(&link.shared);
    // The forces take seconds.
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
fn dropping_a_simulation_cancels_its_first_forces() {
    let mut cancelled = 0;
    for (kind, method, n) in [
        // Minutes, and some ten seconds, on two cores.
        (EngineKind::Reference, None, 100_000),
        (EngineKind::Cpu, Some(Method::Direct), 400_000),
        // A second.
        (EngineKind::Cpu, Some(Method::Tree), 400_000),
    ] {
        let (secs, ready) = secs_to_cancel(kind, method, n);
        // With many cores the forces may be ready before they are cancelled.
        cancelled += usize::from(!ready);
        // Some 0.01 s on an idle machine.
        assert!(secs < 3.0, "{kind:?} {method:?} went on for {secs} s");
    }
    assert!(cancelled > 0, "all forces were ready before they could be cancelled");
}
