//! `check` of the tree: all cases pass, and broken kernels fail. Replaced shader texts are global
//! to the process, so they have a test executable of their own.

use crate::common;

use gravitile::forces::tree::{MultipoleOrder, Opening};
use gravitile::measure::{Cloud, TreeCase, TreeRow, check_tree, tree_cases};

use common::broken::device_with;

/// Checks the case with `from` replaced by `to` in a shader file, on a device without compiled
/// kernels.
fn check_with(case: TreeCase, file: &str, from: &str, to: &str) -> TreeRow {
    let gpu = device_with(file, from, to);
    check_tree(Some(&gpu), case).unwrap()
}

#[test]
fn correct_tree_passes_and_broken_kernels_fail() {
    let _alone = crate::alone();
    let gpu = common::gpu();
    let cases = tree_cases(Some(&gpu));
    assert!(cases.len() > 30, "{} cases", cases.len());
    for cloud in Cloud::ALL {
        assert!(cases.iter().any(|case| case.cloud == cloud.0), "{}", cloud.1);
    }
    let mut failures = Vec::new();
    for case in &cases {
        let row = check_tree(Some(&gpu), *case).unwrap();
        let (errors, most) = (&row.acceleration, case.limits());
        println!(
            "{} {} {}: rms {:.1e} of {:.1e}, worst {:.1e}, momentum {:.1e} of {:.1e}, {:?}",
            case.cloud.name(),
            case.n,
            case.shape,
            errors.rms(),
            most.rms,
            errors.worst(),
            row.momentum,
            most.momentum,
            row.potential
        );
        if !row.passed() {
            failures.push(format!("{case:?}: {:?}", row.stages));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));

    // The default opening rule on a Plummer sphere.
    let case = TreeCase { n: 2_000, sinks: 500, potential: true, ..cases[0] };
    assert!(matches!(case.shape.opening, Opening::Acceleration { .. }));
    assert_eq!(case.shape.order, MultipoleOrder::Quadrupole);
    let state =
        check_with(case, "tree/leaves.wgsl", "3.0 * body.w * d * d", "2.9 * body.w * d * d");
    let what = state.stages.clone().unwrap_err();
    assert!(!state.passed() && what.contains("second moment"), "{what}");
    let inner = check_with(case, "tree/inner.wgsl", "3.0 * mass.w * d * d", "2.0 * mass.w * d * d");
    assert!(inner.stages.unwrap_err().contains("second moment"));

    // Faults after the tree build show only in the forces.
    let disk = TreeCase { cloud: Cloud::Disk, n: 4_097, sinks: 1_024, ..case };
    for (file, from, to) in [
        ("tree/pull.wgsl", "fma(2.5 * squared, q", "fma(-2.5 * squared, q"),
        ("tree/pull.wgsl", "fma(0.5, q, -beside.w)", "fma(-0.5, q, -beside.w)"),
        ("tree/opening/acceleration.wgsl", "* reach > critical", "* reach * 4.0 > critical"),
    ] {
        let row = check_with(disk, file, from, to);
        let errors = &row.acceleration;
        println!("{from}: {:.1e}, {:.1e}, {:?}", errors.rms(), errors.worst(), row.potential);
        assert!(row.stages.is_ok() && !row.passed(), "'{to}' for '{from}' was not seen");
    }

    // An expansion that lacks a term, or has it wrong.
    for (from, to) in [
        ("fma(o.yzx, fourth - p4_15, xxyz)", "xxyz"),
        ("fma(second, fourth - 6.0 * p4_15", "fma(second, fourth - 5.0 * p4_15"),
        ("- 5.0 * fma(v, n.yzx", "- 4.0 * fma(v, n.yzx"),
        ("+ all_xyz * yo.yzx", ""),
    ] {
        let what = check_with(case, "tree/far.wgsl", from, to).stages.unwrap_err();
        assert!(what.contains("far cells of group"), "'{to}' for '{from}': {what}");
    }
    // Lists that are full lose nothing but time.
    let full = check_with(disk, "tree/walk.wgsl", "far_count + LANES < FAR_ROOM", "far_count < 8u");
    assert!(full.passed(), "{:?}", full.stages);
}
