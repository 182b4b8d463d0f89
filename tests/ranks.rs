//! Ranks of MPI, started as users do: the same bits on any number of them, one voice, and an end when one is killed.
//! Built with the feature `mpi`; without `mpirun` its tests say that they are skipped.
#![cfg(all(feature = "mpi", unix))]

#[path = "ranks/ends.rs"]
mod ends;
#[path = "ranks/launched.rs"]
mod launched;
#[path = "common/lose.rs"]
mod lose;
#[path = "ranks/lost.rs"]
mod lost;
#[path = "common/shapes.rs"]
mod shapes;
#[path = "common/skip.rs"]
mod skip;
#[path = "ranks/tuned.rs"]
mod tuned;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use launched::{Launched, ranks, ranks_by_shell, texts};

/// What a run consists of: its snapshots and its log.
fn content(run: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".gvt") || name == "energy.csv")
        .map(|name| (name.clone(), std::fs::read(run.join(name)).unwrap()))
        .collect();
    files.sort();
    files
}

fn plummer<'a>(n: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let begin = ["run", "plummer", "-n", n, "--dt", "0.01", "--until", "0.06", "--every", "0.02"];
    [&begin[..], &["--out", out], more].concat()
}

/// The program without a launcher.
fn alone(folder: &Path, args: &[&str]) -> [String; 2] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    command.current_dir(folder).env("GRAVITILE_CACHE_DIR", "");
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {:?}", texts(&output));
    texts(&output)
}

/// Runs on so many ranks and expects all to be well.
fn run(folder: &Path, count: usize, args: &[&str]) -> Option<[String; 2]> {
    let output = ranks(folder, count)?.args(args).output().unwrap();
    assert!(output.status.success(), "{count} ranks, {args:?}: {:?}", texts(&output));
    Some(texts(&output))
}

#[test]
fn any_number_of_ranks_gives_the_bits_of_a_run_without_mpi_and_one_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, more) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("gpu", &["--engine", "gpu"]),
        ("tree", &["--engine", "gpu", "--method", "tree"]),
        ("hermite", &["--engine", "cpu", "--integrator", "hermite4", "--dt-max", "0.0078125"]),
    ] {
        let without = format!("{engine}0");
        alone(folder, &plummer("1301", &without, more));
        let without = content(&folder.join(without));
        assert_eq!(without.len(), 5, "{engine}");
        for count in [1, 2, 4] {
            let out = format!("{engine}{count}");
            let Some([said, _]) = run(folder, count, &plummer("1301", &out, more)) else { return };
            assert_eq!(said.matches("1301 bodies, eps").count(), 1, "{said}");
            assert!(content(&folder.join(&out)) == without, "{engine} on {count} ranks");
        }
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_on_another_number_of_ranks_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, more) in [("cpu", &["--engine", "cpu"][..]), ("gpu", &["--engine", "gpu"])] {
        let whole = format!("{engine}-whole");
        if run(folder, 2, &plummer("200", &whole, more)).is_none() {
            return;
        }
        // As if it had been killed after its second snapshot.
        let cut = format!("{engine}-cut");
        std::fs::create_dir(folder.join(&cut)).unwrap();
        for name in ["run.toml", "energy.csv", "step_0000000000.gvt", "step_0000000002.gvt"] {
            std::fs::copy(folder.join(&whole).join(name), folder.join(&cut).join(name)).unwrap();
        }
        let said = run(folder, 3, &["resume", &cut]).unwrap();
        assert_eq!(said[0].matches("resuming from step 2 of 6").count(), 1, "{said:?}");
        assert!(content(&folder.join(&cut)) == content(&folder.join(&whole)), "{engine}");
    }
}

#[test]
fn more_ranks_than_bodies_and_no_launcher_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, out) in [("cpu", "a"), ("gpu", "b")] {
        if run(folder, 4, &plummer("2", out, &["--engine", engine])).is_none() {
            return;
        }
    }
    alone(folder, &plummer("2", "c", &["--engine", "gpu"]));
    assert!(content(&folder.join("b")) == content(&folder.join("c")));
}

#[test]
fn what_is_wrong_is_said_once_and_ends_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |args: &[&str], sentence: &str| {
        let Some(mut command) = ranks(folder, 3) else { return false };
        let output = command.args(args).output().unwrap();
        assert!(!output.status.success());
        let [_, said] = texts(&output);
        assert_eq!(said.matches(sentence).count(), 1, "{said}");
        true
    };
    if !refused(&["run", "plummer", "--out"], "gravitile: ") {
        return;
    }
    refused(&["run", "plumer", "--out", "a"], "plumer");
    refused(&plummer("100", "b", &["--engine", "cpu", "--method", "tree"]), "the method is tree");
    std::fs::write(folder.join("step_0000000001.gvt"), "mine").unwrap();
    refused(&plummer("100", ".", &["--engine", "cpu"]), "step_0000000001.gvt");
    // Input of which each rank reads another: a pipe of the shell's, here by the rank's own number.
    let other =
        "exec $gravitile run plummer -n 10$rank --engine cpu --dt 0.01 --until 0.02 --out c";
    let Some(mut command) = ranks_by_shell(folder, 2, other) else { return };
    let output = command.output().unwrap();
    let [_, said] = texts(&output);
    assert!(!output.status.success());
    assert!(said.contains("rank 1 has another command line than rank 0"), "{said}");
    assert!(!folder.join("c").exists());
}

/// What a launcher of another MPI comes to, and `srun` without a way between its processes: each is alone.
#[test]
fn processes_that_cannot_find_each_other_say_so_once() {
    let folder = tempfile::tempdir().unwrap();
    let started = |variables: [(&str, &str); 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
        command.arg("scenes").current_dir(folder.path()).env("GRAVITILE_CACHE_DIR", "");
        let output = command.envs(variables).output().unwrap();
        let [said, noted] = texts(&output);
        (output.status.code(), said.contains("plummer"), noted)
    };
    for (number, times) in [("0", 1), ("1", 0)] {
        let (code, works, noted) = started([("PMI_SIZE", "2"), ("PMI_RANK", number)]);
        let sentence = "2 processes were started, and MPI shows none of them the others";
        assert_eq!((code, works), (Some(2), false), "{noted}");
        assert_eq!(noted.matches(sentence).count(), times, "{noted}");
        let (code, works, noted) =
            started([("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", number)]);
        let sentence = "srun has started 2 processes without a way between them";
        assert_eq!((code, works), (Some(0), true), "{noted}");
        assert_eq!(noted.matches(sentence).count(), times, "{noted}");
    }
    // As in a shell on a node.
    let (_, works, noted) = started([("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]);
    assert!(works && noted.is_empty(), "{noted}");
}

/// One rank would wait for the other for ever.
#[test]
fn ranks_that_were_told_different_things_are_refused() {
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
        let Some(mut command) = ranks_by_shell(folder, 3, &script) else { return };
        let output = Launched::new(&mut command).ended(Duration::from_secs(10));
        let [_, said] = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.matches("gravitile: ").count(), 1, "{said}");
        assert!(said.contains(sentence), "{said}");
        assert!(!folder.join("a").exists());
    }
}

#[test]
#[ignore = "takes minutes: script/test --long"]
fn block_steps_of_every_kind_have_the_bits_of_one_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (integrator, precision) in
        [("hermite6", "double-single"), ("hermite4", "double"), ("hermite6", "double")]
    {
        let gpu = ["--engine", "gpu", "--integrator", integrator, "--precision", precision];
        let more = [&gpu[..], &["--dt-max", "0.0078125"]].concat();
        let whole = format!("{integrator}-{precision}");
        alone(folder, &plummer("257", &whole, &more));
        let without = content(&folder.join(&whole));
        let two_each = [&more[..], &["--adapter", "0,0"]].concat();
        for (count, more) in [(2, &two_each), (3, &more), (4, &more)] {
            let out = format!("{whole}-{count}");
            if run(folder, count, &plummer("257", &out, more)).is_none() {
                return;
            }
            assert!(content(&folder.join(&out)) == without, "{whole} on {count} ranks");
        }
    }
}

/// SwiftShader beside the usual driver: one of several kinds of devices.
#[test]
fn block_steps_of_ranks_with_several_kinds_of_devices_are_the_hosts() {
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
    let Some(mut command) = ranks_by_shell(folder, 2, &script) else { return };
    let output = command.output().unwrap();
    let [said, noted] = texts(&output);
    assert!(output.status.success(), "{said} {noted}");
    let words =
        "block steps on the host: rank 1 has another kind of device than rank 0 (SwiftShader";
    assert!(said.contains(words), "{said}");
    assert!(energy_error(&folder.join("kinds")) < 1e-6, "{said}");
}

/// The change of the energy over a run.
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
    for (without, out, more) in [
        (1, "first", ""),
        (0, "second", ""),
        (1, "hermite", "--integrator hermite4 --precision double-single --dt-max 0.0078125"),
    ] {
        let run = plummer("700", out, &["--engine", "gpu", "--method", "direct"]).join(" ");
        let hidden =
            format!("[ $rank = {without} ] && export VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none");
        let script = format!("{hidden}; exec $gravitile {run} {more}");
        let Some(mut command) = ranks_by_shell(folder, 2, &script) else { return };
        let output = command.output().unwrap();
        let [said, noted] = texts(&output);
        assert!(output.status.success(), "{said} {noted}");
        let sentence = format!("rank {without} without a GPU");
        assert_eq!(noted.matches(&sentence).count(), 1, "{noted}");
        assert!(energy_error(&folder.join(out)) < 1e-4, "{out}");
    }
    // It goes on where all have one, and where one has none.
    let cut = folder.join("first/step_0000000006.gvt");
    for count in [1, 2] {
        std::fs::remove_file(&cut).unwrap();
        self::run(folder, count, &["resume", "first"]).unwrap();
        assert!(cut.exists());
    }
    // Nobody has one.
    let script = "export VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none; exec $gravitile run plummer -n 50 --engine gpu --out none";
    let output = ranks_by_shell(folder, 2, script).unwrap().output().unwrap();
    let [_, noted] = texts(&output);
    assert!(!output.status.success());
    assert_eq!(noted.matches("no graphics adapter").count(), 1, "{noted}");
}

#[test]
fn block_steps_live_on_the_devices_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hermite = ["--engine", "gpu", "--integrator", "hermite4", "--dt-max", "0.0078125"];
    alone(folder, &plummer("301", "alone", &hermite));
    let without = content(&folder.join("alone"));
    assert_eq!(without.len(), 5);
    let two_each = [&hermite[..], &["--adapter", "0,0"]].concat();
    for (count, out, more, devices) in
        [(2, "two", &hermite[..], 2), (3, "three", &hermite, 3), (2, "four", &two_each, 4)]
    {
        let Some([said, _]) = run(folder, count, &plummer("301", out, more)) else { return };
        let words = format!("block steps on {devices} devices, which share large blocks");
        assert!(said.contains(&words), "{said}");
        assert!(content(&folder.join(out)) == without, "{count} ranks, {devices} devices");
    }
    // Begun on some and gone on with on others, as if it had been killed after its second snapshot.
    for (from, count) in [("alone", 2), ("three", 2), ("four", 1)] {
        let cut = format!("{from}-cut");
        std::fs::create_dir(folder.join(&cut)).unwrap();
        for name in ["run.toml", "energy.csv", "step_0000000000.gvt", "step_0000000002.gvt"] {
            std::fs::copy(folder.join(from).join(name), folder.join(&cut).join(name)).unwrap();
        }
        let said = run(folder, count, &["resume", &cut]).unwrap();
        assert_eq!(said[0].matches("resuming from step 2 of 6").count(), 1, "{said:?}");
        assert!(content(&folder.join(&cut)) == without, "{from} on {count} ranks");
    }
    let cut = folder.join("two/step_0000000006.gvt");
    std::fs::remove_file(&cut).unwrap();
    alone(folder, &["resume", "two"]);
    assert!(content(&folder.join("two")) == without);
}
