//! Mapped storage buffers, which host and kernels access in place, against a device that copies.

use std::sync::Arc;

use super::*;
use crate::common;
use gravitile::forces::MovingSources;
use gravitile::forces::direct::gpu::tiers::{GpuTiers, verdict};
use gravitile::gpu::Gpu;

/// An engine with these sources, without a prediction time.
fn engine_with(gpu: &Arc<Gpu>, precision: Precision, sources: &[Moving]) -> GpuTiers {
    let pairs = verdict(gpu, precision).unwrap().unwrap();
    let mut engine = GpuTiers::unproven(Arc::clone(gpu), precision, pairs).with_rate(1e15);
    engine.set_moving(sources).unwrap();
    engine
}

/// The answers to `calls` of (number of sinks, number of sources replaced before), at increasing
/// times.
fn answers(engine: &mut GpuTiers, sources: &[Moving], calls: &[(usize, usize)]) -> Vec<Forces> {
    let call = |(k, &(sinks, changes)): (usize, &(usize, usize))| {
        let time = Some(3.0 + (k / 2) as f64 / 1024.0);
        let mut placed = ArrivalList::default();
        for (j, source) in sources[..changes].iter().enumerate() {
            let mut moving = *source;
            moving.motion[0] += DVec3::splat(k as f64 / 4096.0);
            placed.push(Goal { at: j as u32, tag: 0 }, &moving);
        }
        engine.predict_to(time);
        engine.announce(&placed.all()).unwrap();
        let block = Block::of(sources, sinks, time);
        let outputs = outputs(if k % 5 == 4 { Order::Snap } else { Order::Jerk });
        engine.begin(&block.sinks(), 1e-2, &outputs).unwrap();
        store(engine, &placed);
        // Sometimes the answers of an evaluation are not fetched.
        if k % 7 == 6 {
            engine.begin(&block.sinks(), 1e-2, &outputs).unwrap();
        }
        let mut found = Forces::default();
        engine.finish(&mut found).unwrap();
        found
    };
    calls.iter().enumerate().map(call).collect()
}

#[test]
fn mapped_buffers_give_same_bits_as_copies() {
    let (mapped, copied) = (common::gpu(), common::baseline());
    assert!(!copied.tier.mapped_storage, "the baseline has no such thing");
    if !mapped.tier.mapped_storage {
        return common::skip::lacking(&mapped.adapter.name, "mapped storage");
    }
    // Repeated sizes, other sizes of the same kernels, other kernels, larger buffers, sinks
    // uploaded in two portions.
    let calls = [
        (64, 64),
        (64, 64),
        (64, 64),
        (50, 3),
        (64, 0),
        (49, 49),
        (1, 1),
        (17, 2),
        (1, 1),
        (3, 9),
        (300, 200),
        (64, 64),
        (300, 300),
        (2500, 700),
        (2500, 2500),
        (64, 64),
        (2400, 10),
        (0, 5),
        (1, 0),
        (3000, 2),
        (64, 64),
        (64, 63),
    ];
    for precision in [Precision::Single, Precision::DoubleSingle] {
        let sources = moving(5000, false);
        let [found, right] = [&mapped, &copied]
            .map(|gpu| answers(&mut engine_with(gpu, precision, &sources), &sources, &calls));
        for (k, (found, right)) in found.iter().zip(&right).enumerate() {
            assert!(found == right, "{}, call {k} of {:?}", precision.name(), calls[k]);
        }
    }
}

#[test]
fn neighbour_lists_interleave_with_mapped_answers() {
    let sources = moving(600, false);
    let block = Block::of(&sources, 100, Some(3.0));
    let radius = vec![0.5; 100];
    let within = Some(Within { radius: &radius, capacity: 600 });
    let all = |gpu: &Arc<Gpu>| {
        let mut engine = engine_with(gpu, Precision::DoubleSingle, &sources);
        engine.predict_to(Some(3.0));
        [None, within, None, within, None].map(|within| {
            answers_of(&mut engine, &block.sinks(), &Outputs { within, ..outputs(Order::Jerk) })
        })
    };
    let found = all(&common::gpu());
    assert!(found == all(&common::baseline()));
    assert_eq!(found[0].acceleration, found[4].acceleration);
    assert!(found[1].neighbours.len() == 100 && found[1].neighbours.found(0) > 0);
}
