//! `--engine auto` and `--method auto`: by the number of bodies and the class of the device; and what there is no room
//! for.
#![cfg(feature = "cli")]

mod common;
#[path = "common/program.rs"]
mod program;

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

/// From here on steps on the CPU take the tree.
const CPU_TREE_FROM: usize = 16_384;

const CPU: &[&str] = &["--engine", "cpu"];

fn run(folder: &Path, more: &[&str]) -> Output {
    let mut command = program::program();
    command.args(["run", "plummer", "--dt", "0.001", "--until", "0.002"]);
    command.args(["--json", "--out", folder.join("run").to_str().unwrap()]).args(more);
    command.env("GRAVITILE_CACHE_DIR", folder).output().expect("it should start")
}

/// The method that a run on a fresh machine took, by its report and by its file, and its last snapshot.
fn run_fresh(more: &[&str]) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), more);
    assert!(output.status.success(), "{more:?}: {}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let method = report["method"].as_str().unwrap().to_owned();
    let plan = std::fs::read_to_string(folder.path().join("run/run.toml")).unwrap();
    assert!(plan.contains(&format!("\nmethod = \"{method}\"\n")), "{plan}");
    assert!(!folder.path().join("tuned.toml").exists(), "{more:?} leaves a measurement behind");
    let last = std::fs::read(folder.path().join("run/step_0000000002.gvt")).unwrap();
    (method, last)
}

#[test]
fn auto_goes_by_the_number_of_bodies_and_gives_the_same_bits_on_fresh_machines() {
    let [most_direct, fewest_tree] = [CPU_TREE_FROM - 1, CPU_TREE_FROM].map(|n| n.to_string());
    let method = |n: &str, more: &[&str]| run_fresh(&[CPU, &["-n", n], more].concat()).0;
    assert_eq!(method(&most_direct, &[]), "direct");
    assert_eq!(method(&fewest_tree, &["--precision", "double"]), "direct");
    assert_eq!(method(&fewest_tree, &["--method", "direct"]), "direct");
    // Engine and method are both left to the program.
    let [first, second] = [(); 2].map(|()| run_fresh(&["-n", &fewest_tree]));
    assert!(first == second, "{} and {}", first.0, second.0);
    assert_eq!(first.0, "tree");
}

/// What `auto` chooses on an adapter of this class.
fn chosen(class: DeviceClass, n: usize) -> (EngineKind, Method) {
    let mut gpu = Gpu::open_blocking(&common::adapter_request()).unwrap();
    Arc::get_mut(&mut gpu).expect("nobody else has it yet").adapter.class = class;
    let choice = pollster::block_on(choose_on(Some(&gpu), n, &Settings::default())).unwrap();
    (choice.kind, choice.method)
}

#[test]
fn auto_takes_a_graphics_card_for_many_bodies_and_its_tree_for_more() {
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
fn a_simulation_without_an_engine_or_method_takes_those_that_suit_its_bodies() {
    for n in [100, CPU_TREE_FROM] {
        let settings = Settings::default();
        let choice = pollster::block_on(sim::choose(n, &settings)).unwrap();
        let new = Simulation::new(test_bodies(n, Spread::Even), settings).unwrap();
        let taken = new.choice();
        assert_eq!((taken.kind, taken.method), (choice.kind, choice.method), "{n} bodies");
        assert_ne!(taken.kind, EngineKind::Auto);
        if taken.kind == EngineKind::Cpu {
            assert_eq!(taken.method == Method::Tree, n == CPU_TREE_FROM, "{n} bodies");
        }
    }
}

/// Whatever steps take.
#[test]
fn forces_are_by_all_pairs_unless_a_tree_is_asked_for() {
    let n = CPU_TREE_FROM.to_string();
    let computed_on = |more: &[&str]| {
        let mut command = program::program();
        command.args(["forces", "plummer", "-n", &n, "--eps", "0.05"]).args(more);
        let output = command.output().unwrap();
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
    let choice = pollster::block_on(choose_on(Some(&gpu), 50_000, &settings)).unwrap();
    assert_eq!(choice.method, Method::Direct);
    let why = choice.because().into_owned();
    assert!(why.contains("no room for a tree") && why.contains("at most 5000"), "{why}");
}
