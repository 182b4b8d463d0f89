//! Files of earlier versions are read: run folders, snapshots and tuned kernels.

use crate::program;

use std::path::{Path, PathBuf};
use std::process::Output;

use gravitile::snapshot;

fn gravitile(args: &[&str]) -> Output {
    program::program().args(args).output().expect("it should start")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn old_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/program/old_runs").join(name)
}

/// The name of an adapter of this machine.
fn local_adapter() -> String {
    let output = gravitile(&["info", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    info["adapters"][0]["name"].as_str().expect("the tests need an adapter").to_owned()
}

/// Resumes a copy of an old run. The final positions may differ from the recorded ones by the
/// relative error `allowed`.
fn assert_resumes(name: &str, allowed: f64) {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    for file in ["run.toml", "energy.csv", "step_0000000008.gvt"] {
        std::fs::copy(old_path(name).join(file), at(file)).unwrap();
    }
    let args = ["resume", folder.path().to_str().unwrap()];
    let mut output = gravitile(&args);
    let stderr = text(&output.stderr);
    let is_of_an_adapter = name.starts_with("gpu");
    if is_of_an_adapter && output.status.code() == Some(2) && stderr.contains("adapter") {
        // The run's adapter does not exist here: one line refuses and names it. Any other adapter
        // will do.
        assert!(stderr.lines().count() == 1 && stderr.contains("LLVM 15"), "{name}: {stderr}");
        let plan = std::fs::read_to_string(at("run.toml")).unwrap();
        let adapter = toml::Value::from(local_adapter()).to_string();
        let plan = plan.replace("\"llvmpipe (LLVM 15.0.6, 256 bits)\"", &adapter);
        std::fs::write(at("run.toml"), plan).unwrap();
        output = gravitile(&args);
    }
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    let stderr = text(&output.stderr);
    assert!(
        stderr.is_empty() || (is_of_an_adapter && stderr.contains("going on with")),
        "{stderr}"
    );
    assert!(text(&output.stdout).contains("resuming from step 8 of 16, t = 0.5"), "{name}");

    let found = snapshot::read(at("step_0000000016.gvt")).unwrap();
    let expected = snapshot::read(old_path(name).join("expected.gvt")).unwrap();
    assert_eq!((found.time, &found.bodies.id), (expected.time, &expected.bodies.id));
    for (a, b) in found.bodies.position.iter().zip(&expected.bodies.position) {
        assert!((*a - *b).length() <= allowed * b.length(), "{name}: {a} and {b}");
    }
    let log = std::fs::read_to_string(at("energy.csv")).unwrap();
    let steps: Vec<_> = log.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["step", "0", "4", "8", "12", "16"], "{name}");
    // Another resume finds nothing left to do.
    assert!(gravitile(&args).status.success(), "{name}");
}

// Other processors and versions may round differently; the orbits are the same.

#[test]
fn old_leapfrog_runs_resume() {
    assert_resumes("cpu-leapfrog", 1e-4);
    assert_resumes("gpu-leapfrog", 1e-4);
    assert_resumes("cpu-double", 1e-10);
}

#[test]
fn old_hermite_runs_resume() {
    assert_resumes("cpu-hermite4", 1e-6);
    assert_resumes("cpu-hermite6", 1e-8);
    assert_resumes("gpu-hermite4", 1e-6);
}

#[test]
fn old_tuning_results_are_read() {
    let cache = tempfile::tempdir().unwrap();
    std::fs::copy(old_path("tuned.toml"), cache.path().join("tuned.toml")).unwrap();
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
    let stderr = text(&run.stderr);
    assert!(
        run.status.success() && (stderr.is_empty() || stderr == format!("{OUTDATED}\n")),
        "{stderr}"
    );
}

const OUTDATED: &str =
    "gravitile: results tuned with earlier shaders are not used; run 'gravitile tune' again";

#[test]
fn tuning_results_of_earlier_shaders_are_reported_and_unused() {
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

    // As if tuned by another version of the program.
    let tuned = std::fs::read_to_string(&file).unwrap();
    let at = tuned.find("kernels = \"").unwrap() + "kernels = \"".len();
    std::fs::write(&file, format!("{}a10bc7df{}", &tuned[..at], &tuned[at + 8..])).unwrap();
    let list = with(&["tune", "--list"]).0;
    assert!(list.contains(&format!("1 of 1: {sentence}")), "{list}");
    let info = with(&["info", "-n", "60"]).0;
    assert!(info.contains(&format!("for 60 bodies ({sentence})")), "{info}");
    assert!(!with(&["info", "-n", "600"]).0.contains(sentence), "nothing was tuned for these");
    assert_eq!(run("outdated"), format!("{OUTDATED}\n"));
}
