//! The folder of a run: locked by one process at a time, and no file in it is lost.

use crate::program;

use gravitile::snapshot;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn gravitile(args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `gravitile run` with `n` bodies and ten steps.
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

#[test]
fn more_files_than_bodies_are_refused_and_a_runs_folder_takes_no_results() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let many = run("16", &out).args(["--files", "17"]).output().unwrap();
    assert_refused(&many, &["--files is 17", "1 to 16, the number of bodies"]);
    assert!(!out.exists());
    assert!(run("16", &out).args(["--files", "16"]).output().unwrap().status.success());
    let before = file_names(&out);
    let words = ["bench", "--no-gpu", "--quick", "--out", out.to_str().unwrap()];
    let bench = gravitile(&words).output().unwrap();
    assert_refused(&bench, &["is the folder of a run", "choose another"]);
    assert_eq!(file_names(&out), before);
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut file_names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    file_names.sort();
    file_names
}

/// Expects exit code 2 and one line on standard error that contains all `words`; returns it.
fn assert_refused(output: &Output, words: &[&str]) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    for word in words {
        assert!(error.contains(word), "it should say '{word}': {error}");
    }
    error
}

fn assert_succeeds(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A killed process leaves files without an index, and a resumed run other numbers of files.
#[test]
fn snapshots_in_several_files_resume_like_single_ones() {
    let folder = tempfile::tempdir().unwrap();
    let [out, whole] = ["several", "whole"].map(|name| folder.path().join(name));
    assert_succeeds(run("100", &whole));
    let mut begin = run("100", &out);
    begin.args(["--files", "3"]);
    assert_succeeds(begin);
    let names = file_names(&out);
    let mut expected = ["energy.csv", "run.lock", "run.toml"].map(str::to_owned).to_vec();
    for step in [0, 5, 10] {
        expected.extend([".0", ".1", ".2", ""].map(|k| format!("step_{step:010}{k}.gvt")));
    }
    assert_eq!(names, expected);
    let assert_same = || {
        for step in [0, 5, 10] {
            let [here, there] = [&out, &whole]
                .map(|run| snapshot::read(run.join(format!("step_{step:010}.gvt"))).unwrap());
            assert_eq!(here, there, "{step}");
        }
        let logs = [&out, &whole].map(|run| std::fs::read(run.join("energy.csv")).unwrap());
        assert!(logs[0] == logs[1]);
    };
    assert_same();

    // One file of the last snapshot is missing: the one before it is taken, and what is left over
    // goes away.
    let part = |step: u64, k: usize| out.join(format!("step_{step:010}.{k}.gvt"));
    std::fs::remove_file(part(10, 1)).unwrap();
    let output = resume(&out).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("damaged snapshot") && text.contains("10.1.gvt is not there"), "{text}");
    assert_same();
    // Killed before the index was written, when more files were asked for.
    std::fs::copy(part(10, 2), part(10, 7)).unwrap();
    std::fs::copy(part(10, 0), part(15, 0)).unwrap();
    std::fs::write(part(20, 0), "mine").unwrap();
    assert_succeeds(resume(&out));
    assert!(!part(10, 7).exists() && !part(15, 0).exists() && part(20, 0).exists());
    std::fs::remove_file(part(20, 0)).unwrap();
    assert_eq!(file_names(&out), names);

    // No run begins over a file that is none of its own, and none is written into a run.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("step_0000000000.1.gvt"), "mine").unwrap();
    let mut begin = run("100", &other);
    begin.args(["--files", "3"]);
    assert_refused(&begin.output().unwrap(), &["contains step_0000000000.1.gvt"]);
    // Left by a run that was killed before it had begun.
    std::fs::copy(part(5, 1), other.join("step_0000000000.1.gvt")).unwrap();
    assert_succeeds(run("100", &other));
    assert!(!other.join("step_0000000000.1.gvt").exists());
    let input = part(5, 0);
    let made = gravitile(&["convert", input.to_str().unwrap(), part(40, 0).to_str().unwrap()])
        .output()
        .unwrap();
    assert_refused(&made, &["belongs to the run in that folder"]);
}

/// What was thrown in is among the bodies of all snapshots, so that a run can be resumed.
#[test]
fn thrown_bodies_are_in_snapshots_and_resumed_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let [out, whole] = ["resumed", "whole"].map(|name| folder.path().join(name));
    let throw = "galaxy:mass=0.2,size=0.2,n=40,seed=3,x=2,vx=-0.5,tilt=30";
    for run_to in [&out, &whole] {
        let mut run = run("60", run_to);
        run.args(["--throw", throw]);
        assert_succeeds(run);
    }
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    assert!(plan.contains(&format!("throw = [\"{throw}\"]")) && plan.contains("n = 100"), "{plan}");
    let read = |run: &Path, step| snapshot::read(run.join(format!("step_{step:010}.gvt"))).unwrap();
    let first = read(&out, 0).bodies;
    assert_eq!(first.len(), 100);
    assert!(first.components.iter().any(|part| part.name == "thrown galaxy 1 disk"));
    std::fs::remove_file(out.join("step_0000000010.gvt")).unwrap();
    assert_succeeds(resume(&out));
    assert_eq!(read(&out, 10), read(&whole, 10));

    let mut late = run("60", &folder.path().join("late"));
    late.args(["--throw", "body:t=0.05,mass=1"]);
    assert_refused(&late.output().unwrap(), &["--throw is 0.05", "at most the start, 0"]);
    let picture = folder.path().join("picture.png");
    let render = |throw: &[&str]| {
        let args = ["render", "plummer", "-n", "60", "--size", "64x36", "--force", "--out"];
        let mut render = gravitile(&args);
        render.arg(&picture).args(throw);
        assert_succeeds(render);
        std::fs::read(&picture).unwrap()
    };
    assert_ne!(render(&["--throw", throw]), render(&[]));
}

/// A child process that is killed on drop.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a run that takes minutes, and stops it with SIGSTOP once the file `ready` exists.
#[cfg(unix)]
fn start_and_suspend(more: &[&str], out: &Path, ready: &str) -> KillOnDrop {
    let args = ["run", "plummer", "--engine", "reference", "--dt", "0.01", "--out"];
    let mut child = gravitile(&args).arg(out).args(more).spawn().unwrap();
    while !out.join(ready).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before {ready} was there");
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    KillOnDrop(child)
}

#[cfg(unix)]
#[test]
fn run_folder_is_locked_by_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut first = start_and_suspend(&["-n", "3000", "--until", "1000"], &out, "energy.csv");
    let process = format!("process {}", first.0.id());
    let before = file_names(&out);
    for mut second in [run("20", &out), resume(&out)] {
        let words = [process.as_str(), "is at work in it", "another folder"];
        assert_refused(&second.output().unwrap(), &words);
        assert_eq!(file_names(&out), before);
    }
    // The lock ends with the process, also when it is killed.
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    assert_refused(&run("20", &out).output().unwrap(), &["holds a run already", "resume"]);
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    let shorter = plan.replace("steps = 100000\n", "steps = 1\n");
    assert_ne!(plan, shorter);
    std::fs::write(out.join("run.toml"), shorter).unwrap();
    assert_succeeds(resume(&out));
}

#[cfg(unix)]
#[test]
fn run_folder_is_locked_before_the_first_forces() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut first = start_and_suspend(&["-n", "200k"], &out, "run.lock");
    let process = format!("process {}", first.0.id());
    assert_refused(&run("20", &out).output().unwrap(), &[&process, "is at work in it"]);
    assert_refused(&resume(&out).output().unwrap(), &["holds no run"]);
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    // No run exists yet, so a new one can start in the folder.
    assert_succeeds(run("20", &out));
    assert!(out.join("step_0000000010.gvt").exists());
}

#[test]
fn only_one_of_four_concurrent_runs_starts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let all: Vec<Child> = (0..4).map(|_| run("2000", &out).spawn().unwrap()).collect();
    let outputs: Vec<Output> =
        all.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (one, others): (Vec<_>, Vec<_>) =
        outputs.iter().partition(|output| output.status.success());
    assert_eq!(one.len(), 1);
    for output in others {
        assert_refused(output, &["run"]);
    }
    let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
    let steps: Vec<_> = log.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["step", "0", "5", "10"]);
    assert_succeeds(resume(&out));
}

#[test]
fn existing_files_are_not_overwritten() {
    for name in ["energy.csv", "stopped.gvt"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, "mine").unwrap();
        let output = run("20", folder.path()).output().unwrap();
        assert_refused(&output, &[name, "overwrite", "another folder"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(file_names(folder.path()), [name]);
    }
    // Unrelated files are no obstacle.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    assert_succeeds(run("20", folder.path()));
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "mine");
}

#[test]
fn run_and_resume_refuse_snapshots_without_a_plan_alike() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert_succeeds(run("20", &out));
    let first = std::fs::read(out.join("step_0000000000.gvt")).unwrap();
    for name in ["run.toml", "run.lock", "energy.csv"] {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    let left = file_names(&out);
    let words = ["step_0000000000.gvt", "no run.toml", "gravitile run SNAPSHOT", "another folder"];
    let by_run = assert_refused(&run("20", &out).output().unwrap(), &words);
    let by_resume = assert_refused(&resume(&out).output().unwrap(), &words);
    assert_eq!(by_run, by_resume);
    assert_eq!(file_names(&out), left);
    assert!(std::fs::read(out.join("step_0000000000.gvt")).unwrap() == first);
    // The suggested command works.
    let snapshot = out.join("step_0000000005.gvt");
    let other = folder.path().join("other");
    let args = ["run", snapshot.to_str().unwrap(), "--until", "0.1", "--out"];
    let mut suggested = gravitile(&args);
    suggested.arg(&other);
    assert_succeeds(suggested);
}

/// Killed while the folder was set up: a new run can start if the plan was not written yet;
/// otherwise the run can be resumed.
#[test]
fn folder_of_a_run_killed_during_setup_is_usable() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert_succeeds(run("20", &out));
    let whole = std::fs::read(out.join("step_0000000010.gvt")).unwrap();
    let plan = std::fs::read(out.join("run.toml")).unwrap();
    let unnamed = out.join(".first.gvt.part");
    std::fs::rename(out.join("step_0000000000.gvt"), &unnamed).unwrap();
    let first = std::fs::read(&unnamed).unwrap();
    for name in file_names(&out) {
        if ![".first.gvt.part", "run.lock"].contains(&name.as_str()) {
            std::fs::remove_file(out.join(name)).unwrap();
        }
    }
    assert_refused(&resume(&out).output().unwrap(), &["holds no run", "gravitile run"]);
    assert_succeeds(run("20", &out));
    assert!(std::fs::read(out.join("step_0000000010.gvt")).unwrap() == whole);
    assert!(!unnamed.exists());

    for name in file_names(&out) {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    std::fs::write(&unnamed, first).unwrap();
    std::fs::write(out.join("run.toml"), plan).unwrap();
    std::fs::write(out.join(".gravitile-1-0.part"), "half a snapshot").unwrap();
    assert_refused(&run("20", &out).output().unwrap(), &["holds a run already", "resume"]);
    assert_succeeds(resume(&out));
    assert!(std::fs::read(out.join("step_0000000010.gvt")).unwrap() == whole);
    assert!(!file_names(&out).iter().any(|name| name.ends_with(".part")), "{:?}", file_names(&out));
}

#[test]
fn convert_refuses_file_names_that_belong_to_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert_succeeds(run("20", &out));
    let from = out.join("step_0000000005.gvt");
    for name in ["step_0000000099.gvt", "stopped.gvt", "energy.csv"] {
        let to = out.join(name);
        let mut args = vec!["convert", from.to_str().unwrap(), to.to_str().unwrap(), "--force"];
        args.extend(["--to", "gravitile"]);
        let output = gravitile(&args).output().unwrap();
        assert_refused(&output, &[name, "belongs to the run"]);
    }
    let to = out.join("mine.gvt");
    assert_succeeds(gravitile(&["convert", from.to_str().unwrap(), to.to_str().unwrap()]));
}

/// `run.toml` with step counts and steps that no run can have.
#[test]
fn plan_with_impossible_steps_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert_succeeds(run("20", &out));
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    for (from, to, words) in [
        ("\nsteps = 10\n", "\nsteps = 0\n", "steps is 0"),
        ("\nsteps = 10\n", "\nsteps = 9007199254740993\n", "2^53"),
        ("\ndt = 0.01\n", "\ndt = 1e-320\n", "dt = 1e-320"),
        (
            "\nsteps = 10\n",
            "\nstep = 10\n",
            "unknown field `step` (did you mean 'steps'?), expected",
        ),
        ("\nsteps = 10\n", "\nsteps = ten\n", "run.toml: line "),
    ] {
        let changed = plan.replace(from, to);
        assert_ne!(plan, changed);
        std::fs::write(out.join("run.toml"), changed).unwrap();
        assert_refused(&resume(&out).output().unwrap(), &[words]);
    }
}

#[test]
fn run_that_loses_a_body_names_it_and_saves_the_last_state() {
    let folder = tempfile::tempdir().unwrap();
    let (table, out) = (folder.path().join("bodies.csv"), folder.path().join("run"));
    let mut text = "id,m,x,y,z,vx,vy,vz\n".to_owned();
    for k in 0..40 {
        let x = f64::from(k % 7) - 3.0 + 0.01 * f64::from(k);
        text += &format!("{k},0.02,{x},{},{},0,0,0\n", x * x - 4.0, 0.3 * f64::from(k % 5));
    }
    // Massless, and so fast that after the third step f32 cannot hold its position relative to the
    // others.
    text += "4711,0,0,0,0,2e17,0,0\n";
    std::fs::write(&table, text).unwrap();
    for method in ["tree", "direct"] {
        let begin = ["run", table.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let how = ["--engine", "cpu", "--method", method, "--integrator", "leapfrog"];
        let steps = ["--eps", "100", "--dt", "1", "--until", "9"];
        let output = gravitile(&[&begin[..], &how, &steps].concat()).output().unwrap();
        let last = out.join("stopped.gvt");
        let saved = format!("the last state, t = 2, is in {}", last.display());
        let lost = ["body 40 (id 4711)", "in the step after 2 (t = 2)", "its position", &saved];
        assert_refused(&output, &lost);
        let snapshot = gravitile::snapshot::read(&last).unwrap();
        assert_eq!((snapshot.time, snapshot.bodies.len()), (2.0, 41));
        assert!(snapshot.bodies.check_range().is_ok());
        std::fs::remove_dir_all(&out).unwrap();
    }
}

/// Output of a run or resume with `--json`, and its standard error.
fn run_json(mut command: Command) -> (serde_json::Value, String) {
    let output = command.arg("--json").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    (serde_json::from_slice(&output.stdout).unwrap(), error)
}

#[test]
fn exploding_leapfrog_run_warns_once_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let run = |dt: &str, until: &str, name: &str| {
        let args = ["run", "plummer", "-n", "100", "--engine", "cpu", "--eps", "0.01"];
        let mut command = gravitile(&args);
        command.args(["--dt", dt, "--until", until, "--out"]);
        command.arg(folder.path().join(name));
        run_json(command)
    };
    let (found, stderr) = run("10", "100", "exploded");
    assert!(found["energy_error"].as_f64().unwrap().abs() > 0.05, "{found}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for word in ["the energy is off", "cannot be trusted", "--dt 10", "--eps 0.01", "hermite4"] {
        assert!(stderr.contains(word), "it should say '{word}': {stderr}");
    }
    let warnings = found["warnings"].as_array().unwrap();
    assert_eq!(stderr.trim_end(), format!("gravitile: {}", warnings[0].as_str().unwrap()));
    assert_eq!(warnings.len(), 1);
    assert_eq!((&found["seed"], found["dt"].as_f64()), (&1.into(), Some(10.0)));
    assert_eq!(found["momentum"].as_array().unwrap().len(), 3);
    let (found, stderr) = run("0.001", "2", "sound");
    assert!(stderr.is_empty() && found["warnings"].as_array().unwrap().is_empty(), "{stderr}");
}

#[test]
fn steps_are_shortened_evenly_to_meet_the_end_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let args = ["run", "plummer", "-n", "20", "--engine", "cpu", "--out"];
        let output = gravitile(&args).arg(&out).args(more).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
        let column = |row: &str| row.split(',').nth(1).unwrap().parse::<f64>().unwrap();
        let times: Vec<f64> = log.lines().skip(1).map(column).collect();
        (times, stdout)
    };
    let (times, stdout) = run("long", &["--until", "1", "--dt", "10"]);
    assert_eq!(times, [0.0, 1.0]);
    assert!(stdout.contains("steps of 1 instead of 10"), "{stdout}");
    let (times, stdout) = run("uneven", &["--until", "1", "--every", "0.4", "--dt", "0.3"]);
    assert!(stdout.contains("steps of 0.2 instead of 0.3"), "{stdout}");
    for (time, expected) in times.iter().zip([0.0, 0.4, 0.8, 1.0]) {
        assert!((time - expected).abs() < 1e-12, "{times:?}");
    }
    let hermite = ["--integrator", "hermite4", "--dt-max", "0.125"];
    let (times, stdout) =
        run("hermite", &[&hermite[..], &["--until", "0.3", "--every", "0.1"]].concat());
    assert!(stdout.contains("synchronised every 0.1 instead of 0.125"), "{stdout}");
    assert!(times.len() == 4 && (times[3] - 0.3).abs() < 1e-12, "{times:?}");
    let (times, stdout) = run("even", &["--until", "0.3", "--every", "0.1", "--dt", "0.02"]);
    assert!(times.len() == 4 && !stdout.contains("instead"), "{stdout}");
}

#[test]
fn plan_that_contradicts_the_snapshots_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert_succeeds(run("20", &out));
    let path = out.join("run.toml");
    let plan = std::fs::read_to_string(&path).unwrap();
    let number = |name: &str| {
        plan.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap().to_owned()
    };
    let before = file_names(&out);
    for (name, other, words) in [
        ("dt", "0.02", "says dt = 0.02, but step_0000000010.gvt was made with 0.01"),
        ("softening", "0.5", "says softening = 0.5"),
        ("gravitational_constant", "2.0", "says gravitational_constant = 2.0"),
        ("start", "1.0", "says start = 1.0"),
        ("n", "21", "says n = 21"),
        ("integrator", "\"hermite4\"", "says integrator = hermite4"),
        ("steps", "9", "says steps = 9"),
    ] {
        std::fs::write(&path, plan.replace(&number(name), &format!("{name} = {other}"))).unwrap();
        assert_refused(&resume(&out).output().unwrap(), &["run.toml", words]);
        assert_eq!(file_names(&out), before);
    }
    // Times of bodies with individual steps are fractions of dt_max.
    let blocks = folder.path().join("blocks");
    let mut command =
        gravitile(&["run", "plummer", "-n", "20", "--engine", "cpu", "--until", "0.5"]);
    command.args(["--integrator", "hermite4", "--dt-max", "0.125", "--out"]).arg(&blocks);
    assert_succeeds(command);
    let edited = std::fs::read_to_string(blocks.join("run.toml")).unwrap();
    assert!(edited.contains("dt_max = 0.125\n") && edited.contains("\nsteps = 4\n"), "{edited}");
    let edited = edited.replace("dt_max = 0.125\n", "dt_max = 0.25\n");
    std::fs::write(blocks.join("run.toml"), edited.replace("\nsteps = 4\n", "\nsteps = 8\n"))
        .unwrap();
    assert_refused(&resume(&blocks).output().unwrap(), &["run.toml", "says dt_max = 0.25"]);
    // More steps are allowed.
    std::fs::write(&path, plan.replace("steps = 10\n", "steps = 20\n")).unwrap();
    assert_succeeds(resume(&out));
    assert!(out.join("step_0000000020.gvt").exists());
}

#[test]
fn initial_energy_is_recomputed_without_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (out, whole) = (folder.path().join("run"), folder.path().join("whole"));
    assert_succeeds(run("20", &out));
    let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
    std::fs::write(out.join("run.toml"), plan.replace("steps = 10\n", "steps = 20\n")).unwrap();
    let mut longer = gravitile(&["run", "plummer", "-n", "20", "--engine", "cpu", "--dt", "0.01"]);
    longer.args(["--until", "0.2", "--every", "0.05", "--out", whole.to_str().unwrap()]);
    let (expected, _) = run_json(longer);
    std::fs::remove_file(out.join("energy.csv")).unwrap();
    let (found, stderr) = run_json(resume(&out));
    assert!(stderr.contains("energy.csv lacks its first rows"), "{stderr}");
    assert_eq!(found["energy_error"], expected["energy_error"]);
    assert_eq!(found["energy_initial"], expected["energy_initial"]);
    assert_ne!(found["energy_error"].as_f64(), Some(0.0));
    let rows = |out: &Path| -> Vec<String> {
        let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
        log.lines().map(str::to_owned).collect()
    };
    let (found, expected) = (rows(&out), rows(&whole));
    assert_eq!((&found[0], &found[1..]), (&expected[0], &expected[3..]));
}

#[test]
fn few_bodies_of_a_plain_table_run_with_hermite6_unsoftened() {
    let folder = tempfile::tempdir().unwrap();
    let (table, out) = (folder.path().join("bodies.csv"), folder.path().join("run"));
    // A binary with e = 0.99 and a semi-major axis of 1 at its apocentre.
    let speed = 0.5 * (0.01_f64 / 1.99).sqrt();
    let text =
        format!("m,x,y,z,vx,vy,vz\n0.5,0.995,0,0,0,{speed},0\n0.5,-0.995,0,0,0,-{speed},0\n");
    std::fs::write(&table, text).unwrap();
    let begin = ["run", table.to_str().unwrap(), "--engine", "cpu", "--out"];
    let mut command = gravitile(&begin);
    command.arg(&out);
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for word in ["one of the 2 bodies has 50.0 %", "eps 0", "hermite6", "t = 62"] {
        assert!(stdout.contains(word), "it should say '{word}': {stdout}");
    }
    let (found, _) = run_json(resume(&out));
    assert_eq!((found["softening"].as_f64(), found["time"].as_f64()), (Some(0.0), Some(62.0)));
    assert!(found["energy_error"].as_f64().unwrap().abs() < 1e-5, "{found}");
    // Snapshots store the chosen integrator and softening.
    let (last, other) = (out.join("step_0000000000.gvt"), folder.path().join("other"));
    let mut command =
        gravitile(&["run", last.to_str().unwrap(), "--engine", "cpu", "--until", "1"]);
    command.arg("--out").arg(&other);
    let (found, _) = run_json(command);
    assert_eq!(
        (&found["integrator"], found["softening"].as_f64()),
        (&"hermite6".into(), Some(0.0))
    );
    // With softening the integrator is leapfrog.
    let mut command =
        gravitile(&["run", table.to_str().unwrap(), "--engine", "cpu", "--eps", "0.1"]);
    command.args(["--until", "1", "--dt", "0.01"]).arg("--out").arg(folder.path().join("soft"));
    assert_eq!(run_json(command).0["integrator"], "leapfrog");
    // The tree, too, has the step of a smooth density: 10 a second of the orbit, not thousands.
    let mut command =
        gravitile(&["run", table.to_str().unwrap(), "--engine", "cpu", "--method", "tree"]);
    command.args(["--until", "1"]).arg("--out").arg(folder.path().join("tree"));
    let (found, _) = run_json(command);
    assert!(
        found["softening"].as_f64() > Some(0.0) && found["steps"].as_u64() < Some(500),
        "{found}"
    );
}

/// With `ulimit -f` a file that becomes too large is an error, as on a full disk, and no partial
/// file is left.
#[cfg(unix)]
#[test]
fn file_size_limit_is_an_error_and_leaves_no_partial_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let program = gravitile(&[]).get_program().to_owned();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 8; exec \"$@\"", "sh"]).arg(program);
    limited.args(["run", "plummer", "-n", "1000", "--until", "0.1", "--engine", "cpu", "--out"]);
    let output = limited.arg(&out).env("GRAVITILE_CACHE_DIR", "").output().unwrap();
    assert_refused(&output, &["cannot write", "File too large"]);
    assert!(!out.exists() || file_names(&out).is_empty(), "{:?}", file_names(&out));
}

#[cfg(target_os = "linux")]
#[test]
fn run_that_does_not_fit_into_memory_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let program = gravitile(&[]).get_program().to_owned();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 3000000; exec \"$@\"", "sh"]).arg(&program);
    let output = limited.args(["run", "plummer", "-n", "50M", "--out"]).arg(&out).output().unwrap();
    assert_refused(
        &output,
        &["the number of bodies is 50000000", "at most", "GB of memory are free"],
    );
    assert!(!out.exists());
}
