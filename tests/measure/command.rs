//! `gravitile bench` as a user meets it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gravitile::measure::{Record, read_json_lines, to_json_lines};

fn bench(args: &[&str]) -> Output {
    let mut command = crate::program::program();
    command.arg("bench").args(args).output().expect("it should start")
}

fn works(args: &[&str]) -> String {
    let output = bench(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(args: &[&str], words: &[&str]) {
    let output = bench(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?} should say '{word}': {error}");
    }
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measure/fixtures")
}

fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

#[test]
fn a_figure_leaves_its_files_and_no_name_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/here");
    let said = works(&["--quick", "--figure", "p", "--out", out.to_str().unwrap()]);
    assert!(said.contains("measured") && said.contains("report.html"), "{said}");
    let records = read_json_lines(&out.join("results.jsonl")).unwrap();
    assert!(records.iter().any(|record| record.figure == "p"));
    for file in ["results.csv", "report.html", "p.svg", "ceilings.svg"] {
        assert!(std::fs::metadata(out.join(file)).unwrap().len() > 500, "{file}");
    }
    let mut all = String::new();
    for file in ["results.jsonl", "results.csv", "report.html"] {
        all += &std::fs::read_to_string(out.join(file)).unwrap();
    }
    for secret in ["USER", "HOSTNAME", "HOME", "LOGNAME"] {
        let Ok(value) = std::env::var(secret) else { continue };
        // Short ones are parts of ordinary words: root, of square root.
        assert!(value.len() < 6 || !all.contains(&value), "{secret} is in the results");
    }
    assert!(!all.contains(folder.path().to_str().unwrap()));
}

#[test]
fn the_cpu_alone_makes_a_table() {
    let said = works(&["--quick", "--no-gpu"]);
    assert!(said.contains("CPU engine only") && said.contains("cpu engine"), "{said}");
    assert!(said.contains("G interactions/s"));
}

#[test]
fn bad_input_takes_one_line() {
    refused(&["--figure", "rooflin"], &["figure", "rooflin", "roofline", "all"]);
    refused(&["--adapter", "no such adapter"], &["no such adapter"]);
    refused(&["--quick", "--out", "/proc/nothing/here"], &["/proc/nothing/here"]);
    refused(&["--compare", "/no/such.jsonl"], &["/no/such.jsonl"]);
    refused(&["--compare", &fixture("truncated.jsonl")], &["truncated.jsonl", "line 2"]);
    refused(&["--compare", &fixture("foreign.jsonl")], &["foreign.jsonl", "line 1"]);
    refused(&["--compare", &fixture("future.jsonl")], &["future.jsonl", "format 9"]);
}

#[test]
fn three_adapters_are_compared() {
    let files = ["discrete.jsonl", "integrated.jsonl", "software.jsonl"].map(fixture);
    let folder = tempfile::tempdir().unwrap();
    let mut args = vec!["--compare"];
    args.extend(files.iter().map(String::as_str));
    args.extend(["--out", folder.path().to_str().unwrap()]);
    let said = works(&args);
    let order = ["Made-up Discrete", "Made-up Integrated", "Made-up Software"];
    let places = order.map(|name| said.find(name).unwrap_or_else(|| panic!("{name}: {said}")));
    assert!(places.is_sorted(), "{said}");
    assert!(said.contains("N = 16,384"));
    for file in ["compare.html", "compare.svg"] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(order.iter().all(|name| text.contains(name)), "{file}");
    }
    let markdown = works(&["--compare", &files[0], &files[1], &files[2], "--markdown"]);
    assert!(markdown.starts_with("| device |"));
    let is_row = |line: &str| line.starts_with('|') && line.ends_with('|');
    assert!(
        markdown.lines().all(|line| is_row(line) || line.is_empty() || line.starts_with("\\* "))
    );
}

/// Earlier results stay, plots that nothing is left of go, and what was measured can be drawn again with its report.
#[test]
fn runs_are_added_to_a_folder_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let path = folder.path().join("results.jsonl");
    let earlier = read_json_lines(&fixtures().join("discrete.jsonl")).unwrap();
    std::fs::write(&path, to_json_lines(&earlier)).unwrap();
    for old in ["table.svg", "table-2.svg", "table-3.svg", "mine.svg"] {
        std::fs::write(folder.path().join(old), "old").unwrap();
    }
    let args = ["--quick", "--figure", "table", "--p", "32", "--r", "2", "--out", out];
    let said = works(&args);
    assert!(said.contains("as asked"), "{said}");
    // In quick sizes nothing is left out: four sizes, four rows each and the one that was asked for.
    let records = read_json_lines(&path).unwrap();
    assert_eq!(records[..earlier.len()], earlier);
    let new = &records[earlier.len()..];
    let table: Vec<&Record> = new.iter().filter(|record| record.figure == "table").collect();
    assert_eq!(table.len(), 20, "{said}");
    assert!(table.iter().all(|record| !record.samples.is_empty()), "{said}");
    let asked = table.iter().find(|record| record.series == "as asked").unwrap();
    assert_eq!(asked.kernel.map(|kernel| (kernel.p, kernel.r)), Some((32, 2)));
    let machine = new.iter().find_map(|record| record.machine.as_ref()).unwrap();
    assert!(machine.system.is_some() && machine.limits.is_some() && machine.after.is_some());
    assert!(new.iter().all(|record| record.begun == new[0].begun));
    let is_there = |name: &str| folder.path().join(name).exists();
    assert!(is_there("table.svg") && is_there("mine.svg") && !is_there("table-2.svg"));
    assert_ne!(std::fs::read_to_string(folder.path().join("table.svg")).unwrap(), "old");

    let again = folder.path().join("again");
    works(&["--from", path.to_str().unwrap(), "--out", again.to_str().unwrap()]);
    let report = std::fs::read_to_string(again.join("report.html")).unwrap();
    assert!(report.contains("as asked") && again.join("table.svg").exists());

    // What is handed in is shown first, and left out where it is named.
    let file = folder.path().join("mine.jsonl");
    let file = file.to_str().unwrap();
    let args = ["--from", path.to_str().unwrap(), "--submit", file, "--without"];
    let said = works(&[&args[..], &["system,processor"]].concat());
    assert!(
        said.contains("system") && said.contains("left out") && said.contains("limits"),
        "{said}"
    );
    let written = std::fs::read_to_string(file).unwrap();
    assert!(!written.contains("\"system\"") && written.contains("\"limits\""));
    refused(&[&args[..], &["user"]].concat(), &["user", "temperature"]);
    refused(&["--figure", "q", "--p", "64"], &["--p", "table and n"]);
}

#[test]
fn the_results_that_are_kept_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            let records = read_json_lines(&path).unwrap();
            assert!(records.len() > 5, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 0);
}

/// Ctrl-C in the middle: exit code 130, and what was measured is there.
#[cfg(unix)]
#[test]
fn an_interrupted_bench_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut child = crate::program::program()
        .args(["bench", "--no-gpu", "--quick", "--figure", "all", "--out", out])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It tells each figure that is done; the first ones may be of what is not measured here.
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let done = |line: &String| line.contains(" measured") && !line.contains(" 0 measured");
    told.by_ref().map(Result::unwrap).find(done).expect("a figure should be measured");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    // It has somebody to tell until its end.
    told.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let records = read_json_lines(&folder.path().join("results.jsonl")).unwrap();
    let mut timed = records.iter().filter(|record| record.machine.is_none()).peekable();
    assert!(timed.peek().is_some() && timed.all(|record| !record.samples.is_empty()));
}

/// The fixtures are made of one record. `UPDATE_FIXTURES=1 cargo test --test measure fixtures` writes
/// them anew where that record or the format has changed.
#[test]
fn the_fixtures_are_those_of_one_record() {
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    let line = r#"{"format":1,"version":"0.1.0","commit":"0123456789","date":"2026-11-20","device":{"name":"","kind":"","backend":"vulkan","driver":"made-up 1.0"},"figure":"table","series":"default kernel","x":1024.0,"kind":"forces","sinks":1024,"sources":1024,"kernel":{"p":64,"q":1,"r":1,"u":4,"s":8,"untiled":false,"checked":false},"work":1048576.0,"samples":[1e-5],"repeats":1,"method":"GPU timestamps","rms_error":2e-7}"#;
    let template: Record = serde_json::from_str(line).unwrap();
    let folder = fixtures();
    let same = |name: &str, text: &str| {
        let path = folder.join(name);
        if update {
            gravitile::files::replace(&path, text.as_bytes()).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, text, "{name} (UPDATE_FIXTURES writes it anew)");
    };
    for (file, name, kind, peak, half_at) in [
        ("discrete", "Made-up Discrete", "discrete GPU", 1.4e12, 16_384.0),
        ("integrated", "Made-up Integrated", "integrated GPU", 9e10, 2048.0),
        ("software", "Made-up Software", "software", 8e8, 64.0),
    ] {
        let mut records = Vec::new();
        for n in [1024u64, 4096, 16_384, 65_536, 262_144] {
            // A software adapter is not asked for what takes minutes.
            if file == "software" && n > 16_384 {
                continue;
            }
            let mut record = template.clone();
            (record.device.name, record.device.kind) = (name.to_owned(), kind.to_owned());
            (record.x, record.sinks, record.sources) = (n as f64, n, n);
            record.work = (n * n) as f64;
            let secs = record.work / (peak * n as f64 / (n as f64 + half_at));
            record.samples = [1.0, 0.98, 1.01, 1.02, 0.99].map(|f| f * secs).to_vec();
            records.push(record);
        }
        same(&format!("{file}.jsonl"), &to_json_lines(&records));
        if file == "discrete" {
            let whole = to_json_lines(&records[..2]);
            let cut = &whole[..whole.len() - 60];
            same("truncated.jsonl", cut);
            let future = whole.replace("\"format\":1", "\"format\":9");
            same("future.jsonl", &future);
            let foreign = "{\"reason\":\"compiler-artifact\",\"format\":\"json\"}\n";
            same("foreign.jsonl", foreign);
        }
    }
}

/// One engine alone, and no other method than the one whose rates these are.
#[test]
fn an_engine_is_measured_alone_and_other_methods_are_refused() {
    let devices = |engine: &str| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        works(&["--engine", engine, "--quick", "--figure", "crossover", "--out", out]);
        let records = read_json_lines(&folder.path().join("results.jsonl")).unwrap();
        let mut kinds: Vec<_> = records.into_iter().map(|record| record.device.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    let (cpu, gpu) = (devices("cpu"), devices("gpu"));
    assert_eq!(cpu, ["CPU"]);
    assert!(gpu.len() == 1 && gpu != cpu, "{gpu:?}");
    for (args, words) in [
        (["--engine", "reference"], "the engine is reference, but must be auto, gpu or cpu: the"),
        (
            ["--method", "reference"],
            "the method is reference, but must be auto or direct: the figures",
        ),
        (["--method", "warp"], "no method named 'warp'"),
    ] {
        refused(&args, &[words]);
    }
}
