//! Adapter selection: by list number, by name, and from the run file.
#![cfg(unix)]

use crate::common::skip;
use crate::program;

use std::path::{Path, PathBuf};
use std::process::Output;

/// Runs the program in `folder`. `drivers` are the Vulkan drivers that it finds; if empty, all that
/// are installed.
fn gravitile(folder: &Path, drivers: &[&Path], args: &[&str]) -> Output {
    let mut command = program::program();
    command.args(args).current_dir(folder).env("GRAVITILE_CACHE_DIR", folder.join("cache"));
    if !drivers.is_empty() {
        let paths = std::env::join_paths(drivers).unwrap();
        command.env("VK_DRIVER_FILES", &paths).env("VK_ICD_FILENAMES", &paths);
    }
    command.output().expect("it should start")
}

/// Runs and expects an exit code; returns standard output and standard error.
fn output_of(folder: &Path, drivers: &[&Path], args: &[&str], code: i32) -> [String; 2] {
    let output = gravitile(folder, drivers, args);
    let texts = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {texts:?}");
    texts
}

fn listed(folder: &Path, drivers: &[&Path]) -> Vec<serde_json::Value> {
    let [text, _] = output_of(folder, drivers, &["info", "--json"], 0);
    let info: serde_json::Value = serde_json::from_str(&text).unwrap();
    info["adapters"].as_array().unwrap().clone()
}

/// A run of two steps on an adapter, with more options.
fn run<'a>(adapter: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["run", "plummer", "-n", "20", "--dt", "0.01", "--until", "0.02", "--engine", "gpu"];
    [&args[..], &["--adapter", adapter, "--out", out], more].concat()
}

fn plan(folder: &Path, out: &str) -> toml::Table {
    toml::from_str(&std::fs::read_to_string(folder.join(out).join("run.toml")).unwrap()).unwrap()
}

/// Rewrites the run file with `change` applied.
fn change(folder: &Path, out: &str, change: impl FnOnce(&mut toml::Table)) {
    let mut plan = plan(folder, out);
    change(&mut plan);
    std::fs::write(folder.join(out).join("run.toml"), plan.to_string()).unwrap();
}

#[test]
fn several_adapters_serve_runs_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sentence = "must be one adapter here: several are for run, resume, render and view";
    let [_, refusal] = output_of(folder, &[], &["forces", "plummer", "--adapter", "0, 0"], 2);
    assert!(refusal.contains("--adapter is 0,0") && refusal.contains(sentence), "{refusal}");
    let [_, refusal] = output_of(folder, &[], &run("0,nobody", "a", &[]), 2);
    assert!(refusal.contains("no graphics adapter has 'nobody' in its name"), "{refusal}");
    assert!(!folder.join("a").exists());
    // Two devices on one adapter.
    for (adapter, out) in [("0", "one"), ("0,0", "two")] {
        output_of(folder, &[], &run(adapter, out, &[]), 0);
    }
    let snapshot = |out: &str| std::fs::read(folder.join(out).join("step_0000000002.gvt")).unwrap();
    assert!(snapshot("one") == snapshot("two"));
    assert_eq!(plan(folder, "two")["adapter"].as_array().map(Vec::len), Some(2));
    // The adapter is ignored when the CPU computes.
    let out = ["--adapter", "0", "--engine", "cpu", "--out", "b"];
    let short = ["run", "plummer", "-n", "20", "--dt", "0.01", "--until", "0.02"];
    output_of(folder, &[], &[&short[..], &out].concat(), 0);
    // A run file of a later version, with a list of adapters but no `devices`.
    output_of(folder, &[], &run("0", "c", &[]), 0);
    change(folder, "c", |plan| {
        let one = plan["adapter"].clone();
        plan["steps"] = 4.into();
        plan["adapter"] = toml::Value::Array(vec![one.clone(), one]);
    });
    let [_, refusal] = output_of(folder, &[], &["resume", "c"], 2);
    assert!(refusal.contains("--adapter is"), "{refusal}");
    change(folder, "c", |plan| drop(plan.insert("devices".to_owned(), "2".into())));
    output_of(folder, &[], &["resume", "c"], 0);
}

#[test]
fn resume_takes_other_adapters_than_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tree = ["--method", "tree", "--every", "0.01"];
    output_of(folder, &[], &run("0", "whole", &tree), 0);
    let contents = |out: &str| {
        ["step_0000000002.gvt", "energy.csv"].map(|name| std::fs::read(folder.join(out).join(name)))
    };
    for (k, (options, devices)) in
        [(&["--adapter", "0,0,0"][..], 3), (&["--adapter", "0", "--devices", "1"], 1)]
            .into_iter()
            .enumerate()
    {
        let out = format!("cut{k}");
        output_of(folder, &[], &run("0,0", &out, &tree), 0);
        std::fs::remove_file(folder.join(&out).join("step_0000000002.gvt")).unwrap();
        let [answer, error] = output_of(folder, &[], &[&["resume", &out], options].concat(), 0);
        assert!(answer.contains("resuming from step 1 of 2"), "{answer}");
        assert_eq!(answer.matches(" + ").count() + 1, devices, "{answer}");
        assert_eq!(error, "");
        let [both, whole] = [&out, "whole"].map(|out| contents(out).map(Result::unwrap));
        assert!(both == whole, "{options:?}");
    }
    for (options, sentence) in [
        (["--devices", "auto"], "--devices is auto, but must be a number here"),
        (["--adapter", "nobody"], "no graphics adapter has 'nobody' in its name"),
    ] {
        let [_, error] = output_of(folder, &[], &[&["resume", "cut0"][..], &options].concat(), 2);
        assert!(error.contains(sentence), "{error}");
    }
}

/// Pictures of bodies in domains are painted from all of them, whatever the number of devices.
#[test]
fn pictures_of_bodies_in_domains_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let picture = |adapters: &str, out: &str| {
        let film = ["render", "plummer", "-n", "700", "--size", "160x90", "--dt", "0.01"];
        let engine = ["--until", "0.02", "--method", "tree", "--engine", "gpu"];
        let how = ["--adapter", adapters, "--out", out];
        output_of(folder, &[], &[&film[..], &engine, &how].concat(), 0);
        std::fs::read(folder.join(out)).unwrap()
    };
    let one = picture("0", "one.png");
    assert!(picture("0,0", "two.png") == one);
    assert!(picture("0,0,0", "three.png") == one);
}

#[test]
fn number_selects_adapter_by_list_index() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let adapters = listed(folder, &[]);
    assert!(!adapters.is_empty(), "these tests need a Vulkan, Metal or DX12 adapter");
    for (number, adapter) in adapters.iter().enumerate() {
        let (number, out) = (number.to_string(), format!("run {number}"));
        output_of(folder, &[], &run(&number, &out, &[]), 0);
        let taken = &plan(folder, &out)["adapter"];
        assert_eq!(taken["name"].as_str(), adapter["name"].as_str());
        assert_eq!(taken["vendor"].as_integer(), adapter["pci_vendor"].as_i64());
        assert_eq!(taken["device"].as_integer(), adapter["pci_device"].as_i64());
        assert_eq!(taken.get("place").and_then(|p| p.as_str()), adapter["pci_place"].as_str());
    }
    // With few bodies `auto` takes the CPU, and says that the adapter computes nothing.
    let few = ["run", "plummer", "-n", "20", "--dt", "0.01", "--until", "0.02", "--adapter", "0"];
    let [_, error] = output_of(folder, &[], &[&few[..], &["--out", "few"]].concat(), 0);
    assert!(error.contains("by the engine cpu and not by the adapter"), "{error}");
    // The first number that is neither a list index nor a number within a name (the 1 in "LLVM 15"
    // is not one).
    let in_names = |number: &usize| {
        let number = number.to_string();
        let named = |adapter: &serde_json::Value| {
            let name = adapter["name"].as_str().unwrap().to_owned();
            name.split(|c: char| !c.is_ascii_digit()).any(|digits| digits == number)
        };
        adapters.iter().any(named)
    };
    let free = (adapters.len()..).find(|number| !in_names(number)).unwrap().to_string();
    let [_, error] = output_of(folder, &[], &run(&free, "none", &[]), 2);
    assert!(error.contains(&format!("'{free}'")) && error.contains("0: "), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}

#[test]
fn run_file_records_adapter_and_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    output_of(folder, &[], &run("0", "run", &["--baseline"]), 0);
    assert_eq!(plan(folder, "run")["baseline"].as_bool(), Some(true));
    output_of(folder, &[], &["resume", "run"], 0);

    // Files of earlier versions store only the name.
    let name = plan(folder, "run")["adapter"]["name"].as_str().unwrap().to_owned();
    change(folder, "run", |plan| {
        plan.insert("adapter".to_owned(), name.clone().into());
        plan.remove("baseline");
    });
    let [_, error] = output_of(folder, &[], &["resume", "run"], 0);
    assert_eq!(error, "");

    // The card has moved to another slot or machine.
    change(folder, "run", |plan| {
        let table = toml::toml! {
            vendor = 1
            device = 2
            place = "0000:7f:00.0"
        };
        plan.insert("adapter".to_owned(), table.into());
        plan["adapter"].as_table_mut().unwrap().insert("name".to_owned(), name.clone().into());
    });
    let [_, error] = output_of(folder, &[], &["resume", "run"], 0);
    assert!(error.contains("0000:7f:00.0 is not present, continuing with"), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");

    change(folder, "run", |plan| {
        plan["adapter"].as_table_mut().unwrap().insert("name".to_owned(), "Voodoo 2".into());
    });
    let [_, error] = output_of(folder, &[], &["resume", "run"], 2);
    assert!(error.contains("Voodoo 2") && error.contains(&name), "{error}");
}

/// What the baseline lacks is also lacking after a restart.
#[test]
fn resume_keeps_baseline_limits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if listed(folder, &[])[0]["optional"]["f64"] != true {
        return skip::skipped("a run with the baseline", "the adapter has no f64 to be left out");
    }
    let double = ["--integrator", "hermite4", "--precision", "double", "--dt-max", "0.0078125"];
    output_of(folder, &[], &run("0", "run", &double), 0);
    output_of(folder, &[], &["resume", "run"], 0);
    change(folder, "run", |plan| {
        plan.insert("baseline".to_owned(), true.into());
    });
    let [_, error] = output_of(folder, &[], &["resume", "run"], 2);
    assert!(error.contains("f64"), "{error}");
}

/// Driver manifest of a second software driver besides lavapipe: SwiftShader, which Chromium ships.
fn swiftshader() -> Option<PathBuf> {
    let named = std::env::var_os("GRAVITILE_SWIFTSHADER").map(PathBuf::from);
    let debian = PathBuf::from("/usr/lib/chromium/vk_swiftshader_icd.json");
    named.or(Some(debian)).filter(|path| path.exists())
}

fn lavapipe() -> Option<PathBuf> {
    let entries = std::fs::read_dir("/usr/share/vulkan/icd.d").ok()?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("lvp_")))
}

#[test]
fn listed_adapter_is_the_one_opened() {
    let (Some(swiftshader), Some(lavapipe)) = (swiftshader(), lavapipe()) else {
        let why = "SwiftShader (Debian's package chromium-common) and lavapipe are not both here";
        assert!(std::env::var_os("GRAVITILE_SWIFTSHADER").is_none(), "{why}");
        return skip::skipped("two adapters at a time", why);
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let alone = [&swiftshader, &lavapipe].map(|driver| listed(folder, &[driver]).remove(0));
    assert_ne!(alone[0]["limits"], alone[1]["limits"], "they can be told apart");
    let both = [&*lavapipe, &*swiftshader];
    let adapters = listed(folder, &both);
    assert_eq!(adapters.len(), 2);
    for (number, adapter) in adapters.iter().enumerate() {
        let same = alone.iter().find(|other| other["name"] == adapter["name"]).unwrap();
        for what in ["driver", "limits", "optional", "tiers"] {
            assert_eq!(adapter[what], same[what], "{what} of {}", adapter["name"]);
        }
        let (number, out) = (number.to_string(), format!("run {number}"));
        output_of(folder, &both, &run(&number, &out, &[]), 0);
        assert_eq!(plan(folder, &out)["adapter"]["name"].as_str(), adapter["name"].as_str());
        // Resume uses the same adapter, whatever the order of enumeration.
        let [answer, error] = output_of(folder, &both, &["resume", &out], 0);
        assert!(answer.contains(adapter["name"].as_str().unwrap()), "{answer}");
        assert_eq!(error, "");
    }
}

/// Devices of two kinds in a group: the rounding differs, and both energy errors agree to 1e-6.
#[test]
fn mixed_devices_run_direct_but_not_tree() {
    let (Some(swiftshader), Some(lavapipe)) = (swiftshader(), lavapipe()) else {
        let why = "SwiftShader (Debian's package chromium-common) and lavapipe are not both here";
        return skip::skipped("a group of two kinds of devices", why);
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let both = [&*lavapipe, &*swiftshader];
    let plummer = ["run", "plummer", "-n", "700", "--dt", "0.01", "--until", "0.1", "--json"];
    let energy_error = |adapter: &str| {
        let more = ["--engine", "gpu", "--adapter", adapter, "--out", adapter];
        let [answer, _] = output_of(folder, &both, &[&plummer[..], &more].concat(), 0);
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        (answer["energy_error"].as_f64().unwrap(), answer["configuration"].to_string())
    };
    let ((one, _), (two, words)) = (energy_error("0"), energy_error("0,1"));
    assert!((one - two).abs() < 1e-6, "{one} and {two}");
    assert!(words.contains("llvmpipe") && words.contains("SwiftShader"), "{words}");
    let tree = ["--engine", "gpu", "--method", "tree", "--adapter", "0,1", "--out", "tree"];
    let [_, error] = output_of(folder, &both, &[&plummer[..], &tree].concat(), 2);
    assert!(error.contains("of one kind with the method tree"), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}
