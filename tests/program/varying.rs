//! `--dt auto`: runs, films and resumed runs whose step varies, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::program;

fn run(args: &[&str]) -> Output {
    program::program().args(args).output().unwrap()
}

/// Standard output of a command that succeeds.
fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// A cold collapse of few bodies with outputs that are no multiples of the default step.
fn collapse<'a>(dt: &'a str, out: &'a Path) -> Vec<&'a str> {
    let out = out.to_str().unwrap();
    let scene = ["run", "cold-sphere", "-n", "300", "--engine", "cpu", "--json"];
    [&scene[..], &["--until", "1.5", "--every", "0.3", "--dt", dt, "--out", out]].concat()
}

fn rows(out: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let header: Vec<_> = text.lines().next().unwrap().split(',').collect();
    assert_eq!(header[header.len() - 2..], ["dt", "least_time"]);
    let row = |line: &str| line.split(',').map(|number| number.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

#[test]
fn outputs_are_at_their_times_and_resume_gives_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let report: Value = serde_json::from_str(&succeeds(&collapse("auto", &out))).unwrap();
    let step = &report["varying_step"];
    let by_level: Vec<u64> =
        step["steps_by_level"].as_array().unwrap().iter().map(|k| k.as_u64().unwrap()).collect();
    assert_eq!(step["steps"].as_u64().unwrap(), by_level.iter().sum::<u64>());
    assert!(by_level.iter().filter(|&&steps| steps > 0).count() > 1, "{step}");
    let longest = report["dt"].as_f64().unwrap();
    // The longest step divides the time between outputs, and is up to 16 default steps of 0.002.
    let per_output = 0.3 / longest;
    assert!(longest <= 0.032 && (per_output - per_output.round()).abs() < 1e-9, "{longest}");
    let rows = rows(&out);
    assert_eq!(rows.len(), 6);
    for (k, row) in rows.iter().enumerate() {
        let (time, dt, least) = (row[1], row[row.len() - 2], row[row.len() - 1]);
        assert!((time - 0.3 * k as f64).abs() < 1e-14, "{time}");
        let level = (longest / dt).log2();
        assert!(level.fract() == 0.0 && dt <= 0.1 * least, "{dt} of {longest}, {least}");
        // The longest such step.
        assert!(dt == longest || 2.0 * dt > 0.1 * least, "{dt}, {least}");
    }
    // As if it had been killed after the fourth snapshot.
    let files = || {
        let paths = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let is_output = |path: &PathBuf| path.extension().is_some_and(|e| e == "gvt" || e == "csv");
        let mut all: Vec<_> = paths
            .filter(is_output)
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        all.sort();
        all
    };
    let whole = files();
    let snapshots: Vec<_> = whole
        .iter()
        .map(|(path, _)| path)
        .filter(|p| p.extension().is_some_and(|e| e == "gvt"))
        .collect();
    assert_eq!(snapshots.len(), 6);
    snapshots[4..].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    succeeds(&["resume", out.to_str().unwrap(), "--json"]);
    assert!(files() == whole);
    // Another accuracy in run.toml belongs to another run.
    let toml = std::fs::read_to_string(out.join("run.toml")).unwrap();
    assert!(toml.contains("auto_dt = 0.1\n"), "{toml}");
    for (edited, words) in [("auto_dt = 0.2\n", "auto_dt = 0.2"), ("", "auto_dt = 0.0")] {
        std::fs::write(out.join("run.toml"), toml.replace("auto_dt = 0.1\n", edited)).unwrap();
        let output = run(&["resume", out.to_str().unwrap()]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(words), "{error}");
    }
}

#[test]
fn new_run_from_a_snapshot_does_not_take_the_longest_step_as_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (out, next) = (folder.path().join("run"), folder.path().join("next"));
    succeeds(&collapse("auto:0.2", &out));
    let last = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let last = last.filter(|path| path.extension().is_some_and(|e| e == "gvt")).max().unwrap();
    let snapshot = gravitile::snapshot::read(&last).unwrap();
    assert_eq!(snapshot.attributes["auto_dt"], "0.2");
    assert!(!snapshot.attributes.contains_key("dt"));
    let (last, to) = (last.to_str().unwrap(), next.to_str().unwrap());
    let args = ["run", last, "--engine", "cpu", "--until", "1.6", "--out", to, "--json"];
    let report: Value = serde_json::from_str(&succeeds(&args)).unwrap();
    assert!(report["dt"].as_f64().unwrap() < 0.02, "{report}");
    assert_eq!(report["varying_step"], Value::Null);
    let first = gravitile::snapshot::read(next.join("step_0000000000.gvt")).unwrap();
    assert!(!first.attributes.contains_key("auto_dt") && first.attributes.contains_key("dt"));
}

#[test]
fn pictures_of_a_film_are_evenly_spaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("film.apng");
    let scene = ["render", "cold-sphere", "-n", "100", "--engine", "cpu", "--renderer", "cpu"];
    let to = ["--frames", "4", "--until", "1", "--size", "32x32", "--out", out.to_str().unwrap()];
    let args = [&scene[..], &to, &["--dt", "auto", "--json"]].concat();
    let report: Value = serde_json::from_str(&succeeds(&args)).unwrap();
    assert_eq!(report["frames"].as_u64(), Some(4));
    assert!((report["time"].as_f64().unwrap() - 1.0).abs() < 1e-14, "{report}");
    assert!(report["varying_step"]["steps"].as_u64() > report["steps"].as_u64(), "{report}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let range = "finite and greater than 0";
    for (options, words) in [
        (&["--dt", "auto:0"][..], range),
        (&["--dt", "auto:-1"], range),
        (&["--dt", "auto:nan"], range),
        (&["--dt", "auto:x"], "a number, auto, or auto:ETA"),
        (&["--dt", "x"], "a number, auto, or auto:ETA"),
        (&["--dt", "auto", "--eps", "0"], "softening is 0, but must be greater than 0"),
        (&["--dt", "auto", "--integrator", "hermite4"], "individual steps"),
        (&["--dt", "auto", "--method", "tree", "--rebuild", "4"], "rebuild is 4, but must be 1"),
    ] {
        let args =
            [&["run", "plummer", "-n", "50", "--out", out.to_str().unwrap()], options].concat();
        let output = run(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.lines().count() == 1 && error.contains(words), "{args:?}: {error}");
        assert!(!out.exists(), "{args:?}");
    }
}
