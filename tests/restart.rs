//! A run that is stopped or killed goes on to the same bits.
#![cfg(all(feature = "cli", unix))]

#[path = "common/program.rs"]
mod program;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn gravitile(args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

const STEPS: &str = "step_0000000400.gvt";

fn run(engine: &str, out: &Path) -> Command {
    let out = out.to_str().unwrap();
    gravitile(&[
        "run", "plummer", "-n", "600", "--dt", "0.01", "--until", "4", "--every", "0.2",
        "--engine", engine, "--out", out,
    ])
}

fn resume(out: &Path) -> Command {
    gravitile(&["resume", out.to_str().unwrap()])
}

/// The last snapshot and the energy log, byte for byte.
fn ending(out: &Path) -> (Vec<u8>, String) {
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    (std::fs::read(out.join(STEPS)).unwrap(), log)
}

/// Waits for a number of snapshots, so that the moment of a signal scales with the machine's speed.
fn wait_for_snapshots(out: &Path, count: usize, child: &mut Child) {
    for _ in 0..60_000 {
        let there = names(out).iter().filter(|name| name.starts_with("step_")).count();
        if there >= count || child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no snapshots appeared within a minute");
}

/// Individual steps; the bodies are saved in the middle of them, for 0.01 is no power of two.
fn run_blocks(integrator: &str, out: &Path) -> Command {
    let out = out.to_str().unwrap();
    gravitile(&[
        "run",
        "plummer",
        "-n",
        "150",
        "--dt",
        "0.01",
        "--until",
        "4",
        "--every",
        "0.2",
        "--eps",
        "0.01",
        "--integrator",
        integrator,
        "--engine",
        "cpu",
        "--out",
        out,
    ])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// Steps, since a snapshot that is whole and has its row in the energy log.
    Steps,
    /// A snapshot has been begun and has not got its name.
    Snapshot,
    /// The last snapshot is whole, and its row is not in the energy log.
    Row,
}

/// The last snapshot's step.
fn last_step(out: &Path) -> Option<u64> {
    let steps = names(out);
    let steps = steps.iter().filter_map(|name| name.strip_prefix("step_")?.strip_suffix(".gvt"));
    steps.map(|step| step.parse().unwrap()).max()
}

/// What the run in `out` is doing, by its files; it must not be running meanwhile. Nothing before its first
/// snapshot beyond step `begun`, and at its end: then it may be at anything.
fn doing(out: &Path, begun: u64) -> Option<Doing> {
    let last = last_step(out).filter(|last| *last > begun && *last < 400)?;
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let has_row = log.lines().any(|row| row.split(',').next() == Some(&last.to_string()));
    let is_written = |name: &String| {
        let length = std::fs::metadata(out.join(name)).map_or(0, |metadata| metadata.len());
        name.ends_with(".part") && length > 0
    };
    Some(match (names(out).iter().any(is_written), has_row) {
        (true, true) => Doing::Snapshot,
        (false, false) => Doing::Row,
        (false, true) => Doing::Steps,
        (true, false) => return None,
    })
}

/// Holds the child still; false if it has ended.
fn pause(child: &Child) -> bool {
    let pid = child.id();
    // SAFETY: a signal to a child that has not been waited for, and a look at it.
    unsafe {
        libc::kill(pid as libc::pid_t, libc::SIGSTOP);
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let what = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        assert_eq!(libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, what), 0);
        info.si_code == libc::CLD_STOPPED
    }
}

fn go_on(child: &Child) {
    // SAFETY: as above.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGCONT) };
}

/// Lets the run go on by fractions of a millisecond until it is seen `wanted`, and kills it there; false if
/// it came to its end before.
fn strike(child: &mut Child, out: &Path, wanted: Doing) -> bool {
    let begun = last_step(out).unwrap_or(0);
    let mut pauses = 0u64;
    loop {
        let at_work = last_step(out).is_some_and(|last| last > begun);
        // Lengths that have nothing in common with those of steps.
        std::thread::sleep(Duration::from_micros(50 + 37 * (pauses % 11)));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return false;
        }
        if !at_work {
            continue;
        }
        pauses += 1;
        if !pause(child) {
            assert!(child.wait().unwrap().success());
            return false;
        }
        if doing(out, begun) == Some(wanted) {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        go_on(child);
    }
}

/// Kills a run while it steps, while it writes a snapshot, and between that and its row in the log, `each`
/// time so often, and sees it end in the same bits as one that nobody disturbed.
fn killed(run: &dyn Fn(&Path) -> Command, what: &str, each: usize) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    assert!(run(&whole).status().unwrap().success());
    let expected = ending(&whole);
    let compare = |out: &Path| {
        let (snapshot, log) = ending(out);
        assert!(snapshot == expected.0, "{what}: the last snapshot differs");
        assert_eq!(log, expected.1, "{what}: the energy log differs");
        assert!(!names(out).iter().any(|name| name.ends_with(".part")), "{:?}", names(out));
    };
    let mut left: Vec<Doing> =
        (0..each).flat_map(|_| [Doing::Steps, Doing::Snapshot, Doing::Row]).collect();
    // A run may be over before it is struck as wanted: then the next one is.
    for attempt in 0..20 * each {
        let broken = folder.path().join(format!("broken {attempt}"));
        let mut child = run(&broken).spawn().unwrap();
        while let Some(wanted) = left.first() {
            if !strike(&mut child, &broken, *wanted) {
                break;
            }
            left.remove(0);
            child = resume(&broken).spawn().unwrap();
        }
        assert!(child.wait().unwrap().success());
        compare(&broken);
        if left.is_empty() {
            return;
        }
    }
    panic!("{what}: not struck while at {left:?}");
}

#[test]
fn killed_on_the_cpu() {
    killed(&|out| run("cpu", out), "cpu", 3);
}

#[test]
fn killed_on_the_gpu() {
    killed(&|out| run("gpu", out), "gpu", 2);
}

/// By a tree that serves three steps: snapshots are in between.
fn run_tree(engine: &str, out: &Path) -> Command {
    let mut command = run(engine, out);
    command.args(["--method", "tree", "--rebuild", "3"]);
    command
}

#[test]
fn killed_with_a_tree() {
    for engine in ["cpu", "gpu"] {
        killed(&|out| run_tree(engine, out), &format!("tree, {engine}"), 1);
    }
}

#[test]
fn killed_with_individual_steps() {
    for integrator in ["hermite4", "hermite6"] {
        killed(&|out| run_blocks(integrator, out), integrator, 2);
    }
}

/// What a power cut leaves of the log: the row of the last snapshot torn, or gone.
#[test]
fn a_torn_row_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert!(run("cpu", &out).status().unwrap().success());
    let expected = ending(&out);
    for torn in [1, 10, 200] {
        let log = &expected.1[..expected.1.len() - torn];
        std::fs::write(out.join("energy.csv"), log).unwrap();
        assert!(resume(&out).status().unwrap().success());
        assert!(ending(&out) == expected, "{torn} bytes less");
    }
}

/// All files of a run but its lock and plan, by name.
fn files(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = names(out);
    names.retain(|name| !["run.lock", "run.toml"].contains(&name.as_str()));
    names.sort();
    let read = |name: String| std::fs::read(out.join(&name)).map(|bytes| (name, bytes)).unwrap();
    names.into_iter().map(read).collect()
}

#[test]
fn an_interrupted_run_that_is_resumed_leaves_the_same_files() {
    type Run = fn(&str, &Path) -> Command;
    fn run_hermite(_: &str, out: &Path) -> Command {
        run_blocks("hermite4", out)
    }
    let mut left_between = 0;
    for (engine, run) in
        [("cpu", run as Run), ("gpu", run), ("gpu", run_tree), ("cpu", run_hermite)]
    {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole");
        assert!(run(engine, &whole).status().unwrap().success());
        let out = folder.path().join("run");
        let mut child = run(engine, &out).spawn().unwrap();
        for snapshots in [3, 6] {
            wait_for_snapshots(&out, snapshots, &mut child);
            assert!(pause(&child) && !out.join(STEPS).exists(), "it should be under way");
            let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            assert!(interrupt.unwrap().success());
            go_on(&child);
            assert_eq!(child.wait().unwrap().code(), Some(130), "{engine}");
            assert!(!out.join(STEPS).exists());
            left_between += usize::from(!last_step(&out).unwrap().is_multiple_of(20));
            child = resume(&out).spawn().unwrap();
        }
        assert!(child.wait().unwrap().success());
        let (found, expected) = (files(&out), files(&whole));
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&found), names(&expected), "{engine}");
        for ((name, found), (_, expected)) in found.iter().zip(&expected) {
            assert!(found == expected, "{engine}: {name} differs");
        }
    }
    assert!(left_between > 0, "all interruptions fell on snapshots");
}

#[test]
fn a_damaged_last_snapshot_costs_one_interval() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert!(run("cpu", &out).status().unwrap().success());
    let expected = ending(&out);
    let mut torn = expected.0.clone();
    torn.truncate(torn.len() / 2);
    std::fs::write(out.join(STEPS), torn).unwrap();
    assert!(resume(&out).status().unwrap().success());
    assert!(ending(&out) == expected);
}
