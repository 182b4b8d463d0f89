//! `--engine auto` and `--method auto`: the choice by number of bodies and device class, and
//! numbers of bodies that do not fit into memory.

use crate::common;
use crate::program;

use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use gravitile::forces::tree::gpu::BYTES_PER_BODY;
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::measure::choose_on;
use gravitile::scene::{Spread, test_bodies};
use gravitile::sim::{self, EngineKind, Method, Settings, Simulation};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Smallest number of bodies for which `auto` takes the tree on the CPU.
const CPU_TREE_FROM: usize = 16_384;

const CPU: &[&str] = &["--engine", "cpu"];

fn run(folder: &Path, options: &[&str]) -> Output {
    let mut command = program::program();
    command.args(["run", "plummer", "--dt", "0.001", "--until", "0.002"]);
    command.args(["--json", "--out", folder.join("run").to_str().unwrap()]).args(options);
    command.env("GRAVITILE_CACHE_DIR", folder).output().expect("it should start")
}

/// The method chosen by a run with an empty cache, checked in report and plan, and the run's last
/// snapshot.
fn run_fresh(options: &[&str]) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), options);
    assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let method = report["method"].as_str().unwrap().to_owned();
    let plan = std::fs::read_to_string(folder.path().join("run/run.toml")).unwrap();
    assert!(plan.contains(&format!("\nmethod = \"{method}\"\n")), "{plan}");
    assert!(!folder.path().join("tuned.toml").exists(), "{options:?} leaves a measurement behind");
    let last = std::fs::read(folder.path().join("run/step_0000000002.gvt")).unwrap();
    (method, last)
}

#[test]
fn auto_choice_depends_on_body_count_and_gives_same_bits() {
    let [most_direct, fewest_tree] = [CPU_TREE_FROM - 1, CPU_TREE_FROM].map(|n| n.to_string());
    let method = |n: &str, options: &[&str]| run_fresh(&[CPU, &["-n", n], options].concat()).0;
    assert_eq!(method(&most_direct, &[]), "direct");
    assert_eq!(method(&fewest_tree, &["--precision", "double"]), "direct");
    assert_eq!(method(&fewest_tree, &["--method", "direct"]), "direct");
    // Engine and method are both left to the program.
    let [first, second] = [(); 2].map(|()| run_fresh(&["-n", &fewest_tree]));
    assert!(first == second, "{} and {}", first.0, second.0);
    assert_eq!(first.0, "tree");
}

/// The choice of `auto` on an adapter of this class.
fn chosen(class: DeviceClass, n: usize) -> (EngineKind, Method) {
    let mut gpu = Gpu::open_blocking(&common::adapter_request()).unwrap();
    Arc::get_mut(&mut gpu).expect("nobody else has it yet").adapter.class = class;
    let choice = pollster::block_on(choose_on(Some(&gpu), n, &Settings::default())).unwrap();
    (choice.kind, choice.method)
}

#[test]
fn auto_switches_to_gpu_and_tree_with_growing_body_count() {
    use EngineKind::{Cpu, Gpu};
    use Method::{Direct, Tree};
    assert_eq!(chosen(DeviceClass::Software, 1_000_000), (Cpu, Tree));
    for (class, tree_from) in [(DeviceClass::Discrete, 32_768), (DeviceClass::Integrated, 16_384)] {
        for (n, right) in [
            (511, (Cpu, Direct)),
            (512, (Gpu, Direct)),
            (tree_from - 1, (Gpu, Direct)),
            (tree_from, (Gpu, Tree)),
        ] {
            assert_eq!(chosen(class, n), right, "{class:?}, {n} bodies");
        }
    }
}

#[test]
fn simulation_new_uses_the_choice_of_auto() {
    for n in [100, CPU_TREE_FROM] {
        let settings = Settings::default();
        let choice = pollster::block_on(sim::choose(n, &settings)).unwrap();
        let new = Simulation::new(test_bodies(n, Spread::Even), settings).unwrap();
        let used = new.choice();
        assert_eq!((used.kind, used.method), (choice.kind, choice.method), "{n} bodies");
        assert_ne!(used.kind, EngineKind::Auto);
        if used.kind == EngineKind::Cpu {
            assert_eq!(used.method == Method::Tree, n == CPU_TREE_FROM, "{n} bodies");
        }
    }
}

/// Independent of the method that `auto` chooses for steps.
#[test]
fn forces_use_all_pairs_unless_a_tree_is_requested() {
    let n = CPU_TREE_FROM.to_string();
    let computed_on = |options: &[&str]| {
        let mut command = program::program();
        command.args(["forces", "plummer", "-n", &n, "--eps", "0.05"]).args(options);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for engine in [&[][..], CPU] {
        assert!(!computed_on(engine).contains("tree"), "{engine:?}");
        assert!(computed_on(&[engine, &["--method", "tree"]].concat()).contains("tree"));
    }
}

#[test]
fn unsupported_tree_is_refused_with_the_alternatives() {
    let folder = tempfile::tempdir().unwrap();
    for (options, says) in [
        (
            &["--integrator", "hermite4"][..],
            "must be direct or reference for forces up to the jerk",
        ),
        (&["--precision", "double"], "the precision is double, but must be single"),
        (&["--engine", "reference"], "the method is tree, but must be auto or reference"),
    ] {
        let engine = if options[0] == "--engine" { &[][..] } else { CPU };
        let args = [engine, &["-n", "100", "--method", "tree"], options].concat();
        let output = run(folder.path(), &args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(!folder.path().join("run").exists(), "{options:?} leaves something behind");
    }
}

/// The test's adapter, reported to have only `bytes` of memory.
fn gpu_with_memory(bytes: u64) -> Arc<Gpu> {
    let request = AdapterRequest { baseline: true, ..common::adapter_request() };
    let mut gpu = Gpu::open_blocking(&request).unwrap();
    Arc::get_mut(&mut gpu).expect("nobody else has it yet").limits.memory = Some(bytes);
    gpu
}

#[test]
fn too_many_bodies_for_memory_are_refused_with_the_maximum() {
    let gpu = gpu_with_memory(BYTES_PER_BODY * 5000);
    let refusal = |method: Method, n: usize| {
        let settings =
            Settings { engine: EngineKind::Gpu, method: Some(method), ..Settings::default() };
        let choice = pollster::block_on(choose_on(Some(&gpu), n, &settings)).unwrap();
        let error = Simulation::builder(test_bodies(n, Spread::Even), settings)
            .choice(choice)
            .build()
            .err();
        error.map(|error| error.to_string())
    };
    let tree = refusal(Method::Tree, 5001).unwrap();
    assert!(tree.contains("5001 bodies") && tree.contains("at most 5000 bodies"), "{tree}");
    // The direct method takes 64 bytes per body.
    let most_direct = (BYTES_PER_BODY * 5000 / 64) as usize;
    let direct = refusal(Method::Direct, most_direct + 1).unwrap();
    assert!(direct.contains(&format!("at most {most_direct} bodies")), "{direct}");
    assert_eq!([refusal(Method::Tree, 64), refusal(Method::Direct, 64)], [None, None]);
    // With `auto` a tree that does not fit is avoided, not refused.
    let settings = Settings { engine: EngineKind::Gpu, ..Settings::default() };
    let choice = pollster::block_on(choose_on(Some(&gpu), 50_000, &settings)).unwrap();
    assert_eq!(choice.method, Method::Direct);
    let why = choice.because().into_owned();
    assert!(why.contains("no room for a tree") && why.contains("at most 5000"), "{why}");
}
