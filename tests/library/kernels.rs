//! Every kernel variant on the device against f64.

use crate::common;

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
    for (config, n, softening) in cases {
        let row = check_steps(&gpu, config, n, softening).unwrap();
        if !row.passed() {
            failures.push(format!("{row:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
