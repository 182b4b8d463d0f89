//! Ctrl-C and SIGTERM: the program exits promptly whatever it computes, and leaves no partial
//! files.
#![cfg(unix)]

use crate::program;

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// On an idle machine it takes less than a second to exit; the computations that are interrupted
/// take minutes.
const LONG: Duration = Duration::from_secs(20);

fn gravitile(args: &[&str]) -> Child {
    let mut command = program::program();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits for the process to exit after a signal.
fn exit_status(child: &mut Child, what: &str) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > LONG {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what}: no answer to the signal");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn wait_until(child: &mut Child, what: &str, ready: impl Fn() -> bool) {
    while !ready() {
        assert_eq!(child.try_wait().unwrap(), None, "{what} ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until the process has used half a second of CPU time, so that its signal handlers are
/// installed.
fn wait_until_at_work(child: &mut Child, what: &str) {
    let stat = format!("/proc/{}/stat", child.id());
    let begun = Instant::now();
    wait_until(child, what, || {
        let Ok(stat) = std::fs::read_to_string(&stat) else {
            // Without /proc, a fixed time must suffice.
            return begun.elapsed() > Duration::from_secs(2);
        };
        // Ticks of 10 ms in user mode: the 12th field after the name in brackets, and the 14th for
        // children that have exited.
        let behind = &stat[stat.rfind(')').unwrap() + 2..];
        let number = |at: usize| behind.split(' ').nth(at).unwrap().parse::<u64>().unwrap();
        number(11) + number(13) > 50
    });
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn interrupt_without_data_exits_and_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (run, forces, film) = (at("run"), at("forces.csv"), at("film.apng"));
    let slow = ["plummer", "-n", "300k", "--engine", "reference"];
    let scene = ["galaxy-collision", "-n", "3M"];
    let cases: [Vec<&str>; 8] = [
        [&["run"], &slow[..], &["--out", &run]].concat(),
        [&["run"], &slow[..], &["--integrator", "hermite6", "--out", &run]].concat(),
        [&["run", "plummer", "-n", "1M", "--engine", "gpu", "--out", &run][..]].concat(),
        [&["run", "plummer", "-n", "1M", "--engine", "cpu", "--out", &run][..]].concat(),
        [&["run"], &scene[..], &["--out", &run]].concat(),
        [&["forces"], &slow[..], &["--jerk", "--out", &forces]].concat(),
        [&["render"], &slow[..], &["--frames", "9", "--out", &film]].concat(),
        vec!["check"],
    ];
    for (args, name) in cases.iter().zip(["-INT", "-TERM"].into_iter().cycle()) {
        let mut child = gravitile(args);
        if args.starts_with(&["run", "plummer"]) {
            wait_until(&mut child, "run", || folder.path().join("run/run.lock").exists());
        }
        wait_until_at_work(&mut child, &args.join(" "));
        signal(&child, name);
        assert_eq!(exit_status(&mut child, &args.join(" ")).code(), Some(130), "{args:?}");
        assert_eq!(names(folder.path()), [""; 0], "{args:?}");
        let mut notes = String::new();
        child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
        assert!(notes.contains("gravitile: stopped"), "{args:?}: {notes}");
    }
}

/// A run whose forces take seconds exits without waiting for them, during its first diagnostics or
/// a step, and can be resumed.
#[test]
fn interrupted_slow_run_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    type Ready<'a> = &'a dyn Fn(&Path) -> bool;
    let stages: [(&str, Ready); 2] = [
        ("diagnostics", &|out| out.join("energy.csv").exists()),
        ("steps", &|out| {
            std::fs::read_to_string(out.join("energy.csv")).is_ok_and(|log| log.lines().count() > 1)
        }),
    ];
    for (what, ready) in stages {
        for more in [&["20k", "leapfrog"][..], &["5k", "hermite4", "--dt-max", "0.0625"]] {
            let out = folder.path().join(format!("{what} {}", more[1]));
            let (args, how) = (["run", "plummer", "--engine", "reference", "-n"], "--integrator");
            let to = ["--until", "1", "--eps", "0.01", "--out", out.to_str().unwrap()];
            let mut child = gravitile(&[&args[..], &more[..1], &[how], &more[1..], &to].concat());
            wait_until(&mut child, what, || ready(&out));
            signal(&child, "-INT");
            assert_eq!(exit_status(&mut child, what).code(), Some(130), "{what}");
            // It can be resumed, and stopped again.
            let mut child = gravitile(&["resume", out.to_str().unwrap()]);
            wait_until_at_work(&mut child, "resume");
            signal(&child, "-TERM");
            assert_eq!(exit_status(&mut child, what).code(), Some(130), "{what}");
            let left = names(&out);
            assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
            for name in ["run.toml", "step_0000000000.gvt", "energy.csv"] {
                assert!(left.iter().any(|left| left == name), "{left:?}");
            }
        }
    }
}

/// Tree steps of 40,000 bodies on a device: exits without waiting for the end of a step.
#[test]
fn interrupted_gpu_tree_run_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let args = ["run", "plummer", "-n", "40k", "--engine", "gpu", "--method", "tree"];
    let more = ["--until", "1000", "--every", "900", "--out", out.to_str().unwrap()];
    let mut child = gravitile(&[&args[..], &more].concat());
    wait_until(&mut child, "run", || {
        std::fs::read_to_string(out.join("energy.csv")).is_ok_and(|log| log.lines().count() > 1)
    });
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "-INT");
    assert_eq!(exit_status(&mut child, "run").code(), Some(130));
    let mut child = gravitile(&["resume", out.to_str().unwrap()]);
    wait_until_at_work(&mut child, "resume");
    signal(&child, "-TERM");
    assert_eq!(exit_status(&mut child, "resume").code(), Some(130));
    let left = names(&out);
    assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
}

#[test]
fn interrupted_film_keeps_finished_frames() {
    let folder = tempfile::tempdir().unwrap();
    let film = folder.path().join("film.apng");
    let args = ["render", "plummer", "-n", "20k", "--engine", "reference", "--size", "64x64"];
    let mut child = gravitile(&[&args[..], &["--out", film.to_str().unwrap()]].concat());
    // The first forces take a second, the steps to the second frame many.
    let part = |names: Vec<String>| names.iter().any(|name| name.ends_with(".part"));
    wait_until(&mut child, "render", || part(names(folder.path())));
    let first = |name: &String| std::fs::metadata(folder.path().join(name)).unwrap().len() > 0;
    wait_until(&mut child, "render", || names(folder.path()).iter().any(first));
    signal(&child, "-INT");
    assert_eq!(exit_status(&mut child, "render").code(), Some(130));
    let left = names(folder.path());
    assert!(left.is_empty() || left == ["film.apng"], "{left:?}");
}

#[test]
fn second_signal_exits_without_partial_files() {
    let folder = tempfile::tempdir().unwrap();
    for (i, pause) in [5, 0, 50].into_iter().enumerate() {
        let out = folder.path().join(i.to_string());
        let args = ["run", "plummer", "-n", "2000", "--until", "1000", "--out"];
        let mut child = gravitile(&[&args[..], &[out.to_str().unwrap()]].concat());
        wait_until(&mut child, "run", || {
            std::fs::read_to_string(out.join("energy.csv")).is_ok_and(|log| !log.is_empty())
        });
        signal(&child, "-STOP");
        signal(&child, "-INT");
        signal(&child, "-CONT");
        std::thread::sleep(Duration::from_millis(pause));
        // The process may have exited already.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert_eq!(exit_status(&mut child, "run").code(), Some(130));
        let left = names(&out);
        assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
    }
}
