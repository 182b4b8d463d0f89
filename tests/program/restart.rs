//! Resuming a stopped or killed run gives the bits of an uninterrupted one.
#![cfg(unix)]

use crate::program;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn gravitile(args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

const LAST_SNAPSHOT: &str = "step_0000000400.gvt";

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
fn final_files(out: &Path) -> (Vec<u8>, String) {
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    (std::fs::read(out.join(LAST_SNAPSHOT)).unwrap(), log)
}

/// A run with individual steps. Snapshots fall between block boundaries, as 0.01 is no power of
/// two.
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

/// What a run is doing, judged by its files.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Activity {
    /// Computing steps: the last snapshot is complete and has its row in the energy log.
    Steps,
    /// Writing a snapshot: its temporary file is not renamed yet.
    Snapshot,
    /// Between a complete snapshot and its row in the energy log.
    Row,
}

/// The last snapshot's step.
fn last_step(out: &Path) -> Option<u64> {
    let steps = names(out);
    let steps = steps.iter().filter_map(|name| name.strip_prefix("step_")?.strip_suffix(".gvt"));
    steps.map(|step| step.parse().unwrap()).max()
}

/// The activity of the suspended run in `out`. `None` where it cannot be known: before its first
/// snapshot after step `start`, and at the end of the run.
fn activity(out: &Path, start: u64) -> Option<Activity> {
    let last = last_step(out).filter(|last| *last > start && *last < 400)?;
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let has_row = log.lines().any(|row| row.split(',').next() == Some(&last.to_string()));
    let is_written = |name: &String| {
        let length = std::fs::metadata(out.join(name)).map_or(0, |metadata| metadata.len());
        name.ends_with(".part") && length > 0
    };
    Some(match (names(out).iter().any(is_written), has_row) {
        (true, true) => Activity::Snapshot,
        (false, false) => Activity::Row,
        (false, true) => Activity::Steps,
        (true, false) => return None,
    })
}

/// Suspends the child; false if it has ended.
fn pause(child: &Child) -> bool {
    let pid = child.id();
    // SAFETY: signals a child that has not been reaped, and queries its state without reaping it.
    unsafe {
        libc::kill(pid as libc::pid_t, libc::SIGSTOP);
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let what = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        assert_eq!(libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, what), 0);
        info.si_code == libc::CLD_STOPPED
    }
}

fn unpause(child: &Child) {
    // SAFETY: as above.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGCONT) };
}

/// Resumes and suspends the run in intervals of a fraction of a millisecond until its activity is
/// `wanted`, and kills it then; false if it ends before.
fn kill_during(child: &mut Child, out: &Path, wanted: Activity) -> bool {
    let start = last_step(out).unwrap_or(0);
    let mut pauses = 0u64;
    loop {
        let has_started = last_step(out).is_some_and(|last| last > start);
        // Varying lengths, unrelated to the duration of steps.
        std::thread::sleep(Duration::from_micros(50 + 37 * (pauses % 11)));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return false;
        }
        if !has_started {
            continue;
        }
        pauses += 1;
        if !pause(child) {
            assert!(child.wait().unwrap().success());
            return false;
        }
        if activity(out, start) == Some(wanted) {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        unpause(child);
    }
}

/// Kills a run `each` times during each [`Activity`], resumes it, and asserts that it ends with the
/// bits of an undisturbed run.
fn assert_survives_kills(run: &dyn Fn(&Path) -> Command, what: &str, each: usize) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    assert!(run(&whole).status().unwrap().success());
    let expected = final_files(&whole);
    let compare = |out: &Path| {
        let (snapshot, log) = final_files(out);
        assert!(snapshot == expected.0, "{what}: the last snapshot differs");
        assert_eq!(log, expected.1, "{what}: the energy log differs");
        assert!(!names(out).iter().any(|name| name.ends_with(".part")), "{:?}", names(out));
    };
    let mut left: Vec<Activity> =
        (0..each).flat_map(|_| [Activity::Steps, Activity::Snapshot, Activity::Row]).collect();
    // A run may end before all kills have succeeded: then another is started.
    for attempt in 0..20 * each {
        let broken = folder.path().join(format!("broken {attempt}"));
        let mut child = run(&broken).spawn().unwrap();
        while let Some(wanted) = left.first() {
            if !kill_during(&mut child, &broken, *wanted) {
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
fn resume_after_kill_on_the_cpu_gives_same_bits() {
    assert_survives_kills(&|out| run("cpu", out), "cpu", 3);
}

#[test]
fn resume_after_kill_on_the_gpu_gives_same_bits() {
    assert_survives_kills(&|out| run("gpu", out), "gpu", 2);
}

/// With a tree reused for three steps: snapshots fall between rebuilds.
fn run_tree(engine: &str, out: &Path) -> Command {
    let mut command = run(engine, out);
    command.args(["--method", "tree", "--rebuild", "3"]);
    command
}

#[test]
fn resume_after_kill_with_a_tree_gives_same_bits() {
    for engine in ["cpu", "gpu"] {
        assert_survives_kills(&|out| run_tree(engine, out), &format!("tree, {engine}"), 1);
    }
}

#[test]
fn resume_after_kill_with_individual_steps_gives_same_bits() {
    for integrator in ["hermite4", "hermite6"] {
        assert_survives_kills(&|out| run_blocks(integrator, out), integrator, 2);
    }
}

/// A power cut may leave the log's last row incomplete or missing.
#[test]
fn incomplete_log_row_is_rewritten_on_resume() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert!(run("cpu", &out).status().unwrap().success());
    let expected = final_files(&out);
    for torn in [1, 10, 200] {
        let log = &expected.1[..expected.1.len() - torn];
        std::fs::write(out.join("energy.csv"), log).unwrap();
        assert!(resume(&out).status().unwrap().success());
        assert!(final_files(&out) == expected, "{torn} bytes less");
    }
}

/// All files of a run except lock and plan, sorted by name.
fn files(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = names(out);
    names.retain(|name| !["run.lock", "run.toml"].contains(&name.as_str()));
    names.sort();
    let read = |name: String| std::fs::read(out.join(&name)).map(|bytes| (name, bytes)).unwrap();
    names.into_iter().map(read).collect()
}

/// Interrupts the child at a step of its own; false if it ends before it can be.
fn interrupt(child: &mut Child, out: &Path) -> bool {
    let start = last_step(out).unwrap_or(0);
    // A process that has written a snapshot has its signal handler installed.
    while last_step(out).is_none_or(|last| last <= start) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    if !pause(child) {
        assert!(child.wait().unwrap().success());
        return false;
    }
    // SAFETY: as in `pause`.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    unpause(child);
    match child.wait().unwrap().code() {
        Some(130) => true,
        Some(0) => false,
        other => panic!("exit code {other:?} after an interrupt"),
    }
}

#[test]
fn resume_after_interrupt_gives_the_same_files() {
    type Run = fn(&str, &Path) -> Command;
    fn run_hermite(_: &str, out: &Path) -> Command {
        run_blocks("hermite4", out)
    }
    let mut interrupts_between_snapshots = 0;
    for (engine, run) in
        [("cpu", run as Run), ("gpu", run), ("gpu", run_tree), ("cpu", run_hermite)]
    {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole");
        assert!(run(engine, &whole).status().unwrap().success());
        let mut interrupts = 0;
        // A run may end before it is interrupted twice: then another is started.
        for attempt in 0..20 {
            let out = folder.path().join(attempt.to_string());
            let mut child = run(engine, &out).spawn().unwrap();
            for _ in 0..2 {
                if !interrupt(&mut child, &out) {
                    break;
                }
                interrupts += 1;
                assert!(!out.join(LAST_SNAPSHOT).exists());
                interrupts_between_snapshots +=
                    usize::from(!last_step(&out).unwrap().is_multiple_of(20));
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
            if interrupts >= 2 {
                break;
            }
        }
        assert!(interrupts >= 2, "{engine}: every run ended before it was interrupted");
    }
    assert!(interrupts_between_snapshots > 0, "all interruptions fell on snapshots");
}

#[test]
fn damaged_last_snapshot_resumes_from_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert!(run("cpu", &out).status().unwrap().success());
    let expected = final_files(&out);
    let mut torn = expected.0.clone();
    torn.truncate(torn.len() / 2);
    std::fs::write(out.join(LAST_SNAPSHOT), torn).unwrap();
    assert!(resume(&out).status().unwrap().success());
    assert!(final_files(&out) == expected);
}
