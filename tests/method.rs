//! `--method auto`: direct or tree by the number of bodies, as it was measured here; and what there is no room for.
#![cfg(feature = "cli")]

mod common;
#[path = "common/program.rs"]
mod program;

use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use gravitile::forces::tree::gpu::BYTES_PER_BODY;
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::measure::choose_on;
use gravitile::scene::{Spread, test_bodies};
use gravitile::sim::{EngineKind, Method, Settings, Simulation};
use gravitile::tuned::{Crossover, Device, Store, Trial};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of what was found, which says that the tree is faster on the processor from so many bodies on.
fn cache(folder: &Path, from: u64) {
    let tried = vec![Trial { n: 4096, direct_secs: 2.0, tree_secs: 1.0 }];
    let crossover = Crossover { on: Device::processor(), from, tried };
    Store::at(folder.join("tuned.toml")).keep_crossover(crossover).unwrap();
}

const CPU: &[&str] = &["--engine", "cpu"];

fn run(cache: &Path, more: &[&str]) -> Output {
    let mut command = program::program();
    command.args(["run", "plummer", "--dt", "0.001", "--until", "0.002"]);
    command.args(["--json", "--out", cache.join("run").to_str().unwrap()]).args(more);
    command.env("GRAVITILE_CACHE_DIR", cache).output().expect("it should start")
}

/// The method that a run took, by its report and by its file.
fn method(more: &[&str], from: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), from);
    let output = run(folder.path(), &[CPU, more].concat());
    assert!(output.status.success(), "{more:?}: {}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let method = report["method"].as_str().unwrap().to_owned();
    let plan = std::fs::read_to_string(folder.path().join("run/run.toml")).unwrap();
    assert!(plan.contains(&format!("\nmethod = \"{method}\"\n")), "{plan}");
    method
}

#[test]
fn auto_is_what_was_found_faster_and_the_run_keeps_it() {
    assert_eq!(method(&["-n", "4500"], 4500), "tree");
    assert_eq!(method(&["-n", "4499"], 4500), "direct");
    // Whatever was found: few bodies, and what a tree has not.
    assert_eq!(method(&["-n", "300"], 1), "direct");
    assert_eq!(method(&["-n", "4500", "--precision", "double"], 4500), "direct");
    assert_eq!(method(&["-n", "4500", "--method", "direct"], 4500), "direct");
}

/// Whatever is faster for steps.
#[test]
fn forces_are_by_all_pairs_unless_a_tree_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), 4096);
    let computed_on = |more: &[&str]| {
        let mut command = program::program();
        command.args(["forces", "plummer", "-n", "5000", "--eps", "0.05"]).args(more);
        let output = command.env("GRAVITILE_CACHE_DIR", folder.path()).output().unwrap();
        assert!(output.status.success(), "{more:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for engine in [&[][..], CPU] {
        assert!(!computed_on(engine).contains("tree"), "{engine:?}");
        assert!(computed_on(&[engine, &["--method", "tree"]].concat()).contains("tree"));
    }
}

#[test]
fn a_tree_that_there_is_not_is_refused_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for (more, says) in [
        (
            &["--integrator", "hermite4"][..],
            "must be direct or reference for forces up to the jerk",
        ),
        (&["--precision", "double"], "the precision is double, but must be single"),
        (&["--engine", "reference"], "the method is tree, but must be auto or reference"),
    ] {
        let engine = if more[0] == "--engine" { &[][..] } else { CPU };
        let args = [engine, &["-n", "100", "--method", "tree"], more].concat();
        let output = run(folder.path(), &args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(!folder.path().join("run").exists(), "{more:?} leaves something behind");
    }
    let folder = tempfile::tempdir().unwrap();
    cache(folder.path(), 1);
    let hermite = run(folder.path(), &["-n", "64", "--integrator", "hermite4"]);
    assert!(hermite.status.success(), "{}", text(&hermite.stderr));
}

/// What was measured is kept, told, and not measured again.
#[test]
fn a_measurement_is_made_once_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let info = |n: &str| {
        let mut command = program::program();
        command.args(["info", "-n", n]).env("GRAVITILE_CACHE_DIR", folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let store = Store::at(folder.path().join("tuned.toml"));
    assert!(info("4000").contains("direct for fewer than 4096 bodies"));
    assert!(store.load().crossovers.is_empty(), "few bodies were measured");
    let told = info("4096");
    let found = store.load().crossovers;
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert!(found.from >= 4096 && found.tried[0].n == 4096, "{found:?}");
    assert!(told.contains(&format!("tree faster from {} bodies", found.from)), "{told}");
    assert_eq!(info("4096"), told, "what is kept is measured again");
    let more = info("1000000000");
    assert!(more.contains("method tree") && more.contains("from"), "{more}");
}

/// The test's adapter, said to have so little memory.
fn small(bytes: u64) -> Arc<Gpu> {
    let request = AdapterRequest { baseline: true, ..common::adapter_request() };
    let mut gpu = Gpu::open_blocking(&request).unwrap();
    Arc::get_mut(&mut gpu).expect("nobody else has it yet").limits.memory = Some(bytes);
    gpu
}

#[test]
fn what_does_not_fit_is_refused_with_the_largest_number() {
    let gpu = small(BYTES_PER_BODY * 5000);
    let refused = |method: Method, n: usize| {
        let settings =
            Settings { engine: EngineKind::Gpu, method: Some(method), ..Settings::default() };
        let choice = pollster::block_on(choose_on(Some(&gpu), n, &settings)).unwrap();
        let error = Simulation::on(choice, test_bodies(n, Spread::Even), settings).err();
        error.map(|error| error.to_string())
    };
    let tree = refused(Method::Tree, 5001).unwrap();
    assert!(tree.contains("5001 bodies") && tree.contains("at most 5000 bodies"), "{tree}");
    // 64 bytes each, by the method direct.
    let most_direct = (BYTES_PER_BODY * 5000 / 64) as usize;
    let direct = refused(Method::Direct, most_direct + 1).unwrap();
    assert!(direct.contains(&format!("at most {most_direct} bodies")), "{direct}");
    assert_eq!([refused(Method::Tree, 64), refused(Method::Direct, 64)], [None, None]);
    // Nobody asked for the tree: it is no reason to refuse.
    let settings = Settings { engine: EngineKind::Gpu, ..Settings::default() };
    let choice = pollster::block_on(choose_on(Some(&gpu), 6000, &settings)).unwrap();
    assert_eq!(choice.method, Method::Direct);
    let why = choice.because().into_owned();
    assert!(why.contains("no room for a tree") && why.contains("at most 5000"), "{why}");
}
