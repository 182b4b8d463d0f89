//! `gravitile bench` by the command line.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gravitile::measure::{Record, read_json_lines, to_json_lines};

fn bench(args: &[&str]) -> Output {
    let mut command = crate::program::program();
    command.arg("bench").args(args).output().expect("it should start")
}

fn assert_succeeds(args: &[&str]) -> String {
    let output = bench(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn assert_refused(args: &[&str], words: &[&str]) {
    let output = bench(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?} should say '{word}': {error}");
    }
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/program/measure/fixtures")
}

fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

#[test]
fn figure_writes_its_files_without_machine_names() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/here");
    let stdout = assert_succeeds(&["--quick", "--figure", "p", "--out", out.to_str().unwrap()]);
    assert!(stdout.contains("measured") && stdout.contains("report.html"), "{stdout}");
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
        // Short values occur in ordinary words, such as 'root' in 'square root'.
        assert!(value.len() < 6 || !all.contains(&value), "{secret} is in the results");
    }
    assert!(!all.contains(folder.path().to_str().unwrap()));
}

#[test]
fn no_gpu_option_measures_the_cpu_table() {
    let stdout = assert_succeeds(&["--quick", "--no-gpu"]);
    assert!(stdout.contains("CPU engine only") && stdout.contains("cpu engine"), "{stdout}");
    assert!(stdout.contains("G interactions/s"));
}

#[test]
fn invalid_arguments_and_files_take_one_line() {
    assert_refused(&["--figure", "rooflin"], &["figure", "rooflin", "roofline", "all"]);
    assert_refused(&["--adapter", "no such adapter"], &["no such adapter"]);
    assert_refused(&["--quick", "--out", "/proc/nothing/here"], &["/proc/nothing/here"]);
    assert_refused(&["--compare", "/no/such.jsonl"], &["/no/such.jsonl"]);
    assert_refused(&["--compare", &fixture("truncated.jsonl")], &["truncated.jsonl", "line 2"]);
    assert_refused(&["--compare", &fixture("foreign.jsonl")], &["foreign.jsonl", "line 1"]);
    assert_refused(&["--compare", &fixture("future.jsonl")], &["future.jsonl", "format 9"]);
}

#[test]
fn compare_tabulates_three_adapters() {
    let files = ["discrete.jsonl", "integrated.jsonl", "software.jsonl"].map(fixture);
    let folder = tempfile::tempdir().unwrap();
    let mut args = vec!["--compare"];
    args.extend(files.iter().map(String::as_str));
    args.extend(["--out", folder.path().to_str().unwrap()]);
    let stdout = assert_succeeds(&args);
    let order = ["Made-up Discrete", "Made-up Integrated", "Made-up Software"];
    let places = order.map(|name| stdout.find(name).unwrap_or_else(|| panic!("{name}: {stdout}")));
    assert!(places.is_sorted(), "{stdout}");
    assert!(stdout.contains("N = 16,384"));
    for file in ["compare.html", "compare.svg"] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(order.iter().all(|name| text.contains(name)), "{file}");
    }
    let markdown = assert_succeeds(&["--compare", &files[0], &files[1], &files[2], "--markdown"]);
    assert!(markdown.starts_with("| device |"));
    let is_row = |line: &str| line.starts_with('|') && line.ends_with('|');
    assert!(
        markdown.lines().all(|line| is_row(line) || line.is_empty() || line.starts_with("\\* "))
    );
}

/// Earlier results are kept, obsolete plots are deleted, and the report can be redrawn from the
/// results.
#[test]
fn new_results_are_appended_and_redrawn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let path = folder.path().join("results.jsonl");
    let earlier = read_json_lines(&fixtures().join("discrete.jsonl")).unwrap();
    std::fs::write(&path, to_json_lines(&earlier)).unwrap();
    for old in ["table.svg", "table-2.svg", "table-3.svg", "mine.svg"] {
        std::fs::write(folder.path().join(old), "old").unwrap();
    }
    let args = ["--quick", "--figure", "table", "--p", "32", "--r", "2", "--out", out];
    let stdout = assert_succeeds(&args);
    assert!(stdout.contains("as asked"), "{stdout}");
    // Quick sizes leave nothing out: four sizes with four rows each, and the requested one.
    let records = read_json_lines(&path).unwrap();
    assert_eq!(records[..earlier.len()], earlier);
    let new = &records[earlier.len()..];
    let table: Vec<&Record> = new.iter().filter(|record| record.figure == "table").collect();
    assert_eq!(table.len(), 20, "{stdout}");
    assert!(table.iter().all(|record| !record.samples.is_empty()), "{stdout}");
    let requested = table.iter().find(|record| record.series == "as asked").unwrap();
    assert_eq!(requested.kernel.map(|kernel| (kernel.p, kernel.r)), Some((32, 2)));
    let machine = new.iter().find_map(|record| record.machine.as_ref()).unwrap();
    assert!(machine.system.is_some() && machine.limits.is_some() && machine.after.is_some());
    assert!(new.iter().all(|record| record.begun == new[0].begun));
    let exists = |name: &str| folder.path().join(name).exists();
    assert!(exists("table.svg") && exists("mine.svg") && !exists("table-2.svg"));
    assert_ne!(std::fs::read_to_string(folder.path().join("table.svg")).unwrap(), "old");

    let redrawn = folder.path().join("again");
    assert_succeeds(&["--from", path.to_str().unwrap(), "--out", redrawn.to_str().unwrap()]);
    let report = std::fs::read_to_string(redrawn.join("report.html")).unwrap();
    assert!(report.contains("as asked") && redrawn.join("table.svg").exists());

    // A submission is shown first; `--without` leaves fields out.
    let file = folder.path().join("mine.jsonl");
    let file = file.to_str().unwrap();
    let args = ["--from", path.to_str().unwrap(), "--submit", file, "--without"];
    let stdout = assert_succeeds(&[&args[..], &["system,processor"]].concat());
    assert!(
        stdout.contains("system") && stdout.contains("left out") && stdout.contains("limits"),
        "{stdout}"
    );
    let written = std::fs::read_to_string(file).unwrap();
    assert!(!written.contains("\"system\"") && written.contains("\"limits\""));
    assert_refused(&[&args[..], &["user"]].concat(), &["user", "temperature"]);
    assert_refused(&["--figure", "q", "--p", "64"], &["--p", "table and n"]);
}

#[test]
fn published_results_are_readable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/results");
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

/// After Ctrl-C the exit code is 130, and the completed measurements are saved.
#[cfg(unix)]
#[test]
fn interrupted_bench_saves_complete_records() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut child = crate::program::program()
        .args(["bench", "--no-gpu", "--quick", "--figure", "all", "--out", out])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // One line reports each finished figure; the first ones may have no measurements on this
    // machine.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let done = |line: &String| line.contains(" measured") && !line.contains(" 0 measured");
    lines.by_ref().map(Result::unwrap).find(done).expect("a figure should be measured");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    // Reads on, so that the program can write until its end.
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let records = read_json_lines(&folder.path().join("results.jsonl")).unwrap();
    let mut timed = records.iter().filter(|record| record.machine.is_none()).peekable();
    assert!(timed.peek().is_some() && timed.all(|record| !record.samples.is_empty()));
}

/// All fixtures derive from one record. `UPDATE_FIXTURES=1 cargo test --test program
/// measure::command::fixtures` rewrites them after a change of that record or of the format.
#[test]
fn fixtures_derive_from_one_record() {
    let update = std::env::var_os("UPDATE_FIXTURES").is_some();
    let line = r#"{"format":1,"version":"0.1.0","commit":"0123456789","date":"2026-11-20","device":{"name":"","kind":"","backend":"vulkan","driver":"made-up 1.0"},"figure":"table","series":"default kernel","x":1024.0,"kind":"forces","sinks":1024,"sources":1024,"kernel":{"p":64,"q":1,"r":1,"u":4,"s":8,"untiled":false,"checked":false},"work":1048576.0,"samples":[1e-5],"repeats":1,"method":"GPU timestamps","rms_error":2e-7}"#;
    let template: Record = serde_json::from_str(line).unwrap();
    let folder = fixtures();
    let assert_fixture = |name: &str, text: &str| {
        let path = folder.join(name);
        if update {
            gravitile::files::replace(&path, text.as_bytes()).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        assert_eq!(stored, text, "{name} (UPDATE_FIXTURES writes it anew)");
    };
    for (file, name, kind, peak, half_at) in [
        ("discrete", "Made-up Discrete", "discrete GPU", 1.4e12, 16_384.0),
        ("integrated", "Made-up Integrated", "integrated GPU", 9e10, 2048.0),
        ("software", "Made-up Software", "software", 8e8, 64.0),
    ] {
        let mut records = Vec::new();
        for n in [1024u64, 4096, 16_384, 65_536, 262_144] {
            // On a software adapter larger sizes would take minutes.
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
        assert_fixture(&format!("{file}.jsonl"), &to_json_lines(&records));
        if file == "discrete" {
            let whole = to_json_lines(&records[..2]);
            let cut = &whole[..whole.len() - 60];
            assert_fixture("truncated.jsonl", cut);
            let future = whole.replace("\"format\":1", "\"format\":9");
            assert_fixture("future.jsonl", &future);
            let foreign = "{\"reason\":\"compiler-artifact\",\"format\":\"json\"}\n";
            assert_fixture("foreign.jsonl", foreign);
        }
    }
}

/// `--engine` measures one engine alone; methods other than direct are refused.
#[test]
fn bench_measures_one_engine_and_refuses_other_methods() {
    let devices = |engine: &str| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        assert_succeeds(&["--engine", engine, "--quick", "--figure", "crossover", "--out", out]);
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
        assert_refused(&args, &[words]);
    }
}
