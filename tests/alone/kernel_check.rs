//! `check` refuses broken kernels. Kernel sources are global to the process, so this is a test
//! program of its own.

use crate::common;

use gravitile::measure::{CaseResult, KernelCase, cases, check};

use common::broken::device_with;

/// Checks the case with a passage of a kernel replaced, on a device with an empty kernel cache.
fn check_edited(case: KernelCase, file: &str, from: &str, to: &str) -> CaseResult {
    let gpu = device_with(file, from, to);
    check(&gpu, case).unwrap()
}

#[test]
fn broken_kernels_are_refused() {
    let _alone = crate::alone();
    let gpu = common::gpu();
    let (all, _) = cases(&gpu);
    let of = |untiled: bool, sources: usize| {
        let is_wanted = |c: &&KernelCase| {
            let plain = (c.config.r, c.config.s, c.config.q) == (1, 1, 1) && !c.potential;
            plain && c.config.untiled == untiled && c.config.p == 64 && c.sources == sources
        };
        *all.iter().find(is_wanted).unwrap()
    };
    // One source past the end, where the tile has room for it. Bindings that end there would give
    // it no mass.
    let case = of(false, 1000);
    assert!(check(&gpu, case).unwrap().passed());
    let file = "force/all_pairs.wgsl";
    assert!(!check_edited(case, file, "if j_{{ load }} < end", "if j_{{ load }} <= end").passed());
    assert!(
        !check_edited(case, file, "if j_{{ load }} < end", "if j_{{ load }} + 1u < end").passed()
    );
    let case = of(true, 1000);
    let (file, from) = ("force/untiled.wgsl", "min(block_begin + P, end)");
    assert!(!check_edited(case, file, from, "min(block_begin + P, end + 1u)").passed());
    // An unchanged kernel passes.
    assert!(check_edited(case, file, from, from).passed());
}
