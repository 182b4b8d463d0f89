//! `gravitile tune`, `check` and `inspect` by the command line.

use crate::common;
use crate::common::shapes;
use crate::program;

mod runs;

use std::path::Path;
use std::process::Output;

use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest};
use gravitile::gpu::blocking;
use gravitile::measure::{StepTimer, Timer, TimingMethod};

/// Runs the program with `cache` as its cache folder.
fn gravitile(cache: &Path, args: &[&str]) -> Output {
    let mut command = program::program();
    command.args(args).env("GRAVITILE_CACHE_DIR", cache).output().expect("it should start")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(cache: &Path, args: &[&str]) -> serde_json::Value {
    let output = gravitile(cache, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it should print JSON")
}

/// Expects exit code 2 and one line on standard error; returns it.
fn assert_refused(cache: &Path, args: &[&str]) -> String {
    let output = gravitile(cache, args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{args:?} should take one line: {error}");
    error
}

/// All numbers in a table written by `gravitile forces`.
fn numbers(path: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows =
        text.lines().filter(|line| !line.starts_with(|c: char| c.is_alphabetic() || c == '#'));
    rows.flat_map(|row| row.split(',').map(|word| word.trim().parse().unwrap())).collect()
}

#[test]
fn kernel_shapes_for_derivatives_are_tuned_listed_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let [cache, empty] = ["cache", "empty"].map(|name| folder.path().join(name));
    let args = ["tune", "--derivatives", "jerk", "-n", "200", "--secs", "4", "--json"];
    let tuned = json(&cache, &args);
    assert_eq!(
        (&tuned["derivatives"], &tuned["precision"]),
        (&"jerk".into(), &"double-single".into())
    );
    let sizes = tuned["sizes"].as_array().unwrap();
    assert!(sizes.len() >= 3, "{tuned}");
    for size in sizes {
        assert_eq!(size["up_to"], 256);
        let ranking = size["ranking"].as_array().unwrap();
        assert_eq!(ranking[0]["kernel"], size["best"]);
        assert!(ranking.iter().any(|row| row["kernel"] == size["default"]), "{size}");
        // Each candidate's forces agree with those in f64.
        assert_eq!(size["refused"].as_array().unwrap().len(), 0, "{size}");
    }
    let listed = json(&cache, &["tune", "--list", "--json"]);
    assert!(listed.to_string().contains("jerk in double-single, up to 16 sinks"), "{listed}");

    let listed = text(&gravitile(&cache, &["tune", "--list"]).stdout);
    assert!(listed.contains("evaluations/s") && !listed.contains("steps/s"), "{listed}");
    let info = text(&gravitile(&cache, &["info", "-n", "200"]).stdout);
    assert!(info.contains("with derivatives: jerk in double-single, up to 1, 4, 16"), "{info}");
    let info = json(&cache, &["info", "-n", "200", "--json"]);
    assert!(info.to_string().contains("\"up_to_sinks\":16"), "{info}");
    let info = text(&gravitile(&empty, &["info", "-n", "200"]).stdout);
    assert!(info.contains("with derivatives: the default rule (not tuned"), "{info}");

    let forces = |cache: &Path, name: &str| {
        let out = folder.path().join(name);
        let args = ["forces", "plummer", "-n", "200", "--eps", "0.05", "--jerk", "--engine", "gpu"];
        let more = ["--precision", "double-single", "--out", out.to_str().unwrap()];
        let output = gravitile(cache, &[args.as_slice(), &more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        numbers(&out)
    };
    let (found, rule) = (forces(&cache, "found.csv"), forces(&empty, "rule.csv"));
    assert_eq!(found.len(), rule.len());
    assert!(found.len() >= 200 * 6);
    let largest = rule.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    for (found, rule) in found.iter().zip(&rule) {
        assert!((found - rule).abs() < 1e-9 * largest, "{found}, {rule}");
    }

    let error = assert_refused(&cache, &["tune", "--derivatives", "crackle", "-n", "20"]);
    assert!(error.contains("acceleration, jerk or snap"), "{error}");
    let error =
        assert_refused(&cache, &["tune", "--derivatives", "jerk", "--method", "tree", "-n", "20"]);
    assert!(error.contains("direct with --derivatives"), "{error}");
    assert!(gravitile(&cache, &["tune", "--forget"]).status.success());
    assert!(!json(&cache, &["tune", "--list", "--json"]).to_string().contains("jerk"));
}

#[test]
fn tuning_result_is_used_listed_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let run = |name: &str| {
        let out = folder.path().join(name);
        let out = out.to_str().unwrap();
        let args =
            ["run", "plummer", "-n", "150", "--dt", "0.001", "--until", "0.003", "--engine", "gpu"];
        let args = [args.as_slice(), ["--out", out, "--json"].as_slice()].concat();
        let output = gravitile(&cache, &args);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer["configuration"].as_str().unwrap().to_owned(), text(&output.stderr))
    };
    let (default, _) = run("before");

    let tuned = json(&cache, &["tune", "-n", "200", "--secs", "1", "--json"]);
    let size = &tuned["sizes"][0];
    assert_eq!((&size["n"], &size["up_to"]), (&200.into(), &256.into()));
    let best = size["best"].as_str().unwrap();
    let ranking = size["ranking"].as_array().unwrap();
    assert_eq!(ranking[0]["kernel"], best);
    assert!(ranking.iter().any(|row| row["kernel"] == size["default"]), "{ranking:?}");
    // The report names the clock and the candidates left out.
    let method = size["method"].as_str().unwrap();
    assert!(["GPU timestamps", "wall clock"].contains(&method), "{method}");
    assert!(size["beyond_limits"].as_u64().unwrap() > 10);
    assert!(
        size["slow_by_model"].is_u64() || tuned["model"].as_str().unwrap().contains("not used")
    );
    assert!(ranking[0]["samples"].as_array().unwrap().iter().all(|s| s.as_f64().unwrap() > 0.0));

    let list = json(&cache, &["tune", "--list", "--json"]);
    assert_eq!(list["choices"].as_array().unwrap().len(), 1);
    assert_eq!(list["choices"][0]["kernel"], best);
    assert_eq!(list["choices"][0]["method"], method);
    assert!(text(&gravitile(&cache, &["tune", "--list"]).stdout).contains(best));
    let (used, _) = run("after");
    assert!(used.ends_with(best), "{used} should be the kernel {best}");
    // Another size class is not affected.
    let info = json(&cache, &["info", "-n", "300", "--json"]);
    assert!(info["adapters"].as_array().unwrap().iter().all(|a| a["tuned_kernel"].is_null()));

    let file = cache.join("tuned.toml");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let (fallback, stderr) = run("damaged");
    assert_eq!(fallback, default);
    assert!(stderr.contains("tuned.toml") && stderr.contains("ignored"), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    let output = gravitile(&cache, &["tune", "-n", "200", "--secs", "0.2"]);
    assert!(output.status.success() && text(&output.stderr).contains("will be replaced"));
    let words = text(&output.stdout);
    assert!(words.contains("that exceed the adapter's limits"), "{words}");
    assert!(words.contains(&format!("whole steps, timed by {method}")), "{words}");
    assert_eq!(json(&cache, &["tune", "--list", "--json"])["damage"], serde_json::Value::Null);

    assert_eq!(json(&cache, &["tune", "--forget", "--json"])["deleted"], true);
    assert!(!file.exists());
    assert_eq!(run("forgotten").0, default);
}

#[test]
fn invalid_tune_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (args, words) in [
        (["tune", "--secs", "0"].as_slice(), "--secs is 0, but must be greater than 0"),
        (&["tune", "-n", "0"], "a whole number of bodies from 1 on"),
        (
            &["tune", "--method", "reference"],
            "the method is reference, but must be auto, direct or tree: tuning applies to the direct kernel",
        ),
        (&["tune", "--engine", "cpu"], "the engine is cpu, but must be auto or gpu: tuning"),
    ] {
        let error = assert_refused(folder.path(), args);
        assert!(error.contains(words), "{error}");
    }
    // The time of a step is extrapolated from the smaller size: a race that would take too long is
    // skipped.
    let args = ["tune", "-n", "100", "-n", "4M", "--secs", "0.2", "--json"];
    let sizes = json(folder.path(), &args)["sizes"].clone();
    assert!(sizes[1]["skipped"].as_str().unwrap().contains("too long for a race"), "{sizes}");
}

#[test]
fn check_covers_the_cpu_engines() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(folder.path(), &["check", "--engine", "cpu", "--method", "direct", "--json"]);
    assert_eq!(found["passed"], true);
    let rows = found["engines"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["tier"] == "single" && row["snap"].is_null()));
    assert!(rows.iter().any(|row| row["tier"] == "double" && row["snap"]["rms"].is_f64()));
    let words = text(&gravitile(folder.path(), &["check", "--engine", "cpu"]).stdout);
    assert!(words.ends_with(&format!("{0} of {0} cases agree with f64\n", rows.len())), "{words}");
    for args in [["check", "--engine", "reference"], ["check", "--method", "reference"]] {
        let error = assert_refused(folder.path(), &args);
        assert!(error.contains("these are compared with the reference"), "{error}");
    }
}

#[test]
fn step_timer_times_valid_kernels_and_refuses_others() {
    let gpu = common::gpu();
    let mut timer = StepTimer::new(&gpu, 500);
    let default = KernelRequest::default().resolve(&gpu, 500, 500).unwrap();
    let base = KernelConfig { u: 4, ..KernelConfig::tiled(64) };
    let one = KernelConfig { r: 8, dispatch: Dispatch::OneWorkgroup, ..base };
    for config in [default, base, KernelConfig { q: 2, s: 2, ..base }, one] {
        blocking(timer.prepare(&config)).unwrap();
        let secs = blocking(timer.sample(&config)).unwrap();
        assert!(secs > 0.0 && secs < 10.0, "{config}: {secs} s");
        timer.forget(&config);
    }
    let large = KernelConfig { p: 1024, q: 1024, ..base };
    assert!(blocking(timer.prepare(&large)).unwrap_err().to_string().contains("1048576 threads"));
    assert!(!timer.is_mixed());
    let mut by_wall = StepTimer::by_wall_clock(&gpu, 500);
    assert_eq!(by_wall.stopwatch().method(), TimingMethod::WallClock);
    assert!(
        blocking(by_wall.sample(&base)).unwrap() > 0.0 && by_wall.steps_of(&base).unwrap() >= 1
    );
    let few = KernelConfig { r: 1, ..one };
    assert!(blocking(timer.prepare(&few)).unwrap_err().to_string().contains("at most p x r"));
}

#[test]
fn inspect_prints_driver_statistics_or_their_absence() {
    let folder = tempfile::tempdir().unwrap();
    let output = gravitile(folder.path(), &["inspect", "-n", "1000"]);
    if !output.status.success() {
        let error = text(&output.stderr);
        assert!(error.contains("report"), "{error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
    if gravitile::inspect::driver_manifest().is_none() {
        let error = assert_refused(folder.path(), &["inspect", "--gpu", "navi21"]);
        assert!(error.contains("RADV driver is not installed"), "{error}");
        common::skip::skipped("inspect --gpu", "no RADV driver is installed");
        return;
    }
    let args = ["inspect", "--gpu", "navi21", "--p", "128", "--r", "4", "--unroll", "8"];
    let report = json(folder.path(), &[args.as_slice(), &["--json"]].concat());
    let inner = &report["inner_loop"];
    assert_eq!(inner["interactions"], 32);
    let count = inner["instructions_per_interaction"].as_f64().unwrap();
    assert!((13.0..15.0).contains(&count), "{count}");
    assert_eq!(report["workgroup_memory_bytes"], 2048);
    assert!(report["registers"].as_u64().unwrap() > 16 && report["assembly"].is_string());
    let words = text(&gravitile(folder.path(), &args).stdout);
    assert!(words.contains("subgroups per SIMD") && words.contains("v_rsq_f32"), "{words}");
    let error = assert_refused(folder.path(), &["inspect", "--gpu", "voodoo2"]);
    assert!(error.contains("'voodoo2'") && error.contains("polaris10"), "{error}");
    let error = assert_refused(folder.path(), &["inspect", "--gpu", "navi21", "--r", "99"]);
    assert!(error.contains("r is 99"), "{error}");
}

#[test]
fn tree_walk_is_tuned_cached_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let args = ["tune", "--method", "tree", "-n", "1500", "--secs", "1", "--json"];
    let tuned = json(&cache, &args);
    let size = &tuned["sizes"][0];
    assert_eq!((&size["n"], &size["up_to"]), (&1500.into(), &2048.into()));
    let best = size["best"].as_str().unwrap();
    assert!(best.starts_with("walk u "), "{size}");
    assert_eq!(size["ranking"][0]["kernel"], best);
    let listed = json(&cache, &["tune", "--list", "--json"]);
    let choice = &listed["choices"][0];
    assert_eq!((&choice["forces"], &choice["kernel"]), (&"tree".into(), &best.into()));
    assert_eq!(choice["outdated"], false);

    // Whichever walk was the fastest, the one in the file is used; none changes a bit.
    let file = cache.join("tuned.toml");
    let found = std::fs::read_to_string(&file).unwrap();
    let run = |unroll: u32| {
        let walk = format!("unroll = {unroll}\n");
        let begin = found.find("unroll = ").unwrap();
        std::fs::write(&file, format!("{}{walk}", &found[..begin])).unwrap();
        let out = folder.path().join(format!("run {unroll}"));
        let args = ["run", "plummer", "-n", "1500", "--dt", "0.01", "--until", "0.03"];
        let more =
            ["--engine", "gpu", "--method", "tree", "--json", "--out", out.to_str().unwrap()];
        let answer = json(&cache, &[&args[..], &more].concat());
        let last = std::fs::read(out.join("step_0000000003.gvt")).unwrap();
        (answer["configuration"].as_str().unwrap().to_owned(), last)
    };
    let (default, expected) = run(8);
    let (other, last) = run(4);
    assert!(other.contains("walk u 4") && !default.contains("walk u"), "{default}; {other}");
    assert!(last == expected);
    // An invalid walk in the file is ignored.
    assert_eq!(run(7).0, default);
}
