//! `check` refuses kernels that were broken. Texts of kernels belong to a process, so they are tried here and nowhere else.

mod common;

use gravitile::measure::{Case, Row, cases, check};

use common::broken::device_with;

/// The case with a text replaced, on a device that has compiled nothing yet.
fn with(case: Case, file: &str, from: &str, to: &str) -> Row {
    let gpu = device_with(file, from, to);
    check(&gpu, case).unwrap()
}

#[test]
fn broken_kernels_are_refused() {
    let gpu = common::gpu();
    let (all, _) = cases(&gpu);
    let of = |untiled: bool, sources: usize| {
        let wanted = |c: &&Case| {
            let plain = (c.config.r, c.config.s, c.config.q) == (1, 1, 1) && !c.potential;
            plain && c.config.untiled == untiled && c.config.p == 64 && c.sources == sources
        };
        *all.iter().find(wanted).unwrap()
    };
    // One source past the end, where the tile has room for it: bindings that end there would give it no mass.
    let case = of(false, 1000);
    assert!(check(&gpu, case).unwrap().passed());
    let file = "force/all_pairs.wgsl";
    assert!(!with(case, file, "if j_{{ load }} < end", "if j_{{ load }} <= end").passed());
    assert!(!with(case, file, "if j_{{ load }} < end", "if j_{{ load }} + 1u < end").passed());
    let case = of(true, 1000);
    let (file, from) = ("force/untiled.wgsl", "min(block_begin + P, end)");
    assert!(!with(case, file, from, "min(block_begin + P, end + 1u)").passed());
    // What is left as it was passes.
    assert!(with(case, file, from, from).passed());
}
