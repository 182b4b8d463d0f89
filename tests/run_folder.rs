//! The folder of a run: one process at a time, and nothing in it is lost.
#![cfg(feature = "cli")]

#[path = "common/program.rs"]
mod program;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn gravitile(args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A run of `n` bodies and ten steps.
fn run(n: &str, out: &Path) -> Command {
    let out = out.to_str().unwrap();
    let steps = ["--dt", "0.01", "--until", "0.1", "--every", "0.05"];
    let mut command = gravitile(&["run", "plummer", "-n", n, "--engine", "cpu", "--out", out]);
    command.args(steps);
    command
}

fn resume(out: &Path) -> Command {
    gravitile(&["resume", out.to_str().unwrap()])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Expects exit code 2 and one line that says `words`; returns it.
fn refused(output: &Output, words: &[&str]) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    for word in words {
        assert!(error.contains(word), "it should say '{word}': {error}");
    }
    error
}

fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Ended with the test, whatever happens.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run that takes minutes, begun and then held still once `ready` is in its folder.
#[cfg(unix)]
fn held_still(more: &[&str], out: &Path, ready: &str) -> Guarded {
    let args = ["run", "plummer", "--engine", "reference", "--dt", "0.01", "--out"];
    let mut child = gravitile(&args).arg(out).args(more).spawn().unwrap();
    while !out.join(ready).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before {ready} was there");
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    Guarded(child)
}

#[cfg(unix)]
#[test]
fn one_process_holds_the_folder_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut first = held_still(&["-n", "3000", "--until", "1000"], &out, "energy.csv");
    let process = format!("process {}", first.0.id());
    let before = names(&out);
    for mut second in [run("20", &out), resume(&out)] {
        let words = [process.as_str(), "is at work in it", "another folder"];
        refused(&second.output().unwrap(), &words);
        assert_eq!(names(&out), before);
    }
    // The lock goes with the process, however that ends.
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    refused(&run("20", &out).output().unwrap(), &["holds a run already", "resume"]);
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    let shorter = plan.replace("steps = 100000\n", "steps = 1\n");
    assert_ne!(plan, shorter);
    std::fs::write(out.join("run.toml"), shorter).unwrap();
    succeeds(resume(&out));
}

#[cfg(unix)]
#[test]
fn a_run_holds_its_folder_before_its_first_forces() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut first = held_still(&["-n", "200k"], &out, "run.lock");
    let process = format!("process {}", first.0.id());
    refused(&run("20", &out).output().unwrap(), &[&process, "is at work in it"]);
    refused(&resume(&out).output().unwrap(), &["holds no run"]);
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    // Nothing has begun, so it can be begun anew.
    succeeds(run("20", &out));
    assert!(out.join("step_0000000010.gvt").exists());
}

#[test]
fn of_four_at_once_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let all: Vec<Child> = (0..4).map(|_| run("2000", &out).spawn().unwrap()).collect();
    let outputs: Vec<Output> =
        all.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (one, others): (Vec<_>, Vec<_>) =
        outputs.iter().partition(|output| output.status.success());
    assert_eq!(one.len(), 1);
    for output in others {
        refused(output, &["run"]);
    }
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let steps: Vec<_> = log.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["step", "0", "5", "10"]);
    succeeds(resume(&out));
}

#[test]
fn files_that_a_run_would_write_over_are_kept() {
    for name in ["energy.csv", "stopped.gvt"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, "mine").unwrap();
        let said = run("20", folder.path()).output().unwrap();
        refused(&said, &[name, "overwrite", "another folder"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(names(folder.path()), [name]);
    }
    // Others are nobody's business.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    succeeds(run("20", folder.path()));
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "mine");
}

#[test]
fn snapshots_without_a_plan_are_told_alike_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    succeeds(run("20", &out));
    let first = std::fs::read(out.join("step_0000000000.gvt")).unwrap();
    for name in ["run.toml", "run.lock", "energy.csv"] {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    let left = names(&out);
    let words = ["step_0000000000.gvt", "no run.toml", "gravitile run SNAPSHOT", "another folder"];
    let by_run = refused(&run("20", &out).output().unwrap(), &words);
    let by_resume = refused(&resume(&out).output().unwrap(), &words);
    assert_eq!(by_run, by_resume);
    assert_eq!(names(&out), left);
    assert!(std::fs::read(out.join("step_0000000000.gvt")).unwrap() == first);
    // What is said can be done.
    let snapshot = out.join("step_0000000005.gvt");
    let other = folder.path().join("other");
    let args = ["run", snapshot.to_str().unwrap(), "--until", "0.1", "--out"];
    let mut again = gravitile(&args);
    again.arg(&other);
    succeeds(again);
}

/// Killed while the folder was made, before or after the plan was written: begun anew, or resumed.
#[test]
fn a_run_killed_at_its_very_beginning_is_no_dead_end() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    succeeds(run("20", &out));
    let whole = std::fs::read(out.join("step_0000000010.gvt")).unwrap();
    let plan = std::fs::read(out.join("run.toml")).unwrap();
    let unnamed = out.join(".first.gvt.part");
    std::fs::rename(out.join("step_0000000000.gvt"), &unnamed).unwrap();
    let first = std::fs::read(&unnamed).unwrap();
    for name in names(&out) {
        if ![".first.gvt.part", "run.lock"].contains(&name.as_str()) {
            std::fs::remove_file(out.join(name)).unwrap();
        }
    }
    refused(&resume(&out).output().unwrap(), &["holds no run", "gravitile run"]);
    succeeds(run("20", &out));
    assert!(std::fs::read(out.join("step_0000000010.gvt")).unwrap() == whole);
    assert!(!unnamed.exists());

    for name in names(&out) {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    std::fs::write(&unnamed, first).unwrap();
    std::fs::write(out.join("run.toml"), plan).unwrap();
    std::fs::write(out.join(".gravitile-1-0.part"), "half a snapshot").unwrap();
    refused(&run("20", &out).output().unwrap(), &["holds a run already", "resume"]);
    succeeds(resume(&out));
    assert!(std::fs::read(out.join("step_0000000010.gvt")).unwrap() == whole);
    assert!(!names(&out).iter().any(|name| name.ends_with(".part")), "{:?}", names(&out));
}

#[test]
fn nothing_else_takes_the_names_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    succeeds(run("20", &out));
    let from = out.join("step_0000000005.gvt");
    for name in ["step_0000000099.gvt", "stopped.gvt", "energy.csv"] {
        let to = out.join(name);
        let mut args = vec!["convert", from.to_str().unwrap(), to.to_str().unwrap(), "--force"];
        args.extend(["--to", "gravitile"]);
        let said = gravitile(&args).output().unwrap();
        refused(&said, &[name, "belongs to the run"]);
    }
    let to = out.join("mine.gvt");
    succeeds(gravitile(&["convert", from.to_str().unwrap(), to.to_str().unwrap()]));
}

/// A plan with numbers that no run has.
#[test]
fn a_plan_without_countable_steps_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    succeeds(run("20", &out));
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    for (from, to, words) in [
        ("\nsteps = 10\n", "\nsteps = 0\n", "steps is 0"),
        ("\nsteps = 10\n", "\nsteps = 9007199254740993\n", "2^53"),
        ("\ndt = 0.01\n", "\ndt = 1e-320\n", "dt is 1e-320"),
    ] {
        let changed = plan.replace(from, to);
        assert_ne!(plan, changed);
        std::fs::write(out.join("run.toml"), changed).unwrap();
        refused(&resume(&out).output().unwrap(), &[words]);
    }
}

#[test]
fn a_run_that_loses_a_body_names_it_and_keeps_the_last_state() {
    let folder = tempfile::tempdir().unwrap();
    let (table, out) = (folder.path().join("bodies.csv"), folder.path().join("run"));
    let mut text = "id,m,x,y,z,vx,vy,vz\n".to_owned();
    for k in 0..40 {
        let x = f64::from(k % 7) - 3.0 + 0.01 * f64::from(k);
        text += &format!("{k},0.02,{x},{},{},0,0,0\n", x * x - 4.0, 0.3 * f64::from(k % 5));
    }
    // Without mass, and so fast that its place has no number in the third step.
    text += "4711,0,0,0,0,5e307,0,0\n";
    std::fs::write(&table, text).unwrap();
    for method in ["tree", "direct"] {
        let begin = ["run", table.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let how =
            ["--engine", "cpu", "--method", method, "--eps", "1", "--dt", "1", "--until", "9"];
        let output = gravitile(&[&begin[..], &how].concat()).output().unwrap();
        let last = out.join("stopped.gvt");
        let saved = format!("the last state, t = 3, is in {}", last.display());
        let lost = ["body 40 (id 4711)", "in the step after 3 (t = 3)", "left the range", &saved];
        refused(&output, &lost);
        let snapshot = gravitile::snapshot::read(&last).unwrap();
        assert_eq!((snapshot.time, snapshot.bodies.len()), (3.0, 41));
        assert!(snapshot.bodies.check_range().is_ok());
        std::fs::remove_dir_all(&out).unwrap();
    }
}
