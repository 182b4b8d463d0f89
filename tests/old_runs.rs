//! What earlier versions left on disk is read: folders of runs, their snapshots, remembered kernels.
#![cfg(feature = "cli")]

#[path = "common/program.rs"]
mod program;

use std::path::{Path, PathBuf};
use std::process::Output;

use gravitile::snapshot;

fn gravitile(args: &[&str]) -> Output {
    program::program().args(args).output().expect("it should start")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn old(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_runs").join(name)
}

/// Some adapter that is there.
fn an_adapter() -> String {
    let output = gravitile(&["info", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    info["adapters"][0]["name"].as_str().expect("the tests need an adapter").to_owned()
}

/// Goes on with a copy of an old run; the last positions differ from those of then by `allowed` at most.
fn goes_on(name: &str, allowed: f64) {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    for file in ["run.toml", "energy.csv", "step_0000000008.gvt"] {
        std::fs::copy(old(name).join(file), at(file)).unwrap();
    }
    let args = ["resume", folder.path().to_str().unwrap()];
    let mut output = gravitile(&args);
    let said = text(&output.stderr);
    let is_of_an_adapter = name.starts_with("gpu");
    if is_of_an_adapter && output.status.code() == Some(2) && said.contains("adapter") {
        // The one that it was run on is not here: refused in one line that names it. Any other will do.
        assert!(said.lines().count() == 1 && said.contains("LLVM 15"), "{name}: {said}");
        let plan = std::fs::read_to_string(at("run.toml")).unwrap();
        let there = toml::Value::from(an_adapter()).to_string();
        let plan = plan.replace("\"llvmpipe (LLVM 15.0.6, 256 bits)\"", &there);
        std::fs::write(at("run.toml"), plan).unwrap();
        output = gravitile(&args);
    }
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.is_empty() || (is_of_an_adapter && said.contains("going on with")), "{said}");
    assert!(text(&output.stdout).contains("resuming from step 8 of 16, t = 0.5"), "{name}");

    let found = snapshot::read(at("step_0000000016.gvt")).unwrap();
    let expected = snapshot::read(old(name).join("expected.gvt")).unwrap();
    assert_eq!((found.time, &found.bodies.id), (expected.time, &expected.bodies.id));
    for (a, b) in found.bodies.position.iter().zip(&expected.bodies.position) {
        assert!((*a - *b).length() <= allowed * b.length(), "{name}: {a} and {b}");
    }
    let log = std::fs::read_to_string(at("energy.csv")).unwrap();
    let steps: Vec<_> = log.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["step", "0", "4", "8", "12", "16"], "{name}");
    // And once more: there is nothing left to do.
    assert!(gravitile(&args).status.success(), "{name}");
}

// Other processors round otherwise, and so may other versions; the orbits are the same.

#[test]
fn leapfrog_runs_go_on() {
    goes_on("cpu-leapfrog", 1e-4);
    goes_on("gpu-leapfrog", 1e-4);
    goes_on("cpu-double", 1e-10);
}

#[test]
fn hermite_runs_go_on() {
    goes_on("cpu-hermite4", 1e-6);
    goes_on("cpu-hermite6", 1e-8);
    goes_on("gpu-hermite4", 1e-6);
}

#[test]
fn what_was_tuned_is_read_and_disturbs_nothing() {
    let cache = tempfile::tempdir().unwrap();
    std::fs::copy(old("tuned.toml"), cache.path().join("tuned.toml")).unwrap();
    let with = |args: &[&str]| {
        let mut command = program::program();
        command.env("GRAVITILE_CACHE_DIR", cache.path());
        command.args(args).output().unwrap()
    };
    let listed = with(&["tune", "--list", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["damage"], serde_json::Value::Null);
    assert_eq!(listed["choices"].as_array().unwrap().len(), 1);
    let out = cache.path().join("run");
    let args = ["run", "plummer", "-n", "60", "--engine", "gpu", "--until", "0.1", "--out"];
    let run = with(&[&args[..], &[out.to_str().unwrap()]].concat());
    let said = text(&run.stderr);
    assert!(run.status.success() && (said.is_empty() || said == format!("{OUTDATED}\n")), "{said}");
}

const OUTDATED: &str =
    "gravitile: results tuned with earlier shaders are not used; run 'gravitile tune' again";

#[test]
fn what_was_tuned_with_earlier_shaders_is_told_and_not_used() {
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("tuned.toml");
    let with = |args: &[&str]| {
        let mut command = program::program();
        command.env("GRAVITILE_CACHE_DIR", cache.path());
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let run = |name: &str| {
        let out = cache.path().join(name);
        let args = ["run", "plummer", "-n", "60", "--engine", "gpu", "--until", "0.1", "--out"];
        with(&[&args[..], &[out.to_str().unwrap()]].concat()).1
    };
    let sentence = &OUTDATED[OUTDATED.find("results").unwrap()..];
    with(&["tune", "-n", "60", "--secs", "0.2"]);
    assert_eq!(run("tuned"), "");
    assert!(!with(&["tune", "--list"]).0.contains(sentence));
    assert!(!with(&["info", "-n", "60"]).0.contains(sentence));

    // Another version of the program found it.
    let kept = std::fs::read_to_string(&file).unwrap();
    let at = kept.find("kernels = \"").unwrap() + "kernels = \"".len();
    std::fs::write(&file, format!("{}a10bc7df{}", &kept[..at], &kept[at + 8..])).unwrap();
    let list = with(&["tune", "--list"]).0;
    assert!(list.contains(&format!("1 of 1: {sentence}")), "{list}");
    let info = with(&["info", "-n", "60"]).0;
    assert!(info.contains(&format!("for 60 bodies ({sentence})")), "{info}");
    assert!(!with(&["info", "-n", "600"]).0.contains(sentence), "nothing was tuned for these");
    assert_eq!(run("outdated"), format!("{OUTDATED}\n"));
}
