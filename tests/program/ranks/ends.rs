//! Early ends of MPI runs: signals, a killed rank, a full disk.

use std::path::Path;
use std::time::Duration;

use super::launched::{Launched, mpirun_shell, rank_processes, ranks, reports_dead_rank, texts};
use super::{plummer, run, run_contents, run_without_mpi};

/// Starts a run on three ranks that would take hours, and waits for its second snapshot.
fn start_long_run(folder: &Path, out: &str) -> Option<Launched> {
    let mut command = ranks(folder, 3)?;
    command.args(["run", "plummer", "-n", "2000", "--engine", "cpu", "--dt", "0.0001"]);
    command.args(["--until", "1000", "--every", "0.01", "--out", out]);
    let written = folder.join(out).join("step_0000000100.gvt");
    Some(Launched::new(&mut command).wait_for_file(&written))
}

#[test]
fn killed_rank_is_named_and_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = start_long_run(folder, "killed") else { return };
    let ranks = rank_processes(&child);
    assert_eq!(ranks.len(), 3, "{ranks:?}");
    // SAFETY: kills a process that this test has started.
    unsafe { libc::kill(ranks[1], libc::SIGKILL) };
    let output = child.wait_for_exit(Duration::from_secs(10));
    let text = texts(&output).concat();
    assert!(!output.status.success());
    assert!(reports_dead_rank(&text, ranks[1]), "{text}");
    // Snapshots to resume from exist.
    let found = run_contents(&folder.join("killed"));
    assert!(found.len() > 2, "snapshots should be there");
}

#[test]
fn write_error_of_rank_0_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = start_long_run(folder, "unwritten") else { return };
    // Like a full disk: nothing can be written any more. A removal of the folder would race with
    // writes.
    std::fs::rename(folder.join("unwritten"), folder.join("elsewhere")).unwrap();
    let output = child.wait_for_exit(Duration::from_secs(20));
    let [_, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.matches("gravitile: ").count(), 1, "{stderr}");
    // The second message if a file was open at the time.
    let sentences = ["there is no folder", "cannot write unwritten/"];
    assert!(sentences.iter().any(|words| stderr.contains(words)), "{stderr}");
    assert!(
        stderr.contains("continue from the last snapshot with: gravitile resume unwritten"),
        "{stderr}"
    );
    assert!(!stderr.contains("is gone"), "{stderr}");
}

/// A limit on file sizes, like `ulimit -f`, set in the middle of the run, stands in for a full
/// disk.
#[test]
#[cfg(target_os = "linux")]
fn resume_after_full_disk_gives_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args =
        ["run", "plummer", "-n", "1000", "--engine", "cpu", "--dt", "0.0001", "--until", "0.5"];
    let args = [&args[..], &["--every", "0.02", "--out"]].concat();
    run_without_mpi(folder, &[&args[..], &["whole"]].concat());
    // With SIGXFSZ ignored a write beyond the limit fails with EFBIG instead of killing the
    // process.
    let script = format!("trap '' XFSZ; exec $gravitile {} full", args.join(" "));
    let Some(mut command) = mpirun_shell(folder, 2, &script) else { return };
    let written = folder.join("full/step_0000000400.gvt");
    let child = Launched::new(&mut command).wait_for_file(&written);
    let full = libc::rlimit { rlim_cur: 100, rlim_max: 100 };
    for process in rank_processes(&child) {
        // SAFETY: limits a process that this test has started.
        let limited =
            unsafe { libc::prlimit(process, libc::RLIMIT_FSIZE, &full, std::ptr::null_mut()) };
        assert_eq!(limited, 0);
    }
    let output = child.wait_for_exit(Duration::from_secs(20));
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stdout} {stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("one line should say it: {stderr}") };
    for words in ["gravitile: rank 0 on ", "cannot write full/", "gravitile resume full"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    assert!(!folder.join("full/step_0000005000.gvt").exists(), "it should not be at its end");
    run(folder, 2, &["resume", "full"]).unwrap();
    assert!(run_contents(&folder.join("full")) == run_contents(&folder.join("whole")));
}

/// Any rank may get the signal: all cancel the step, and the run can be resumed from the state
/// before it.
#[test]
fn sigterm_cancels_a_long_step_on_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (signalled, out, options) in [
        (1, "cpu", &["-n", "24k", "--engine", "reference", "--dt", "128"][..]),
        (0, "gpu", &["-n", "60k", "--engine", "gpu", "--method", "direct", "--dt", "128"]),
        // Tree walks that take long, which no estimate foresees.
        (0, "tree", &["-n", "20k", "--engine", "gpu", "--alpha", "1e-7", "--method", "tree"]),
        // Hundreds of thousands of small blocks, each computed in full by every device.
        (1, "blocks", &["-n", "60", "--engine", "gpu", "--integrator", "hermite4", "--dt", "128"]),
    ] {
        let Some(mut command) = ranks(folder, 2) else { return };
        command.args(["run", "plummer", "--until", "1280", "--every", "128"]);
        command.args(options).args(["--out", out]);
        // The first snapshot is written at the beginning of the first step, which takes seconds;
        // the potentials are computed in the background.
        let beginning = folder.join(out).join("step_0000000000.gvt");
        let child = Launched::new(&mut command).wait_for_file(&beginning);
        // SAFETY: interrupts a process that this test has started.
        unsafe { libc::kill(rank_processes(&child)[signalled], libc::SIGTERM) };
        let output = child.wait_for_exit(Duration::from_secs(20));
        let [stdout, stderr] = texts(&output);
        let sentence = format!("stopped; resume with: gravitile resume {out}");
        assert!(stdout.contains(&sentence) && !stderr.contains("rank"), "{out}: {stdout} {stderr}");
        // The log begins with its first row, for which the potentials may not be known yet.
        let names = run_contents(&folder.join(out)).into_iter().map(|(name, _)| name);
        let snapshots: Vec<String> = names.filter(|name| name != "energy.csv").collect();
        assert_eq!(snapshots, ["step_0000000000.gvt"], "{out}: no step should be done");
    }
}

/// Ctrl-C in a terminal: mpirun forwards the signal to the ranks; Open MPI does so after a second,
/// and kills them after another.
#[test]
fn sigint_to_the_launcher_stops_all_ranks_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args =
        ["run", "plummer", "-n", "1000", "--engine", "cpu", "--dt", "0.0001", "--until", "0.5"];
    let args = [&args[..], &["--every", "0.02", "--out"]].concat();
    run_without_mpi(folder, &[&args[..], &["whole"]].concat());
    let Some(mut command) = ranks(folder, 3) else { return };
    command.args(&args).arg("stopped");
    let written = folder.join("stopped/step_0000000200.gvt");
    let child = Launched::new(&mut command).wait_for_file(&written);
    // SAFETY: interrupts a process that this test has started.
    unsafe { libc::kill(child.id(), libc::SIGINT) };
    let [stdout, stderr] = texts(&child.wait_for_exit(Duration::from_secs(20)));
    let [stopped, whole] =
        ["stopped", "whole"].map(|run| folder.join(run).join("step_0000005000.gvt"));
    assert!(!stopped.exists(), "it should not have come to its end");
    assert!(stdout.contains("stopped; resume with:"), "{stdout} {stderr}");
    assert!(!stderr.contains("is gone"), "{stderr}");
    run(folder, 2, &["resume", "stopped"]).unwrap();
    assert!(std::fs::read(stopped).unwrap() == std::fs::read(whole).unwrap());
}

#[test]
fn sigint_to_rank_0_stops_all_ranks_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = start_long_run(folder, "stopped") else { return };
    let ranks = rank_processes(&child);
    // SAFETY: interrupts a process that this test has started.
    unsafe { libc::kill(ranks[0], libc::SIGINT) };
    let output = child.wait_for_exit(Duration::from_secs(20));
    let [stdout, stderr] = texts(&output);
    assert!(stdout.contains("stopped; resume with: gravitile resume stopped"), "{stdout} {stderr}");
    assert!(!stderr.contains("is gone"), "{stderr}");
}

/// A rank is killed in the middle of block steps: the run ends, and its resumption on fewer ranks
/// gives the same bits.
#[test]
#[ignore = "takes minutes: script/test --long"]
fn block_steps_resume_after_a_killed_rank_with_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = |out| {
        let hermite = ["--engine", "gpu", "--integrator", "hermite4", "--dt-max", "0.0078125"];
        let mut args = plummer("301", out, &hermite);
        args[7] = "0.4";
        args
    };
    run_without_mpi(folder, &args("whole"));
    let Some(mut command) = ranks(folder, 3) else { return };
    command.args(args("killed"));
    let written = folder.join("killed/step_0000000004.gvt");
    let child = Launched::new(&mut command).wait_for_file(&written);
    let killed = rank_processes(&child)[1];
    // SAFETY: kills a process that this test has started.
    unsafe { libc::kill(killed, libc::SIGKILL) };
    let [stdout, stderr] = texts(&child.wait_for_exit(Duration::from_secs(10)));
    assert!(reports_dead_rank(&format!("{stdout}{stderr}"), killed), "{stdout} {stderr}");
    assert!(!folder.join("killed/step_0000000040.gvt").exists());
    run(folder, 2, &["resume", "killed"]).unwrap();
    assert!(run_contents(&folder.join("killed")) == run_contents(&folder.join("whole")));
}

/// What happens to the ranks of a run.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// One is killed.
    Killed,
    /// Ctrl-C in the terminal of the launcher.
    Stopped,
    /// The disk of one is full.
    Full,
}

#[cfg(target_os = "linux")]
impl Failure {
    fn happen(self, launcher: &Launched) {
        let process = rank_processes(launcher)[1];
        let full = libc::rlimit { rlim_cur: 2000, rlim_max: 2000 };
        // SAFETY: signals to processes that this test has started, and a limit of one of them.
        let done = unsafe {
            match self {
                Self::Killed => libc::kill(process, libc::SIGKILL),
                Self::Stopped => libc::kill(launcher.id(), libc::SIGINT),
                Self::Full => {
                    libc::prlimit(process, libc::RLIMIT_FSIZE, &full, std::ptr::null_mut())
                }
            }
        };
        assert_eq!(done, 0, "{self:?}");
    }

    fn is_reported(self, [stdout, stderr]: &[String; 2], process: i32) -> bool {
        match self {
            Self::Killed => reports_dead_rank(&format!("{stdout}{stderr}"), process),
            Self::Stopped => stdout.contains("stopped; resume with:"),
            Self::Full => {
                let lines: Vec<&str> =
                    stderr.lines().filter(|line| line.starts_with("gravitile: ")).collect();
                matches!(lines[..], [line] if line.contains("rank 1 on") && line.contains("cannot write"))
            }
        }
    }
}

/// Ranks that have a tree together end within ten seconds, whatever happens to one of them, and the
/// run that fewer ranks resume has the bits of one that was not disturbed.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes minutes: script/test --long"]
fn trees_in_parts_resume_after_failures_with_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A step on devices of software takes up to seconds on busy cores, one on CPUs milliseconds.
    for (engine, options, second, last) in [
        ("domains", "--engine gpu --until 0.06 --every 0.003", 6, 60),
        ("cpu", "--engine cpu --until 2 --every 0.02", 40, 2000),
    ] {
        let args = |out: &str| {
            let begin = "run plummer -n 1301 --method tree --dt 0.001 --files 3";
            format!("{begin} {options} --out {out}")
        };
        let snapshot = |step: u32| format!("step_{step:010}.gvt");
        let whole = format!("{engine}-whole");
        run_without_mpi(folder, &args(&whole).split(' ').collect::<Vec<_>>());
        for failure in [Failure::Killed, Failure::Stopped, Failure::Full] {
            let out = format!("{engine}-{failure:?}");
            let script = format!("trap '' XFSZ; exec $gravitile {}", args(&out));
            let Some(mut command) = mpirun_shell(folder, 3, &script) else { return };
            let written = folder.join(&out).join(snapshot(second));
            let child = Launched::new(&mut command).wait_for_file(&written);
            let process = rank_processes(&child)[1];
            failure.happen(&child);
            let texts = texts(&child.wait_for_exit(Duration::from_secs(10)));
            assert!(failure.is_reported(&texts, process), "{out}: {texts:?}");
            assert!(!folder.join(&out).join(snapshot(last)).exists(), "{out}: at its end");
            run(folder, 2, &["resume", &out]).unwrap();
            let [resumed, whole] = [&out, &whole].map(|run| run_contents(&folder.join(run)));
            assert!(resumed == whole, "{out}");
        }
    }
}
