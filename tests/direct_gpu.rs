//! Forces with derivatives on the device: every tier and order against f64, and what the self-test sees.

mod common;

use std::sync::Arc;

use glam::DVec3;
use gravitile::direct::gpu::{Fence, GpuEngine, double_single, verdict};
use gravitile::direct::{
    Answers, DirectEngine, Identity, Order, Precision, Reference, Sinks, Sources, Want, Within,
};
use gravitile::gpu::{AdapterWish, Gpu};
use gravitile::measure::{check_direct, direct_cases};

/// Tiers that hold here, with the reason printed where one does not.
fn tiers() -> Vec<Precision> {
    let gpu = common::gpu();
    let holds = |precision: &Precision| match verdict(&gpu, *precision).unwrap() {
        Ok(fence) => {
            println!("{} holds with fence '{}'", precision.name(), fence.name());
            true
        }
        Err(reason) => {
            println!("{} does not hold: {reason}", precision.name());
            false
        }
    };
    Precision::ALL.map(|(precision, _)| precision).into_iter().filter(holds).collect()
}

#[test]
fn every_tier_and_order_agrees_with_f64() {
    let gpu = common::gpu();
    let tiers = tiers();
    assert!(tiers.contains(&Precision::DoubleSingle), "the tests' adapters have it");
    let cases = direct_cases(&tiers);
    let mut failures = Vec::new();
    for case in &cases {
        let begun = std::time::Instant::now();
        let row = check_direct(&gpu, *case).unwrap();
        if std::env::var_os("VERBOSE").is_some() {
            println!("{:.2} s {row:?}", begun.elapsed().as_secs_f64());
        }
        if !row.passed() {
            failures.push(format!("{row:?}"));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn the_self_test_refuses_arithmetic_without_fences() {
    let gpu = common::gpu();
    // Mesa folds what a plain two-sum loses to 0; another driver that does not would need no fence.
    if gpu.adapter.driver.contains("llvmpipe") {
        let reason = double_single(&gpu, &[Fence::None]).unwrap().unwrap_err();
        println!("{reason}");
        assert!(reason.contains("fence 'none'") && reason.contains("lose their low part"));
        assert!(reason.contains("CPU engine"), "{reason}");
    }
    let none = double_single(&gpu, &[]).unwrap().unwrap_err();
    assert!(none.contains("cannot be made"), "{none}");
}
