//! Ranks of MPI, started as users do: the same bits on any number of them, one voice, and an end when one is killed.
//! Built with the feature `mpi`; without `mpirun` its tests say that they are skipped.
#![cfg(all(feature = "mpi", unix))]

#[path = "common/skip.rs"]
mod skip;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// `mpirun` with this number of ranks of the program, in `folder`; `None` where there is no mpirun.
fn ranks(folder: &Path, count: usize) -> Option<Command> {
    let version = Command::new("mpirun").arg("--version").output();
    let Ok(version) = version else {
        skip::skipped("ranks of MPI", "there is no mpirun");
        return None;
    };
    let mut command = Command::new("mpirun");
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        // More ranks than cores, as whoever owns a container.
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_gravitile")]);
    command.current_dir(folder).env("GRAVITILE_CACHE_DIR", "").env("RAYON_NUM_THREADS", "1");
    Some(command)
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

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

/// Runs on so many ranks and expects all to be well.
fn run(folder: &Path, count: usize, args: &[&str]) -> Option<[String; 2]> {
    let output = ranks(folder, count)?.args(args).output().unwrap();
    assert!(output.status.success(), "{count} ranks, {args:?}: {:?}", texts(&output));
    Some(texts(&output))
}

#[test]
fn any_number_of_ranks_gives_the_same_bits_and_one_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, more) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("gpu", &["--engine", "gpu"]),
        ("tree", &["--engine", "gpu", "--method", "tree"]),
        ("hermite", &["--engine", "cpu", "--integrator", "hermite4", "--dt-max", "0.0078125"]),
    ] {
        let mut first: Option<Vec<(String, Vec<u8>)>> = None;
        for count in [1, 2, 4] {
            let out = format!("{engine}{count}");
            let Some([said, _]) = run(folder, count, &plummer("301", &out, more)) else { return };
            assert_eq!(said.matches("301 bodies, eps").count(), 1, "{said}");
            let found = content(&folder.join(&out));
            assert_eq!(found.len(), 5, "{engine}");
            match &first {
                None => first = Some(found),
                Some(first) => assert!(found == *first, "{engine} on {count} ranks"),
            }
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
    let mut alone = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    alone.current_dir(folder).env("GRAVITILE_CACHE_DIR", "");
    let output = alone.args(plummer("2", "c", &["--engine", "gpu"])).output().unwrap();
    assert!(output.status.success(), "{:?}", texts(&output));
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
    let Some(command) = ranks(folder, 2) else { return };
    let program = env!("CARGO_BIN_EXE_gravitile");
    let script = format!(
        "exec {program} run plummer -n 10${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} --engine cpu --dt 0.01 --until 0.02 --out c"
    );
    let args: Vec<_> = command.get_args().map(|arg| arg.to_owned()).collect();
    let mut shell = Command::new("mpirun");
    shell.args(&args[..args.len() - 1]).args(["sh", "-c", &script]).current_dir(folder);
    let output = shell.env("GRAVITILE_CACHE_DIR", "").output().unwrap();
    let [_, said] = texts(&output);
    assert!(!output.status.success());
    assert!(said.contains("rank 1 has another command line than rank 0"), "{said}");
    assert!(!folder.join("c").exists());
}

/// A run that nobody waits for, on three ranks; once it has written something.
fn long(folder: &Path, out: &str) -> Option<Child> {
    let mut command = ranks(folder, 3)?;
    command.args(["run", "plummer", "-n", "2000", "--engine", "cpu", "--dt", "0.0001"]);
    command.args(["--until", "1000", "--every", "0.01", "--out", out]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !folder.join(out).join("step_0000000100.gvt").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it should begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(child)
}

/// The processes of the ranks below `launcher`.
fn processes(launcher: &Child) -> Vec<i32> {
    let listed = Command::new("ps").args(["-eo", "pid,ppid,comm"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut found: Vec<i32> = listed
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_rank = words.get(1)? == &launcher.id().to_string() && words[2] == "gravitile";
            is_rank.then(|| words[0].parse().unwrap())
        })
        .collect();
    found.sort();
    found
}

fn ended(child: Child, within: Duration) -> Output {
    let id = child.id() as i32;
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    let begun = Instant::now();
    while !waiting.is_finished() {
        if begun.elapsed() > within {
            // SAFETY: ends a process of this test's own.
            unsafe { libc::kill(id, libc::SIGKILL) };
            panic!("it should have ended within {within:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    waiting.join().unwrap()
}

#[test]
fn a_rank_that_is_killed_is_named_and_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = long(folder, "killed") else { return };
    let ranks = processes(&child);
    assert_eq!(ranks.len(), 3, "{ranks:?}");
    // SAFETY: kills a process that this test has started.
    unsafe { libc::kill(ranks[1], libc::SIGKILL) };
    let output = ended(child, Duration::from_secs(10));
    let [_, said] = texts(&output);
    assert!(!output.status.success());
    let line = format!("(process {}", ranks[1]);
    assert!(said.contains(&line) && said.contains("is gone: the run ends"), "{said}");
    // What is there can be gone on with, whoever it is.
    let found = content(&folder.join("killed"));
    assert!(found.len() > 2, "snapshots should be there");
}

#[test]
fn a_signal_to_the_first_rank_stops_all_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = long(folder, "stopped") else { return };
    let ranks = processes(&child);
    // SAFETY: interrupts a process that this test has started.
    unsafe { libc::kill(ranks[0], libc::SIGINT) };
    let output = ended(child, Duration::from_secs(20));
    let [said, noted] = texts(&output);
    assert!(said.contains("stopped; resume with: gravitile resume stopped"), "{said} {noted}");
    assert!(!noted.contains("is gone"), "{noted}");
}
