//! How many machine instructions an interaction costs on an AMD GPU, with the real compiler.
//!
//! Mesa's RADV compiles for GPUs that are absent. This test compiles the force kernel for navi21
//! and counts the instructions of the inner loop, so that changes to the shaders, naga or their
//! options cannot lengthen it unnoticed. Without RADV the test is skipped.
#![cfg(feature = "inspect")]

use crate::common::skip;

use gravitile::forces::direct::gpu::{KernelConfig, KernelVariant};
use gravitile::gpu::Checks;
use gravitile::inspect::{Inspector, LEAST_PER_INTERACTION, driver_manifest};

#[test]
fn inner_loop_instruction_count_is_bounded() {
    if driver_manifest().is_none() {
        skip::skipped("machine instructions per interaction", "no RADV driver is installed");
        return;
    }
    // SAFETY: the only test of this program, and no thread has been started.
    let unknown = unsafe { Inspector::absent("no-such-gpu") }.err().expect("there is none");
    let unknown = unknown.to_string();
    // The list of known GPUs is longer than a line, and its middle is elided.
    assert!(unknown.contains("'no-such-gpu'") && unknown.contains("polaris10"), "{unknown}");
    // SAFETY: as above.
    let navi21 = unsafe { Inspector::absent("navi21") }.unwrap();
    assert!(std::env::var_os("RADV_FORCE_FAMILY").is_none());

    let config = |r, u| KernelConfig { r, u, ..KernelConfig::tiled(256) };
    let report_of = |config| {
        navi21
            .report(&KernelVariant {
                config,
                guarded: false,
                potential: false,
                one_mass: false,
                alone: false,
            })
            .unwrap()
    };
    // Measured with Mesa 22.3.6 and naga 30; the bounds have no margin.
    for (r, u, most) in [(1, 1, 22.0), (1, 4, 18.3), (2, 4, 15.6), (4, 4, 14.3), (8, 2, 13.8)] {
        let report = report_of(config(r, u));
        let assembly = report.assembly.as_deref().unwrap();
        let found = report.inner_loop.as_ref().unwrap();
        assert_eq!(found.interactions as u32, r * u, "{assembly}");
        let count = found.per_interaction();
        let (registers, subgroups) = (report.registers(), report.subgroups_per_simd());
        println!(
            "r = {r}, u = {u}: {count:.2} instructions per interaction, {registers:?} registers, {subgroups:?} subgroups"
        );
        assert!(count >= LEAST_PER_INTERACTION, "r = {r}, u = {u}: {count} are too few");
        assert!(
            count <= most + 0.05,
            "r = {r}, u = {u}: {count:.2} are more than {most}:\n{assembly}"
        );
        assert_eq!(report.spilled(), Some(0));
        assert_eq!(report.workgroup_memory(), Some(4096));
        // A Radeon RX 6800 holds up to 16 subgroups per SIMD unit; Mesa's figure and the computed
        // one agree.
        let by_hand = report.room(256).unwrap();
        assert_eq!((report.subgroup_size, report.least_subgroup_size), (64, 32));
        assert_eq!(subgroups, Some(u64::from(by_hand.subgroups)), "{by_hand:?}");
        assert!(registers.unwrap() >= 16 && (1..=16).contains(&subgroups.unwrap()));
        assert!(report.instructions().unwrap() > found.instructions as u64);
    }
    // Run-time checks add instructions.
    let checked = report_of(KernelConfig { checks: Checks::On, ..config(1, 4) });
    assert!(checked.per_interaction().unwrap() > 18.5);
    // The remainder loop of the untiled kernel is not mistaken for its main loop.
    let untiled = report_of(KernelConfig { untiled: true, ..config(2, 4) });
    assert_eq!(untiled.inner_loop.unwrap().interactions, 8);
    let bad = KernelConfig { r: 99, ..config(1, 1) };
    let bad = KernelVariant {
        config: bad,
        guarded: false,
        potential: false,
        one_mass: false,
        alone: false,
    };
    assert!(navi21.report(&bad).unwrap_err().to_string().contains("r is 99"));
    derivatives(&navi21, report_of(config(8, 2)).per_interaction().unwrap());
    #[cfg(feature = "bench")]
    figure(navi21);
}

/// `bench --figure instructions` gives the same numbers, also after writing and reading its
/// records.
#[cfg(feature = "bench")]
fn figure(navi21: Inspector) {
    use gravitile::measure::plot::Plot;
    use gravitile::measure::{
        BenchSession, BenchSizes, RecordKind, figures, read_json_lines, report, to_json_lines,
    };

    let figure = figures::named("instructions").unwrap()[0];
    let mut going = |_: f64, _: &str| true;
    let mut session = BenchSession::new(None, BenchSizes::quick(), &mut going);
    session.absent = Ok(navi21);
    figure.measure(&mut session).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    std::fs::write(&path, to_json_lines(&session.records)).unwrap();
    let records = read_json_lines(&path).unwrap();
    assert_eq!(records, session.records);
    assert!(records.len() > 20 && records.iter().all(|r| r.kind == RecordKind::Compiled));
    let plots = figure.plots(&records);
    let Plot::Lines(first) = &plots[0] else { panic!("curves were expected") };
    // More sinks per thread make interactions cheaper, at u = 4.
    let of = |name: &str| {
        let curve = first.curves.iter().find(|curve| curve.name == name).unwrap();
        curve.points.iter().find(|point| point.x == 4.0).unwrap().y
    };
    let falling = [of("r = 1"), of("r = 2"), of("r = 4"), of("r = 8"), LEAST_PER_INTERACTION];
    assert!(falling.windows(2).all(|pair| pair[0] > pair[1]), "{falling:?}");
    assert_eq!(plots.len(), 4);
    assert!(report::page(&records).contains("subgroups per SIMD"));
}

/// Forces with derivatives: the cost of jerks relative to accelerations, and of double-single
/// relative to single.
fn derivatives(navi21: &Inspector, single: f64) {
    use gravitile::forces::Order::{self, Acceleration, Jerk, Snap};
    use gravitile::forces::Precision::{self, DoubleSingle, Single};
    use gravitile::forces::direct::gpu::tiers::{DirectVariant, NeighbourOutput, Pairs, TierShape};

    let instructions_for = |precision: Precision, order: Order, neighbours, fence: bool, r| {
        let shape = TierShape { p: 64, q: 1, r, u: 16, l: 1, slices: 1 };
        let pairs = Pairs { fence, fused: false };
        let near = if neighbours { NeighbourOutput::Listed } else { NeighbourOutput::Nothing };
        let variant = DirectVariant {
            shape,
            precision,
            order,
            near,
            softened: false,
            pairs,
            brief: false,
            refined: false,
        };
        let report = navi21.report_direct(&variant).unwrap();
        let assembly = report.assembly.as_deref().unwrap();
        let found = report.inner_loop.as_ref().unwrap();
        // A compiler that unrolls the loop over tile turns unrolls whole turns.
        let turns = found.interactions as u32 / (16 * r);
        assert_eq!(found.interactions as u32, turns * 16 * r, "{assembly}");
        assert_eq!(report.spilled(), Some(0));
        assert!(turns > 0);
        println!(
            "{} {}, neighbours {neighbours}, fence {fence}, r = {r}: {:.2} instructions per interaction, {:.2} vector, {:?} registers, {:?} subgroups",
            precision.name(),
            order.name(),
            found.per_interaction(),
            found.vector_per_interaction(),
            report.registers(),
            report.subgroups_per_simd(),
        );
        found.per_interaction()
    };
    // Refined kernels, in which all products are pairs as well.
    let refined = |order: Order, fused: bool| {
        let shape = TierShape { p: 64, q: 1, r: 1, u: 4, l: 1, slices: 1 };
        let (precision, pairs) = (DoubleSingle, Pairs { fence: true, fused });
        let variant = DirectVariant {
            shape,
            precision,
            order,
            near: NeighbourOutput::Nothing,
            softened: false,
            pairs,
            brief: false,
            refined: true,
        };
        let report = navi21.report_direct(&variant).unwrap();
        assert_eq!(report.spilled(), Some(0));
        let found = report.inner_loop.as_ref().unwrap();
        println!(
            "refined {}, fused {fused}: {:.2} instructions per interaction, {:?} registers",
            order.name(),
            found.per_interaction(),
            report.registers(),
        );
        found.per_interaction()
    };
    for order in [Acceleration, Jerk, Snap] {
        let (split, fused) = (refined(order, false), refined(order, true));
        let most = if order == Snap { 800.0 } else { 600.0 };
        assert!(fused < 0.8 * split && split < most, "{} {split:.0} {fused:.0}", order.name());
    }
    let jerk = instructions_for(Single, Jerk, false, false, 1);
    assert!(jerk <= 60.0 / 20.0 * single, "{jerk:.2} for a jerk, {single:.2} for an acceleration");
    instructions_for(Single, Jerk, true, false, 1);
    instructions_for(Single, Jerk, false, false, 2);
    instructions_for(Single, Snap, false, false, 1);
    for (order, r) in [(Acceleration, 1), (Jerk, 1), (Jerk, 2), (Snap, 1)] {
        let plain = instructions_for(Single, order, false, false, r);
        let pairs = instructions_for(DoubleSingle, order, false, true, r);
        assert!(pairs <= 2.0 * plain, "{pairs:.2} in double-single, {plain:.2} in single");
        // Without a fence Mesa folds the rounding error of a sum to 0. Per turn of 16 interactions
        // it takes 5 operations to compute and one to add up, for each of 4 sums, and for 3 more
        // with each derivative.
        let bare = instructions_for(DoubleSingle, order, false, false, r);
        let sums = 4 + 3 * order as usize;
        let per_sum = (pairs - bare) * 16.0 / sums as f64;
        assert!((5.0..8.0).contains(&per_sum), "{per_sum:.2} operations for what a sum loses");
    }
}
