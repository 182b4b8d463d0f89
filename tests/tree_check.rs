//! `check` of the tree: everything passes, and what is broken does not. Texts of kernels belong to a process, so the broken
//! ones are tried here and nowhere else.

mod common;

use gravitile::forces::tree::{MultipoleOrder, Opening};
use gravitile::measure::{Cloud, TreeCase, TreeRow, check_tree, tree_cases};

use common::broken::device_with;

/// The case with a text replaced, on a device that has compiled nothing yet.
fn with(case: TreeCase, file: &str, from: &str, to: &str) -> TreeRow {
    let gpu = device_with(file, from, to);
    check_tree(Some(&gpu), case).unwrap()
}

#[test]
fn the_tree_passes_and_broken_ones_do_not() {
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

    // The usual rule on a Plummer sphere.
    let case = TreeCase { n: 2_000, sinks: 500, potential: true, ..cases[0] };
    assert!(matches!(case.shape.opening, Opening::Acceleration { .. }));
    assert_eq!(case.shape.order, MultipoleOrder::Quadrupole);
    let moment = with(case, "tree/leaves.wgsl", "3.0 * body.w * d * d", "2.9 * body.w * d * d");
    let what = moment.stages.clone().unwrap_err();
    assert!(!moment.passed() && what.contains("second moment"), "{what}");
    let inner = with(case, "tree/inner.wgsl", "3.0 * mass.w * d * d", "2.0 * mass.w * d * d");
    assert!(inner.stages.unwrap_err().contains("second moment"));

    // What comes after the building is seen in the forces alone.
    let disk = TreeCase { cloud: Cloud::Disk, n: 4_097, sinks: 1_024, ..case };
    for (file, from, to) in [
        ("tree/pull.wgsl", "fma(2.5 * squared, q", "fma(-2.5 * squared, q"),
        ("tree/pull.wgsl", "fma(0.5, q, -beside.w)", "fma(-0.5, q, -beside.w)"),
        ("tree/opening/acceleration.wgsl", "* reach > critical", "* reach * 4.0 > critical"),
    ] {
        let row = with(disk, file, from, to);
        let errors = &row.acceleration;
        println!("{from}: {:.1e}, {:.1e}, {:?}", errors.rms(), errors.worst(), row.potential);
        assert!(row.stages.is_ok() && !row.passed(), "'{to}' for '{from}' was not seen");
    }
}
