//! The stages of the tree build: integers must be equal, sums agree to 1e-6.

use gravitile::forces::tree::gpu::TreeShape;
use gravitile::forces::tree::{MultipoleOrder, Opening, PointMass};
use gravitile::gpu::{Checks, Gpu};
use gravitile::measure::BuiltTree;

use super::bodies::{hard_cases, plummer};
use super::common;

/// Builds a tree on the device and compares each stage; `name` labels the bodies in messages.
fn compare(gpu: &Gpu, name: &str, places: &[PointMass]) {
    let built = BuiltTree::build(gpu, shape(), places).unwrap();
    built.compare(places, &shape()).unwrap_or_else(|what| panic!("{name}: {what}"));
}

fn shape() -> TreeShape {
    TreeShape {
        checks: Checks::On,
        ..TreeShape::new(Opening::Acceleration { alpha: 0.003 }, MultipoleOrder::Quadrupole)
    }
}

#[test]
fn build_stages_equal_host() {
    let gpu = common::gpu();
    for n in [1, 2, 31, 32, 33, 63, 64, 65, 1000, 4097, 30_000] {
        let places = plummer(n, n as u64);
        compare(&gpu, &format!("{n} bodies"), &places);
    }
}

#[test]
fn build_stages_of_hard_cases_equal_host() {
    let gpu = common::gpu();
    for (name, places) in hard_cases() {
        compare(&gpu, name, &places);
    }
}

/// The comparison itself must detect faults of each kind.
#[test]
fn comparison_detects_faults_of_each_stage() {
    let gpu = common::gpu();
    let places = plummer(3000, 5);
    let built = BuiltTree::build(&gpu, shape(), &places).unwrap();
    let detected = |change: &dyn Fn(&mut BuiltTree)| {
        let mut other = built.clone();
        change(&mut other);
        other.compare(&places, &shape()).expect_err("a fault was not seen")
    };
    assert!(detected(&|tree| tree.state.half *= 2.0).contains("cube"));
    assert!(detected(&|tree| tree.order.swap(100, 101)).contains("order"));
    assert!(detected(&|tree| tree.keys[7].lo ^= 1).contains("key 7"));
    assert!(detected(&|tree| tree.sources[9][3] *= 1.01).contains("body 9"));
    assert!(detected(&|tree| tree.state.scattered += 1).contains("scattered"));
    assert!(detected(&|tree| tree.bounds[3].level += 1).contains("cell 3"));
    assert!(detected(&|tree| tree.open[0].child += 16).contains("children of cell 0"));
    assert!(detected(&|tree| tree.force[2].mass *= 1.0001).contains("mass"));
    assert!(detected(&|tree| tree.force[2].diagonal[1] *= 1.001).contains("second moment"));
    assert!(detected(&|tree| tree.open[5].radius_squared *= 0.98).contains("radius"));
    assert!(detected(&|tree| tree.open[5].critical *= 1.01).contains("critical"));
}
