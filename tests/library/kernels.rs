//! Every kernel variant on the device against f64.

use crate::common;

use gravitile::forces::direct::gpu::{GpuSingle, KernelRequest};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources, TestBodies};
use gravitile::measure::{cases, check, check_steps, steps_cases};

#[test]
fn every_variant_agrees_with_f64() {
    let gpu = common::gpu();
    let (cases, skipped) = cases(&gpu);
    // Every adapter supports WebGPU's baseline of 256 threads per workgroup.
    for skipped in &skipped {
        let config = skipped.config;
        assert!(config.p * config.q > 256, "{config} was left out: {}", skipped.reason);
        common::skip::skipped(&config.to_string(), &skipped.reason);
    }
    assert!(cases.len() >= 17 * 24, "{} cases", cases.len());
    let mut failures = Vec::new();
    let (mut worst, mut rms) = (0.0f64, 0.0f64);
    for case in &cases {
        let row = check(&gpu, *case).unwrap();
        worst = worst.max(row.acceleration.worst);
        rms = rms.max(row.acceleration.rms);
        if !row.passed() {
            failures.push(format!("{row:?}"));
        }
    }
    println!("{} cases on {}, worst {worst:e}, rms {rms:e}", cases.len(), gpu.adapter.name);
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn steps_in_one_workgroup_agree_with_f64() {
    let gpu = common::gpu();
    let cases = steps_cases(&gpu);
    assert!(cases.len() >= 10, "{} cases", cases.len());
    let mut failures = Vec::new();
    for case in cases {
        let row = check_steps(&gpu, case).unwrap();
        if !row.passed() {
            failures.push(format!("{row:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Pairs of sinks and sources in registers are another way to the same operations in the same
/// order.
#[test]
fn pairs_and_registers_have_the_bits_of_the_plain_kernel() {
    let gpu = common::gpu();
    let bodies = TestBodies::new(3000, 7);
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    let bits = |request: KernelRequest| {
        let mut engine = GpuSingle::new(gpu.clone(), request);
        let mut found = Forces::default();
        engine.evaluate_from(&sources, &sinks, 0.05, &Outputs::ACCELERATION, &mut found).unwrap();
        found.acceleration.iter().flat_map(|a| a.to_array().map(f64::to_bits)).collect::<Vec<_>>()
    };
    let shape =
        |p| KernelRequest { p: Some(p), r: Some(4), u: Some(4), ..KernelRequest::default() };
    let tiled = KernelRequest { tiled: true, ..shape(64) };
    assert!(bits(tiled) == bits(KernelRequest { vec2: true, ..tiled }));
    let untiled = KernelRequest { untiled: true, ..shape(128) };
    assert!(bits(untiled) == bits(KernelRequest { vec2: true, ..untiled }));
    match gpu.limits.subgroup_sizes {
        Some([least, most]) if least >= 4 && most <= 128 => {
            let broadcast = KernelRequest { untiled: false, broadcast: true, ..untiled };
            assert!(bits(untiled) == bits(broadcast));
            assert!(bits(untiled) == bits(KernelRequest { vec2: true, ..broadcast }));
        }
        sizes => common::skip::skipped("broadcast", &format!("subgroups: {sizes:?}")),
    }
}
