//! How many machine instructions an interaction costs on an AMD GPU, by the real compiler.
//!
//! Mesa's RADV compiles for GPUs that are not there. This test asks it for the code of the force
//! kernel on navi21 and counts the inner loop, so that no change to the shaders, naga or their options
//! makes it longer unseen. Without RADV on the machine there is nothing to count, and the test says so.
#![cfg(feature = "inspect")]

use gravitile::force::{KernelConfig, KernelVariant};
use gravitile::gpu::Checks;
use gravitile::inspect::{Inspector, LEAST_PER_INTERACTION, driver_manifest};

#[test]
fn the_inner_loop_is_tight() {
    if driver_manifest().is_none() {
        println!("no RADV here: nothing to count");
        return;
    }
    // SAFETY: the only test of this program, and no thread has been started.
    let unknown = unsafe { Inspector::absent("no-such-gpu") }.err().expect("there is none");
    let unknown = unknown.to_string();
    assert!(unknown.contains("'no-such-gpu'") && unknown.contains("navi21"), "{unknown}");
    // SAFETY: as above.
    let navi21 = unsafe { Inspector::absent("navi21") }.unwrap();
    assert!(std::env::var_os("RADV_FORCE_FAMILY").is_none());

    let config = |r, u| KernelConfig { r, u, ..KernelConfig::tiled(256) };
    let ask = |config| {
        navi21.report(&KernelVariant { config, guarded: false, potential: false }).unwrap()
    };
    // Measured with Mesa 22.3.6 and naga 30; the marks leave no room.
    for (r, u, most) in [(1, 1, 22.0), (1, 4, 18.3), (2, 4, 15.6), (4, 4, 14.3), (8, 2, 13.8)] {
        let report = ask(config(r, u));
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
        assert!(registers.unwrap() >= 16 && (1..=32).contains(&subgroups.unwrap()));
        assert!(report.instructions().unwrap() > found.instructions as u64);
    }
    // The counter sees what run-time checks add.
    let checked = ask(KernelConfig { checks: Checks::On, ..config(1, 4) });
    assert!(checked.per_interaction().unwrap() > 18.5);
    // The rest loop of the untiled kernel is not taken for its main loop.
    let untiled = ask(KernelConfig { untiled: true, ..config(2, 4) });
    assert_eq!(untiled.inner_loop.unwrap().interactions, 8);
    let bad = KernelConfig { r: 99, ..config(1, 1) };
    let bad = KernelVariant { config: bad, guarded: false, potential: false };
    assert!(navi21.report(&bad).unwrap_err().to_string().contains("r is 99"));
    derivatives(&navi21, ask(config(8, 2)).per_interaction().unwrap());
    #[cfg(feature = "cli")]
    figure(navi21);
}

/// `bench --figure instructions` shows the same numbers, also after they were written and read back.
#[cfg(feature = "cli")]
fn figure(navi21: Inspector) {
    use gravitile::measure::plot::Plot;
    use gravitile::measure::{
        Kind, Observer, Session, Sizes, figures, read_json_lines, report, to_json_lines,
    };

    struct Patient;
    impl Observer for Patient {
        fn progress(&mut self, _: f64, _: &str) {}
        fn go_on(&mut self) -> bool {
            true
        }
    }
    let figure = figures::named("instructions").unwrap()[0];
    let mut patient = Patient;
    let mut session = Session::new(None, Sizes::quick(), &mut patient);
    session.absent = Ok(navi21);
    (figure.measure)(&mut session).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    std::fs::write(&path, to_json_lines(&session.records)).unwrap();
    let records = read_json_lines(&path).unwrap();
    assert_eq!(records, session.records);
    assert!(records.len() > 20 && records.iter().all(|r| r.kind == Kind::Compiled));
    let plots = (figure.plots)(&records);
    let Plot::Lines(first) = &plots[0] else { panic!("curves were expected") };
    // Each more sinks per thread, each cheaper per interaction, at u = 4.
    let of = |name: &str| {
        let curve = first.curves.iter().find(|curve| curve.name == name).unwrap();
        curve.places.iter().find(|place| place.x == 4.0).unwrap().y
    };
    let falling = [of("r = 1"), of("r = 2"), of("r = 4"), of("r = 8"), LEAST_PER_INTERACTION];
    assert!(falling.windows(2).all(|pair| pair[0] > pair[1]), "{falling:?}");
    assert_eq!(plots.len(), 4);
    assert!(report::page(&records).contains("subgroups per SIMD"));
}

/// Forces with derivatives: what jerks cost against accelerations alone, and double-single against single.
fn derivatives(navi21: &Inspector, single: f64) {
    use gravitile::direct::Order::{self, Acceleration, Jerk, Snap};
    use gravitile::direct::Precision::{self, DoubleSingle, Single};
    use gravitile::direct::gpu::{DirectVariant, Fence, Shape};

    let ask = |precision: Precision, order: Order, neighbours, fence: Fence, r| {
        let shape = Shape { p: 64, q: 1, r, u: 16, l: 1, slices: 1 };
        let variant = DirectVariant { shape, precision, order, neighbours, fence, refined: false };
        let report = navi21.report_direct(&variant).unwrap();
        let assembly = report.assembly.as_deref().unwrap();
        let found = report.inner_loop.as_ref().unwrap();
        // Compilers that write out the turns of a tile do so whole.
        let turns = found.interactions as u32 / (16 * r);
        assert_eq!(found.interactions as u32, turns * 16 * r, "{assembly}");
        assert_eq!(report.spilled(), Some(0));
        let hidden = found.text.lines().filter(|line| line.starts_with("v_xor")).count();
        assert!(turns > 0 && hidden.is_multiple_of(turns as usize));
        let hidden = hidden / turns as usize;
        println!(
            "{} {}, neighbours {neighbours}, fence {}, r = {r}: {:.2} instructions per interaction, {:.2} vector, {} hidden, {:?} registers, {:?} subgroups",
            precision.name(),
            order.name(),
            fence.name(),
            found.per_interaction(),
            found.vector_per_interaction(),
            hidden,
            report.registers(),
            report.subgroups_per_simd(),
        );
        (found.per_interaction(), hidden)
    };
    // Refined, a hidden zero is in every product.
    let refined = |order: Order| {
        let shape = Shape { p: 64, q: 1, r: 1, u: 4, l: 1, slices: 1 };
        let (precision, fence) = (DoubleSingle, Fence::Light);
        let variant =
            DirectVariant { shape, precision, order, neighbours: false, fence, refined: true };
        let report = navi21.report_direct(&variant).unwrap();
        assert_eq!(report.spilled(), Some(0));
        let found = report.inner_loop.as_ref().unwrap();
        println!(
            "refined {}: {:.2} instructions per interaction, {:?} registers",
            order.name(),
            found.per_interaction(),
            report.registers(),
        );
        found.per_interaction()
    };
    let [force, jerk, snap] = [Order::Acceleration, Order::Jerk, Order::Snap].map(refined);
    assert!(force < jerk && jerk < snap && snap < 700.0, "{force:.0} {jerk:.0} {snap:.0}");
    let (none, light, full) = (Fence::None, Fence::Light, Fence::Full);
    let (jerk, _) = ask(Single, Jerk, false, none, 1);
    assert!(jerk <= 60.0 / 20.0 * single, "{jerk:.2} for a jerk, {single:.2} for an acceleration");
    ask(Single, Jerk, true, none, 1);
    ask(Single, Jerk, false, none, 2);
    ask(Single, Snap, false, none, 1);
    for (order, fence, r) in [
        (Acceleration, light, 1),
        (Jerk, light, 1),
        (Jerk, full, 1),
        (Jerk, light, 2),
        (Snap, light, 1),
    ] {
        let (plain, _) = ask(Single, order, false, none, r);
        let (pairs, hidden) = ask(DoubleSingle, order, false, fence, r);
        assert!(pairs <= 2.0 * plain, "{pairs:.2} in double-single, {plain:.2} in single");
        // Three or six operations for each of 4 sums, and 3 more for each derivative.
        let sums = 4 + 3 * order as usize;
        let each = if fence == light { 3 } else { 6 };
        assert_eq!(hidden, sums * each * r as usize, "the fences are all there");
    }
}
