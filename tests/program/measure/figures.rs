//! Every figure at reduced size on the adapter; its files are read back.

use gravitile::gpu::Gpu;
use gravitile::measure::figures::{FIGURES, Figure};
use gravitile::measure::{
    BenchSession, BenchSizes, Ceiling, Record, RecordKind, read_json_lines, report, to_csv,
    to_json_lines,
};

use super::common::{self, gpu};

/// The quick sizes without time limits, however slow the machine.
fn sizes() -> BenchSizes {
    BenchSizes {
        figure_secs: 600.0,
        sample_secs: 600.0,
        runs_secs: 600.0,
        rounds: (2, 2),
        ..BenchSizes::quick()
    }
}

fn measure(figure: &Figure, with_gpu: bool, samples: usize) -> (Vec<Record>, bool) {
    let mut left = samples;
    let mut going = |part: f64, _: &str| {
        assert!((0.0..=1.0).contains(&part), "{part}");
        left = left.saturating_sub(1);
        left > 0
    };
    let mut session = BenchSession::new(with_gpu.then(gpu), sizes(), &mut going);
    figure.measure(&mut session).unwrap();
    (session.records.clone(), session.is_stopped())
}

/// Writes the records, reads them back and returns the report page.
fn round_trip_and_draw(records: &[Record]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    gravitile::files::replace(&path, to_json_lines(records).as_bytes()).unwrap();
    assert_eq!(read_json_lines(&path).unwrap(), records);
    let csv = to_csv(records);
    let rows = csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).count();
    assert_eq!(rows, records.len());
    report::page(records)
}

#[test]
fn every_figure_is_measured_written_and_drawn() {
    for figure in FIGURES {
        let (records, stopped) = measure(figure, true, usize::MAX);
        assert!(!stopped);
        let own: Vec<_> = records.iter().filter(|r| r.figure == figure.name).collect();
        // Compiler output is tested in tests/library/instructions.rs; software adapters provide
        // none.
        if figure.name == "instructions" {
            let skipped = own.iter().filter(|r| r.kind == RecordKind::Skipped);
            assert!(skipped.clone().count() >= 1);
            assert!(skipped.into_iter().all(|r| r.remark.is_some()));
            round_trip_and_draw(&records);
            continue;
        }
        let measured = own.iter().filter(|r| r.kind != RecordKind::Skipped).count();
        // The score has three numbers of bodies; at quick sizes one device is timed at two.
        let least = match figure.name {
            "score" => 3,
            "devices" | "devices-tree" => 2,
            _ => 5,
        };
        assert!(measured >= least, "{}: {measured} measured of {}", figure.name, own.len());
        for record in own.iter().filter(|r| r.kind == RecordKind::Forces) {
            assert!(record.samples.len() >= 2 && record.rms_error.unwrap() < 1e-5, "{record:?}");
            assert!(!record.method.is_empty() && !record.device.driver.is_empty());
            assert_eq!(record.kernel.is_some(), record.predicted_per_sec.is_some());
        }
        for record in own.iter().filter(|r| r.kind == RecordKind::Derivatives) {
            assert_derivatives_consistent(record);
        }
        if figure.name.starts_with("devices") {
            // A speed-up needs two devices: no plots.
            round_trip_and_draw(&records);
            continue;
        }
        let plots = figure.plots(&records);
        assert!(!plots.is_empty(), "{}", figure.name);
        for plot in plots {
            assert!(!plot.svg().contains("nothing was measured"), "{}", figure.name);
        }
        let page = round_trip_and_draw(&records);
        assert!(page.contains(&format!("<section id=\"{}\">", figure.name)));
    }
}

/// Opens the only adapter twice, so that any machine can run it.
fn assert_devices_are_compared(figure: &str, suffixes: &[&str], plots: usize) {
    let figure = FIGURES.iter().find(|other| other.name == figure).unwrap();
    let mut going = |_: f64, _: &str| true;
    let mut session = BenchSession::new(Some(gpu()), sizes(), &mut going);
    session.others = vec![Gpu::open_blocking(&common::adapter_request()).unwrap()];
    let kept = std::cell::Cell::new(0);
    session.keep = Some(Box::new(|records| {
        kept.set(records.len());
        Ok(())
    }));
    figure.measure(&mut session).unwrap();
    let records = std::mem::take(&mut session.records);
    drop(session);
    assert_eq!(kept.get(), records.len(), "each record is kept when it is there");
    for suffix in suffixes {
        for devices in [1, 2] {
            let named = format!("{devices} device{}{suffix}", if devices == 1 { "" } else { "s" });
            let own: Vec<_> = records.iter().filter(|r| r.series == named).collect();
            assert!(!own.is_empty(), "{named} is missing");
            for record in own {
                assert_eq!(record.kind, RecordKind::Devices, "{record:?}");
                let facts = record.devices.as_ref().unwrap();
                assert_eq!(facts.devices, devices);
                assert_eq!(facts.exchanging > 0.0, devices == 2, "{named}: {facts:?}");
                assert!(facts.exchanging < 1.0 && facts.speed_up.unwrap() > 0.0, "{facts:?}");
                // In the model the speed-up of two devices is at most 2.
                let predicted = record.work / record.predicted_per_sec.unwrap();
                let first = record.work / record.per_sec().unwrap() * facts.speed_up.unwrap();
                let least = if devices == 1 { 0.99 } else { 0.4999 };
                assert!(predicted > least * first, "{named}: {predicted} {first}");
            }
        }
    }
    let drawn = figure.plots(&records);
    assert_eq!(drawn.len(), plots);
    let [speed_up, exchanging] = [&drawn[0], &drawn[1]].map(|plot| plot.svg());
    let names = |svg: &str, name: &str| svg.contains(&format!(">{name}</text>"));
    for suffix in suffixes {
        let series = format!("2 devices{suffix}");
        assert!(names(&speed_up, &series) && names(&exchanging, &series), "{series} is not drawn");
        assert!(names(&speed_up, &format!("{series}, by the model")), "{series} has no model");
    }
    round_trip_and_draw(&records);
}

#[test]
fn several_devices_are_measured_and_compared_to_a_model() {
    assert_devices_are_compared("devices", &["", ", hermite4"], 3);
}

#[test]
fn several_devices_with_a_tree_are_measured_and_compared_to_a_model() {
    let suffixes = [", in domains, alpha 0.0001", ", in domains, alpha 0.003"];
    assert_devices_are_compared("devices-tree", &suffixes, 2);
}

#[test]
fn without_a_gpu_the_cpu_rows_are_measured() {
    for figure in FIGURES {
        let (records, _) = measure(figure, false, usize::MAX);
        assert!(records.iter().all(|r| r.device.is_cpu()), "{}", figure.name);
        if ["precision", "order", "blocks"].contains(&figure.name) {
            assert!(records.iter().any(|r| r.kind != RecordKind::Skipped), "{}", figure.name);
        }
        if ["table", "n", "sinks", "crossover"].contains(&figure.name) {
            assert!(records.iter().any(|r| r.kind == RecordKind::Forces), "{}", figure.name);
        }
        if !records.is_empty() {
            round_trip_and_draw(&records);
        }
    }
}

#[test]
fn interruption_keeps_complete_records() {
    let figure = FIGURES.iter().find(|figure| figure.name == "n").unwrap();
    let (all, _) = measure(figure, false, usize::MAX);
    let (some, stopped) = measure(figure, false, 20);
    assert!(stopped && !some.is_empty() && some.len() < all.len(), "{} {}", some.len(), all.len());
    round_trip_and_draw(&some);
}

#[test]
fn every_ceiling_has_a_plausible_rate() {
    let figure = FIGURES.iter().find(|figure| figure.name == "ceilings").unwrap();
    let (records, _) = measure(figure, true, usize::MAX);
    let rate = |ceiling: Ceiling| {
        let found = records.iter().find(|r| r.ceiling() == Some(ceiling));
        found.and_then(Record::per_sec).unwrap_or_else(|| panic!("{ceiling:?} is missing"))
    };
    // A loop that the compiler removed would show as an impossible rate of 1e14 or more.
    for ceiling in Ceiling::ALL {
        assert!(rate(ceiling) > 0.0 && rate(ceiling) < 1e13, "{ceiling:?}: {:e}", rate(ceiling));
    }
}

#[test]
fn kernels_beyond_the_adapter_limits_are_skipped_with_reason() {
    let baseline = super::common::baseline();
    let figure = FIGURES.iter().find(|figure| figure.name == "p").unwrap();
    let mut going = |_: f64, _: &str| true;
    let mut session = BenchSession::new(Some(baseline), sizes(), &mut going);
    figure.measure(&mut session).unwrap();
    let skipped: Vec<_> =
        session.records.iter().filter(|record| record.kind == RecordKind::Skipped).collect();
    // 256 threads per workgroup are the baseline: p = 512 and 1024 at three sizes.
    assert_eq!(skipped.len(), 6);
    for record in skipped {
        assert!(record.kernel.unwrap().p > 256);
        assert!(record.remark.as_ref().unwrap().contains("threads per workgroup"), "{record:?}");
    }
    // Without timestamps the wall clock is used, and the records name it.
    assert!(session.records.iter().any(|record| record.method == "wall clock"));
}

/// Asserts one error per derivative of the order, each within the tier's accuracy.
fn assert_derivatives_consistent(record: &Record) {
    let direct = record.direct.as_ref().unwrap();
    let limit = match direct.precision.as_str() {
        "single" => 1e-4,
        "double-single" => 5e-6,
        _ => 1e-12,
    };
    let errors = [record.rms_error, direct.rms_jerk, direct.rms_snap];
    let derivatives = ["acceleration", "jerk", "snap"].iter().position(|o| *o == direct.order);
    assert_eq!(errors.iter().flatten().count(), 1 + derivatives.unwrap(), "{record:?}");
    assert!(errors.iter().flatten().all(|error| *error < limit), "{record:?}");
    assert_eq!(record.device.is_cpu(), direct.engine == "cpu");
    assert_eq!(record.work, (record.sinks * record.sources) as f64);
    assert!(record.samples.len() >= 2 && record.method.contains("host"), "{record:?}");
}

#[test]
fn every_tier_and_order_is_measured_or_skipped_with_reason() {
    let by_name = |name: &str| FIGURES.iter().find(|figure| figure.name == name).unwrap();
    let (records, _) = measure(by_name("precision"), true, usize::MAX);
    for tier in ["gpu single", "gpu double-single", "gpu double", "cpu double"] {
        let own: Vec<_> = records.iter().filter(|r| r.series == tier).collect();
        assert!(!own.is_empty(), "{tier}");
        for record in own {
            let is_explained = record.kind == RecordKind::Skipped && record.remark.is_some();
            assert!(is_explained || record.direct.as_ref().unwrap().potential, "{record:?}");
        }
    }
    // Coarser tiers have larger errors: a tier computed in another precision would be noticed.
    let rms = |tier: &str| {
        let own = records.iter().filter(|r| r.series == tier && r.kind == RecordKind::Derivatives);
        own.filter_map(|r| r.rms_error).fold(0.0, f64::max)
    };
    assert!(rms("gpu single") > 2.0 * rms("gpu double-single"), "{}", rms("gpu single"));
    // With this few sources the double-single result is refined.
    assert!(rms("gpu double-single") > 3.0 * rms("cpu double"));
    let (records, _) = measure(by_name("order"), false, usize::MAX);
    for order in ["acceleration", "jerk", "snap"] {
        let series = format!("cpu double, {order}");
        assert!(records.iter().any(|r| r.series == series && !r.samples.is_empty()), "{order}");
    }
}

#[test]
fn block_runs_conserve_energy_and_count_steps() {
    let figure = FIGURES.iter().find(|figure| figure.name == "blocks").unwrap();
    let (records, stopped) = measure(figure, false, usize::MAX);
    assert!(!stopped);
    let outcome = |integrator: &str, eta: f64, softening: f64, n: f64| {
        let found = records.iter().find(|r| {
            let run = r.run.as_ref().unwrap();
            (run.integrator.as_str(), run.eta, run.softening, r.x)
                == (integrator, eta, softening, n)
        });
        found.unwrap().run.as_ref().unwrap().outcome.unwrap()
    };
    for record in &records {
        let (run, n) = (record.run.as_ref().unwrap(), record.x);
        let found = run.outcome.unwrap();
        assert!(found.energy_error < 1e-3, "{record:?}");
        assert!(found.mean_active() >= 1.0 && found.mean_active() <= n, "{record:?}");
        // Each step of a body is n interactions.
        assert_eq!(record.work, found.body_steps as f64 * n, "{record:?}");
        assert!(record.samples.len() == 1 && record.series.ends_with("cpu double"));
    }
    // Stricter settings take more steps and, without softening, lose less energy.
    let (loose, strict) =
        (outcome("hermite4", 0.09, 0.0, 64.0), outcome("hermite4", 0.01, 0.0, 64.0));
    assert!(strict.body_steps > 2 * loose.body_steps);
    assert!(strict.energy_error < loose.energy_error, "{strict:?} {loose:?}");
    let page = round_trip_and_draw(&records);
    assert!(page.contains("Energy error at t = 0.25, eps = 1/256, cpu double"));
}

#[test]
fn runs_beyond_the_time_limit_are_skipped_with_reason() {
    let figure = FIGURES.iter().find(|figure| figure.name == "blocks").unwrap();
    let mut going = |_: f64, _: &str| true;
    let sizes = BenchSizes { runs_secs: 0.0, ..sizes() };
    let mut session = BenchSession::new(None, sizes, &mut going);
    figure.measure(&mut session).unwrap();
    assert!(!session.records.is_empty());
    for record in &session.records {
        assert_eq!(record.kind, RecordKind::Skipped);
        assert!(record.remark.as_ref().unwrap().contains("left out"), "{record:?}");
        assert!(record.run.is_some() && record.x >= 32.0);
    }
    round_trip_and_draw(&session.records);
}
