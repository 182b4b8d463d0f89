//! Which adapter is meant: by its number, by its name, by what a run's file remembers of it.
#![cfg(all(feature = "cli", unix))]

#[path = "common/program.rs"]
mod program;

#[path = "common/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Output;

/// The program in a folder of its own; `drivers` are the Vulkan drivers that it sees, all where none is given.
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
fn said(folder: &Path, drivers: &[&Path], args: &[&str], code: i32) -> [String; 2] {
    let output = gravitile(folder, drivers, args);
    let texts = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {texts:?}");
    texts
}

fn listed(folder: &Path, drivers: &[&Path]) -> Vec<serde_json::Value> {
    let [text, _] = said(folder, drivers, &["info", "--json"], 0);
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

/// Writes the plan of a run anew.
fn change(folder: &Path, out: &str, change: impl FnOnce(&mut toml::Table)) {
    let mut plan = plan(folder, out);
    change(&mut plan);
    std::fs::write(folder.join(out).join("run.toml"), plan.to_string()).unwrap();
}

#[test]
fn several_adapters_share_a_run_and_are_refused_where_one_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sentence = "must be one adapter here: several are for run, resume, render and view";
    let [_, refusal] = said(folder, &[], &["forces", "plummer", "--adapter", "0, 0"], 2);
    assert!(refusal.contains("--adapter is 0,0") && refusal.contains(sentence), "{refusal}");
    let [_, refusal] = said(folder, &[], &run("0,nobody", "a", &[]), 2);
    assert!(refusal.contains("no graphics adapter has 'nobody' in its name"), "{refusal}");
    assert!(!folder.join("a").exists());
    // Two devices on one adapter.
    for (adapter, out) in [("0", "one"), ("0,0", "two")] {
        said(folder, &[], &run(adapter, out, &[]), 0);
    }
    let snapshot = |out: &str| std::fs::read(folder.join(out).join("step_0000000002.gvt")).unwrap();
    assert!(snapshot("one") == snapshot("two"));
    assert_eq!(plan(folder, "two")["adapter"].as_array().map(Vec::len), Some(2));
    // Who computes on the CPU needs none of them.
    let out = ["--adapter", "0", "--engine", "cpu", "--out", "b"];
    let short = ["run", "plummer", "-n", "20", "--dt", "0.01", "--until", "0.02"];
    said(folder, &[], &[&short[..], &out].concat(), 0);
    // A file of a later program.
    said(folder, &[], &run("0", "c", &[]), 0);
    change(folder, "c", |plan| {
        let one = plan["adapter"].clone();
        plan["steps"] = 4.into();
        plan["adapter"] = toml::Value::Array(vec![one.clone(), one]);
    });
    let [_, refusal] = said(folder, &[], &["resume", "c"], 2);
    assert!(refusal.contains("--adapter is"), "{refusal}");
    change(folder, "c", |plan| drop(plan.insert("devices".to_owned(), "2".into())));
    said(folder, &[], &["resume", "c"], 0);
}

#[test]
fn a_number_is_a_place_in_the_list_and_no_part_of_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let adapters = listed(folder, &[]);
    assert!(!adapters.is_empty(), "these tests need a Vulkan, Metal or DX12 adapter");
    for (number, adapter) in adapters.iter().enumerate() {
        let (number, out) = (number.to_string(), format!("run {number}"));
        said(folder, &[], &run(&number, &out, &[]), 0);
        let taken = &plan(folder, &out)["adapter"];
        assert_eq!(taken["name"].as_str(), adapter["name"].as_str());
        assert_eq!(taken["vendor"].as_integer(), adapter["pci_vendor"].as_i64());
        assert_eq!(taken["device"].as_integer(), adapter["pci_device"].as_i64());
        assert_eq!(taken.get("place").and_then(|p| p.as_str()), adapter["pci_place"].as_str());
    }
    // The first number that is none of theirs, nor stands in a name by itself: the 1 in "LLVM 15" does not.
    let in_names = |number: &usize| {
        let number = number.to_string();
        let named = |adapter: &serde_json::Value| {
            let name = adapter["name"].as_str().unwrap().to_owned();
            name.split(|c: char| !c.is_ascii_digit()).any(|digits| digits == number)
        };
        adapters.iter().any(named)
    };
    let free = (adapters.len()..).find(|number| !in_names(number)).unwrap().to_string();
    let [_, error] = said(folder, &[], &run(&free, "none", &[]), 2);
    assert!(error.contains(&format!("'{free}'")) && error.contains("0: "), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}

#[test]
fn a_run_remembers_its_adapter_and_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    said(folder, &[], &run("0", "run", &["--baseline"]), 0);
    assert_eq!(plan(folder, "run")["baseline"].as_bool(), Some(true));
    said(folder, &[], &["resume", "run"], 0);

    // Files of earlier versions hold a name.
    let name = plan(folder, "run")["adapter"]["name"].as_str().unwrap().to_owned();
    change(folder, "run", |plan| {
        plan.insert("adapter".to_owned(), name.clone().into());
        plan.remove("baseline");
    });
    let [_, error] = said(folder, &[], &["resume", "run"], 0);
    assert_eq!(error, "");

    // The card is in another slot, or in another machine.
    change(folder, "run", |plan| {
        let table = toml::toml! {
            vendor = 1
            device = 2
            place = "0000:7f:00.0"
        };
        plan.insert("adapter".to_owned(), table.into());
        plan["adapter"].as_table_mut().unwrap().insert("name".to_owned(), name.clone().into());
    });
    let [_, error] = said(folder, &[], &["resume", "run"], 0);
    assert!(error.contains("0000:7f:00.0 is not present, continuing with"), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");

    change(folder, "run", |plan| {
        plan["adapter"].as_table_mut().unwrap().insert("name".to_owned(), "Voodoo 2".into());
    });
    let [_, error] = said(folder, &[], &["resume", "run"], 2);
    assert!(error.contains("Voodoo 2") && error.contains(&name), "{error}");
}

/// What the baseline lacks is lacking after a restart, too.
#[test]
fn a_run_with_the_baseline_goes_on_with_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if listed(folder, &[])[0]["optional"]["f64"] != true {
        return skip::skipped("a run with the baseline", "the adapter has no f64 to be left out");
    }
    let double = ["--integrator", "hermite4", "--precision", "double", "--dt-max", "0.0078125"];
    said(folder, &[], &run("0", "run", &double), 0);
    said(folder, &[], &["resume", "run"], 0);
    change(folder, "run", |plan| {
        plan.insert("baseline".to_owned(), true.into());
    });
    let [_, error] = said(folder, &[], &["resume", "run"], 2);
    assert!(error.contains("f64"), "{error}");
}

/// The description of a software driver beside lavapipe: SwiftShader, which Chromium brings.
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
fn of_two_adapters_the_one_that_is_listed_is_the_one_that_is_opened() {
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
        said(folder, &both, &run(&number, &out, &[]), 0);
        assert_eq!(plan(folder, &out)["adapter"]["name"].as_str(), adapter["name"].as_str());
        // Resumed, it is on the same one, whichever would be first.
        let [told, error] = said(folder, &both, &["resume", &out], 0);
        assert!(told.contains(adapter["name"].as_str().unwrap()), "{told}");
        assert_eq!(error, "");
    }
}

/// Devices of two kinds in a group: each has its own rounding, and both are about right.
#[test]
fn devices_of_two_kinds_share_all_pairs_and_no_tree() {
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
        let [told, _] = said(folder, &both, &[&plummer[..], &more].concat(), 0);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        (told["energy_error"].as_f64().unwrap(), told["configuration"].to_string())
    };
    let ((one, _), (two, words)) = (energy_error("0"), energy_error("0,1"));
    assert!((one - two).abs() < 1e-6, "{one} and {two}");
    assert!(words.contains("llvmpipe") && words.contains("SwiftShader"), "{words}");
    let tree = ["--engine", "gpu", "--method", "tree", "--adapter", "0,1", "--out", "tree"];
    let [_, error] = said(folder, &both, &[&plummer[..], &tree].concat(), 2);
    assert!(error.contains("of one kind with the method tree"), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}
