//! What ends runs of ranks before their time: signals, a rank that is killed, a disk that is full.

use std::path::Path;
use std::time::Duration;

use super::launched::{Launched, is_named_as_gone, processes, ranks, ranks_by_shell, texts};
use super::{alone, content, plummer, run};

/// A run that nobody waits for, on three ranks; once it has written something.
fn long(folder: &Path, out: &str) -> Option<Launched> {
    let mut command = ranks(folder, 3)?;
    command.args(["run", "plummer", "-n", "2000", "--engine", "cpu", "--dt", "0.0001"]);
    command.args(["--until", "1000", "--every", "0.01", "--out", out]);
    let written = folder.join(out).join("step_0000000100.gvt");
    Some(Launched::new(&mut command).having_written(&written))
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
    let output = child.ended(Duration::from_secs(10));
    let said = texts(&output).concat();
    assert!(!output.status.success());
    assert!(is_named_as_gone(&said, ranks[1]), "{said}");
    // What is there can be gone on with, whoever it is.
    let found = content(&folder.join("killed"));
    assert!(found.len() > 2, "snapshots should be there");
}

#[test]
fn what_the_first_rank_cannot_write_it_alone_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = long(folder, "unwritten") else { return };
    // As a full disk: nothing can be written any more. (Removed, it could be written to meanwhile.)
    std::fs::rename(folder.join("unwritten"), folder.join("elsewhere")).unwrap();
    let output = child.ended(Duration::from_secs(20));
    let [_, said] = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("gravitile: ").count(), 1, "{said}");
    // It may have been at one already.
    let sentences = ["there is no folder", "cannot write unwritten/"];
    assert!(sentences.iter().any(|words| said.contains(words)), "{said}");
    assert!(
        said.contains("continue from the last snapshot with: gravitile resume unwritten"),
        "{said}"
    );
    assert!(!said.contains("is gone"), "{said}");
}

/// The disk is full from some moment on: a limit on the size of files, as of `ulimit -f`, comes in the middle of the run.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_with_how_to_go_on_which_leads_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args =
        ["run", "plummer", "-n", "1000", "--engine", "cpu", "--dt", "0.0001", "--until", "0.5"];
    let args = [&args[..], &["--every", "0.02", "--out"]].concat();
    alone(folder, &[&args[..], &["whole"]].concat());
    // Whoever writes beyond the limit is to hear of it, not to be ended by a signal.
    let script = format!("trap '' XFSZ; exec $gravitile {} full", args.join(" "));
    let Some(mut command) = ranks_by_shell(folder, 2, &script) else { return };
    let written = folder.join("full/step_0000000400.gvt");
    let child = Launched::new(&mut command).having_written(&written);
    let full = libc::rlimit { rlim_cur: 100, rlim_max: 100 };
    for process in processes(&child) {
        // SAFETY: limits a process that this test has started.
        let limited =
            unsafe { libc::prlimit(process, libc::RLIMIT_FSIZE, &full, std::ptr::null_mut()) };
        assert_eq!(limited, 0);
    }
    let output = child.ended(Duration::from_secs(20));
    let [said, noted] = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{said} {noted}");
    let lines: Vec<&str> = noted.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("one line should say it: {noted}") };
    for words in ["gravitile: rank 0 on ", "cannot write full/", "gravitile resume full"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    assert!(!folder.join("full/step_0000005000.gvt").exists(), "it should not be at its end");
    run(folder, 2, &["resume", "full"]).unwrap();
    assert!(content(&folder.join("full")) == content(&folder.join("whole")));
}

/// Each rank may be told; all break the step off, and the run can be gone on with from before it.
#[test]
fn a_long_step_is_broken_off_on_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (told, out, more) in [
        (1, "cpu", &["-n", "24k", "--engine", "reference", "--dt", "128"][..]),
        (0, "gpu", &["-n", "60k", "--engine", "gpu", "--method", "direct", "--dt", "128"]),
        // Walks that take long, which nobody could foresee.
        (1, "tree", &["-n", "20k", "--engine", "gpu", "--alpha", "1e-7", "--method", "tree"]),
        // Hundreds of thousands of small blocks, of which each device takes all.
        (1, "blocks", &["-n", "60", "--engine", "gpu", "--integrator", "hermite4", "--dt", "128"]),
    ] {
        let Some(mut command) = ranks(folder, 2) else { return };
        command.args(["run", "plummer", "--until", "1280", "--every", "128"]);
        command.args(more).args(["--out", out]);
        // In the first step, which takes seconds: bodies are written at its beginning, their potentials come beside it.
        let beginning = folder.join(out).join("step_0000000000.gvt");
        let child = Launched::new(&mut command).having_written(&beginning);
        // SAFETY: interrupts a process that this test has started.
        unsafe { libc::kill(processes(&child)[told], libc::SIGTERM) };
        let output = child.ended(Duration::from_secs(20));
        let [said, noted] = texts(&output);
        let sentence = format!("stopped; resume with: gravitile resume {out}");
        assert!(said.contains(&sentence) && !noted.contains("rank"), "{out}: {said} {noted}");
        let names: Vec<String> =
            content(&folder.join(out)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["energy.csv", "step_0000000000.gvt"], "{out}: no step should be done");
    }
}

/// Ctrl-C in a terminal: mpirun tells the ranks itself, Open MPI a second later, and ends them after another.
#[test]
fn a_signal_to_the_launcher_stops_all_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args =
        ["run", "plummer", "-n", "1000", "--engine", "cpu", "--dt", "0.0001", "--until", "2"];
    let args = [&args[..], &["--every", "0.1", "--out"]].concat();
    alone(folder, &[&args[..], &["whole"]].concat());
    let Some(mut command) = ranks(folder, 3) else { return };
    command.args(&args).arg("stopped");
    let written = folder.join("stopped/step_0000001000.gvt");
    let child = Launched::new(&mut command).having_written(&written);
    // SAFETY: interrupts a process that this test has started.
    unsafe { libc::kill(child.id(), libc::SIGINT) };
    let [said, noted] = texts(&child.ended(Duration::from_secs(20)));
    let [stopped, whole] =
        ["stopped", "whole"].map(|run| folder.join(run).join("step_0000020000.gvt"));
    assert!(!stopped.exists(), "it should not have come to its end");
    assert!(said.contains("stopped; resume with:"), "{said} {noted}");
    assert!(!noted.contains("is gone"), "{noted}");
    run(folder, 2, &["resume", "stopped"]).unwrap();
    assert!(std::fs::read(stopped).unwrap() == std::fs::read(whole).unwrap());
}

#[test]
fn a_signal_to_the_first_rank_stops_all_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(child) = long(folder, "stopped") else { return };
    let ranks = processes(&child);
    // SAFETY: interrupts a process that this test has started.
    unsafe { libc::kill(ranks[0], libc::SIGINT) };
    let output = child.ended(Duration::from_secs(20));
    let [said, noted] = texts(&output);
    assert!(said.contains("stopped; resume with: gravitile resume stopped"), "{said} {noted}");
    assert!(!noted.contains("is gone"), "{noted}");
}

/// A rank that is killed in the middle of block steps: the run ends, and goes on on another number to the same bits.
#[test]
#[ignore = "takes minutes: script/test --long"]
fn block_steps_go_on_after_a_rank_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = |out| {
        let long = ["--engine", "gpu", "--integrator", "hermite4", "--dt-max", "0.0078125"];
        let mut args = plummer("301", out, &long);
        args[7] = "0.4";
        args
    };
    alone(folder, &args("whole"));
    let Some(mut command) = ranks(folder, 3) else { return };
    command.args(args("killed"));
    let written = folder.join("killed/step_0000000004.gvt");
    let child = Launched::new(&mut command).having_written(&written);
    let killed = processes(&child)[1];
    // SAFETY: kills a process that this test has started.
    unsafe { libc::kill(killed, libc::SIGKILL) };
    let [said, noted] = texts(&child.ended(Duration::from_secs(10)));
    assert!(is_named_as_gone(&format!("{said}{noted}"), killed), "{said} {noted}");
    assert!(!folder.join("killed/step_0000000040.gvt").exists());
    run(folder, 2, &["resume", "killed"]).unwrap();
    assert!(content(&folder.join("killed")) == content(&folder.join("whole")));
}
