//! MPI runs, started by `mpirun`: bitwise equal results on any number of ranks, output by rank 0
//! only, and a clean end when a rank dies. Built with the feature `mpi`; without `mpirun` the tests
//! are reported as skipped.
#![cfg(all(feature = "mpi", unix))]

use crate::common::lose;
use crate::common::shapes;
use crate::common::skip;

mod ends;
mod files;
mod launched;
mod lost;
mod tuned;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use launched::{Launched, mpirun_shell, ranks, texts};

/// Names and contents of a run's snapshots and energy log.
fn run_contents(run: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".gvt") || name == "energy.csv")
        .map(|name| (name.clone(), std::fs::read(run.join(name)).unwrap()))
        .collect();
    files.sort();
    files
}

fn plummer<'a>(n: &'a str, out: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let begin = ["run", "plummer", "-n", n, "--dt", "0.01", "--until", "0.06", "--every", "0.02"];
    [&begin[..], &["--out", out], options].concat()
}

/// Runs the program without a launcher and expects success.
fn run_without_mpi(folder: &Path, args: &[&str]) -> [String; 2] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    command.current_dir(folder).env("GRAVITILE_CACHE_DIR", "");
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {:?}", texts(&output));
    texts(&output)
}

/// Runs the program on `count` ranks and expects success; `None` without `mpirun`.
fn run(folder: &Path, count: usize, args: &[&str]) -> Option<[String; 2]> {
    let output = ranks(folder, count)?.args(args).output().unwrap();
    assert!(output.status.success(), "{count} ranks, {args:?}: {:?}", texts(&output));
    Some(texts(&output))
}

#[test]
fn any_rank_count_gives_the_bits_of_a_run_without_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, options) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("gpu", &["--engine", "gpu"]),
        ("tree", &["--engine", "gpu", "--method", "tree"]),
        ("tree of CPUs", &["--engine", "cpu", "--method", "tree"]),
        ("hermite", &["--engine", "cpu", "--integrator", "hermite4", "--dt-max", "0.0078125"]),
    ] {
        let without = format!("{engine}0");
        run_without_mpi(folder, &plummer("1301", &without, options));
        let without = run_contents(&folder.join(without));
        assert_eq!(without.len(), 5, "{engine}");
        for count in [1, 2, 4] {
            let out = format!("{engine}{count}");
            let Some([stdout, _]) = run(folder, count, &plummer("1301", &out, options)) else {
                return;
            };
            assert_eq!(stdout.matches("1301 bodies, eps").count(), 1, "{stdout}");
            assert!(run_contents(&folder.join(&out)) == without, "{engine} on {count} ranks");
        }
    }
}

#[test]
fn resume_on_another_rank_count_gives_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, options) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("tree", &["--engine", "cpu", "--method", "tree"]),
        ("gpu", &["--engine", "gpu"]),
        ("domains", &["--engine", "gpu", "--method", "tree"]),
    ] {
        let whole = format!("{engine}-whole");
        if run(folder, 2, &plummer("200", &whole, options)).is_none() {
            return;
        }
        // A copy of the run as if killed after its second snapshot.
        let cut = format!("{engine}-cut");
        std::fs::create_dir(folder.join(&cut)).unwrap();
        for name in ["run.toml", "energy.csv", "step_0000000000.gvt", "step_0000000002.gvt"] {
            std::fs::copy(folder.join(&whole).join(name), folder.join(&cut).join(name)).unwrap();
        }
        let texts = run(folder, 3, &["resume", &cut]).unwrap();
        assert_eq!(texts[0].matches("resuming from step 2 of 6").count(), 1, "{texts:?}");
        assert!(run_contents(&folder.join(&cut)) == run_contents(&folder.join(&whole)), "{engine}");
    }
}

#[test]
fn more_ranks_than_bodies_give_the_bits_of_a_run_without_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, method, out) in
        [("cpu", "direct", "a"), ("gpu", "direct", "b"), ("cpu", "tree", "d"), ("gpu", "tree", "e")]
    {
        let options = ["--engine", engine, "--method", method];
        if run(folder, 4, &plummer("2", out, &options)).is_none() {
            return;
        }
    }
    for (ranks, alone, method) in [("b", "c", "direct"), ("e", "f", "tree")] {
        run_without_mpi(folder, &plummer("2", alone, &["--engine", "gpu", "--method", method]));
        let [ranks, alone] = [ranks, alone].map(|run| run_contents(&folder.join(run)));
        assert!(ranks == alone, "{method}");
    }
}

#[test]
fn errors_are_reported_once_and_end_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let assert_refused = |args: &[&str], sentence: &str| {
        let Some(mut command) = ranks(folder, 3) else { return false };
        let output = command.args(args).output().unwrap();
        assert!(!output.status.success());
        let [_, stderr] = texts(&output);
        assert_eq!(stderr.matches(sentence).count(), 1, "{stderr}");
        true
    };
    if !assert_refused(&["run", "plummer", "--out"], "gravitile: ") {
        return;
    }
    assert_refused(&["run", "plumer", "--out", "a"], "plumer");
    let mut command = ranks(folder, 2).unwrap();
    let output = command.args(["run", "plumer", "--out", "a", "--json"]).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["error"]["kind"], &found["error"]["exit_code"]),
        (&"unknown".into(), &2.into())
    );
    assert_refused(
        &plummer("100", "b", &["--engine", "cpu", "--method", "tree", "--rebuild", "4"]),
        "rebuild is 4, but must be 1 if ranks share the tree on their CPUs",
    );
    std::fs::write(folder.join("step_0000000001.gvt"), "mine").unwrap();
    assert_refused(&plummer("100", ".", &["--engine", "cpu"]), "step_0000000001.gvt");
    // Each rank gets other input, as from a shell's pipe: here the number of bodies has the rank's
    // number.
    let other =
        "exec $gravitile run plummer -n 10$rank --engine cpu --dt 0.01 --until 0.02 --out c";
    let Some(mut command) = mpirun_shell(folder, 2, other) else { return };
    let output = command.output().unwrap();
    let [_, stderr] = texts(&output);
    assert!(!output.status.success());
    assert!(stderr.contains("rank 1 has another command line than rank 0"), "{stderr}");
    assert!(!folder.join("c").exists());
}

/// Processes started by the launcher of another MPI, or by `srun` without a PMI between them: each
/// one is alone.
#[test]
fn unconnected_processes_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let run_with_env = |variables: [(&str, &str); 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
        command.arg("scenes").current_dir(folder.path()).env("GRAVITILE_CACHE_DIR", "");
        let output = command.envs(variables).output().unwrap();
        let [stdout, stderr] = texts(&output);
        (output.status.code(), stdout.contains("plummer"), stderr)
    };
    for (number, times) in [("0", 1), ("1", 0)] {
        let (code, works, stderr) = run_with_env([("PMI_SIZE", "2"), ("PMI_RANK", number)]);
        let sentence = "2 processes were started, and MPI shows none of them the others";
        assert_eq!((code, works), (Some(2), false), "{stderr}");
        assert_eq!(stderr.matches(sentence).count(), times, "{stderr}");
        let (code, works, stderr) =
            run_with_env([("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", number)]);
        let sentence = "srun has started 2 processes without a way between them";
        assert_eq!((code, works), (Some(0), true), "{stderr}");
        assert_eq!(stderr.matches(sentence).count(), times, "{stderr}");
    }
    // One task, as in an interactive shell on a node.
    let (_, works, stderr) = run_with_env([("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]);
    assert!(works && stderr.is_empty(), "{stderr}");
}

/// Without the check one rank would wait for the other for ever.
#[test]
fn ranks_with_different_commands_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = "run plummer -n 100 --engine cpu --dt 0.01 --until 0.02 --out a";
    for (rank, other, sentence) in [
        (1, "info", "rank 0 was told to run; rank 1 was told something that one does alone"),
        (0, "resume a", "rank 0 was told to resume; rank 1 was told to run"),
        (2, "rum plummer", "rank 2 was told what it refuses: "),
    ] {
        let script =
            format!("[ $rank = {rank} ] && exec $gravitile {other}; exec $gravitile {run}");
        let Some(mut command) = mpirun_shell(folder, 3, &script) else { return };
        let output = Launched::new(&mut command).wait_for_exit(Duration::from_secs(10));
        let [_, stderr] = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.matches("gravitile: ").count(), 1, "{stderr}");
        assert!(stderr.contains(sentence), "{stderr}");
        assert!(!folder.join("a").exists());
    }
}

#[test]
#[ignore = "takes minutes: script/test --long"]
fn block_steps_of_every_precision_give_the_bits_of_one_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (integrator, precision) in
        [("hermite6", "double-single"), ("hermite4", "double"), ("hermite6", "double")]
    {
        let gpu = ["--engine", "gpu", "--integrator", integrator, "--precision", precision];
        let options = [&gpu[..], &["--dt-max", "0.0078125"]].concat();
        let whole = format!("{integrator}-{precision}");
        run_without_mpi(folder, &plummer("257", &whole, &options));
        let without = run_contents(&folder.join(&whole));
        let two_each = [&options[..], &["--adapter", "0,0"]].concat();
        for (count, options) in [(2, &two_each), (3, &options), (4, &options)] {
            let out = format!("{whole}-{count}");
            if run(folder, count, &plummer("257", &out, options)).is_none() {
                return;
            }
            assert!(run_contents(&folder.join(&out)) == without, "{whole} on {count} ranks");
        }
    }
}

/// SwiftShader on one rank and the default driver on the other: two kinds of devices.
#[test]
fn mixed_device_kinds_compute_block_steps_on_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let named = std::env::var("GRAVITILE_SWIFTSHADER");
    let other = named.unwrap_or("/usr/lib/chromium/vk_swiftshader_icd.json".to_owned());
    if !Path::new(&other).exists() {
        skip::skipped("ranks with devices of several kinds", "there is no SwiftShader");
        return;
    }
    let hermite = "--engine gpu --integrator hermite4 --dt-max 0.0078125 --adapter 0";
    let run = plummer("150", "kinds", &[]).join(" ");
    let script = format!(
        "[ $rank = 1 ] && export VK_DRIVER_FILES={other} VK_ICD_FILENAMES={other}; exec $gravitile {run} {hermite}"
    );
    let Some(mut command) = mpirun_shell(folder, 2, &script) else { return };
    let output = command.output().unwrap();
    let [stdout, stderr] = texts(&output);
    assert!(output.status.success(), "{stdout} {stderr}");
    let words =
        "block steps on the host: rank 1 has another kind of device than rank 0 (SwiftShader";
    assert!(stdout.contains(words), "{stdout}");
    assert!(energy_error(&folder.join("kinds")) < 1e-6, "{stdout}");
}

/// The relative energy error of a run, from its log.
fn energy_error(run: &Path) -> f64 {
    let log = std::fs::read_to_string(run.join("energy.csv")).unwrap();
    let mut rows = log.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let at = names.iter().position(|name| name.contains("total")).unwrap();
    let totals: Vec<f64> = rows.map(|row| row[at].parse().unwrap()).collect();
    (totals[totals.len() - 1] / totals[0] - 1.0).abs()
}

#[test]
fn a_rank_without_a_gpu_computes_on_its_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (without, out, options) in [
        (1, "first", ""),
        (0, "second", ""),
        (1, "hermite", "--integrator hermite4 --precision double-single --dt-max 0.0078125"),
    ] {
        let run = plummer("700", out, &["--engine", "gpu", "--method", "direct"]).join(" ");
        let hidden =
            format!("[ $rank = {without} ] && export VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none");
        let script = format!("{hidden}; exec $gravitile {run} {options}");
        let Some(mut command) = mpirun_shell(folder, 2, &script) else { return };
        let output = command.output().unwrap();
        let [stdout, stderr] = texts(&output);
        assert!(output.status.success(), "{stdout} {stderr}");
        let sentence = format!("rank {without} without a GPU");
        assert_eq!(stderr.matches(&sentence).count(), 1, "{stderr}");
        assert!(energy_error(&folder.join(out)) < 1e-4, "{out}");
    }
    // The run resumes on one rank and on two, all with a GPU.
    let cut = folder.join("first/step_0000000006.gvt");
    for count in [1, 2] {
        std::fs::remove_file(&cut).unwrap();
        self::run(folder, count, &["resume", "first"]).unwrap();
        assert!(cut.exists());
    }
    // No rank has a GPU.
    let script = "export VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none; exec $gravitile run plummer -n 50 --engine gpu --out none";
    let output = mpirun_shell(folder, 2, script).unwrap().output().unwrap();
    let [_, stderr] = texts(&output);
    assert!(!output.status.success());
    assert_eq!(stderr.matches("no graphics adapter").count(), 1, "{stderr}");
}

#[test]
fn block_steps_use_the_devices_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hermite = ["--engine", "gpu", "--integrator", "hermite4", "--dt-max", "0.0078125"];
    run_without_mpi(folder, &plummer("301", "alone", &hermite));
    let without = run_contents(&folder.join("alone"));
    assert_eq!(without.len(), 5);
    let two_each = [&hermite[..], &["--adapter", "0,0"]].concat();
    for (count, out, options, devices) in
        [(2, "two", &hermite[..], 2), (3, "three", &hermite, 3), (2, "four", &two_each, 4)]
    {
        let Some([stdout, _]) = run(folder, count, &plummer("301", out, options)) else { return };
        let words = format!("block steps on {devices} devices, which share large blocks");
        assert!(stdout.contains(&words), "{stdout}");
        assert!(run_contents(&folder.join(out)) == without, "{count} ranks, {devices} devices");
    }
    // Resumed on another number of ranks, as if killed after its second snapshot.
    for (from, count) in [("alone", 2), ("three", 2), ("four", 1)] {
        let cut = format!("{from}-cut");
        std::fs::create_dir(folder.join(&cut)).unwrap();
        for name in ["run.toml", "energy.csv", "step_0000000000.gvt", "step_0000000002.gvt"] {
            std::fs::copy(folder.join(from).join(name), folder.join(&cut).join(name)).unwrap();
        }
        let texts = run(folder, count, &["resume", &cut]).unwrap();
        assert_eq!(texts[0].matches("resuming from step 2 of 6").count(), 1, "{texts:?}");
        assert!(run_contents(&folder.join(&cut)) == without, "{from} on {count} ranks");
    }
    let cut = folder.join("two/step_0000000006.gvt");
    std::fs::remove_file(&cut).unwrap();
    run_without_mpi(folder, &["resume", "two"]);
    assert!(run_contents(&folder.join("two")) == without);
}
