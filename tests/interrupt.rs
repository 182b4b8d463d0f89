//! Ctrl-C and SIGTERM: answered at once, whatever is computed, and nothing half done is left.
#![cfg(all(feature = "cli", unix))]

#[path = "common/program.rs"]
mod program;

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Answers take less than a second on a machine that has nothing else to do; what they break off here takes
/// minutes.
const LONG: Duration = Duration::from_secs(20);

fn gravitile(args: &[&str]) -> Child {
    let mut command = program::program();
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits for the answer to a signal.
fn ended(child: &mut Child, what: &str) -> ExitStatus {
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

/// The process listens, and has computed for a while: half a second of the processors' time.
fn wait_until_at_work(child: &mut Child, what: &str) {
    let stat = format!("/proc/{}/stat", child.id());
    let begun = Instant::now();
    wait_until(child, what, || {
        let Ok(stat) = std::fs::read_to_string(&stat) else {
            // Where nothing tells, some time must do.
            return begun.elapsed() > Duration::from_secs(2);
        };
        // Ticks of 10 ms in user mode, the 12th number behind the name in brackets, and those of children that have
        // ended, the 14th.
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
fn what_has_nothing_to_save_ends_at_once_and_leaves_nothing() {
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
        assert_eq!(ended(&mut child, &args.join(" ")).code(), Some(130), "{args:?}");
        assert_eq!(names(folder.path()), [""; 0], "{args:?}");
    }
}

/// A run whose forces take seconds, in its first diagnostics or a step: it ends without waiting for them,
/// and can be resumed.
#[test]
fn a_slow_run_ends_and_can_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    type Ready<'a> = &'a dyn Fn(&Path) -> bool;
    let wanted: [(&str, Ready); 2] = [
        ("diagnostics", &|out| out.join("energy.csv").exists()),
        ("steps", &|out| {
            std::fs::read_to_string(out.join("energy.csv")).is_ok_and(|log| log.lines().count() > 1)
        }),
    ];
    for (what, ready) in wanted {
        for more in [&["20k", "leapfrog"][..], &["5k", "hermite4", "--dt-max", "0.0625"]] {
            let out = folder.path().join(format!("{what} {}", more[1]));
            let (args, how) = (["run", "plummer", "--engine", "reference", "-n"], "--integrator");
            let to = ["--until", "1", "--eps", "0.01", "--out", out.to_str().unwrap()];
            let mut child = gravitile(&[&args[..], &more[..1], &[how], &more[1..], &to].concat());
            wait_until(&mut child, what, || ready(&out));
            signal(&child, "-INT");
            assert_eq!(ended(&mut child, what).code(), Some(130), "{what}");
            // It can be resumed, and stopped again.
            let mut child = gravitile(&["resume", out.to_str().unwrap()]);
            wait_until_at_work(&mut child, "resume");
            signal(&child, "-TERM");
            assert_eq!(ended(&mut child, what).code(), Some(130), "{what}");
            let left = names(&out);
            assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
            for name in ["run.toml", "step_0000000000.gvt", "energy.csv"] {
                assert!(left.iter().any(|left| left == name), "{left:?}");
            }
        }
    }
}

/// Steps of 40,000 bodies by the tree on a device: pieces of a step are none to wait for.
#[test]
fn a_run_by_the_tree_on_a_device_ends_and_can_be_gone_on_with() {
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
    assert_eq!(ended(&mut child, "run").code(), Some(130));
    let mut child = gravitile(&["resume", out.to_str().unwrap()]);
    wait_until_at_work(&mut child, "resume");
    signal(&child, "-TERM");
    assert_eq!(ended(&mut child, "resume").code(), Some(130));
    let left = names(&out);
    assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
}

#[test]
fn a_film_that_is_stopped_holds_what_was_filmed() {
    let folder = tempfile::tempdir().unwrap();
    let film = folder.path().join("film.apng");
    let args = ["render", "plummer", "-n", "20k", "--engine", "reference", "--size", "64x64"];
    let mut child = gravitile(&[&args[..], &["--out", film.to_str().unwrap()]].concat());
    // Its first forces take a second; the steps to the second picture, many.
    let part = |names: Vec<String>| names.iter().any(|name| name.ends_with(".part"));
    wait_until(&mut child, "render", || part(names(folder.path())));
    let first = |name: &String| std::fs::metadata(folder.path().join(name)).unwrap().len() > 0;
    wait_until(&mut child, "render", || names(folder.path()).iter().any(first));
    signal(&child, "-INT");
    assert_eq!(ended(&mut child, "render").code(), Some(130));
    let left = names(folder.path());
    assert!(left.is_empty() || left == ["film.apng"], "{left:?}");
}

#[test]
fn the_second_signal_ends_it_whatever_it_is_at() {
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
        // It may have ended already.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert_eq!(ended(&mut child, "run").code(), Some(130));
        let left = names(&out);
        assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
    }
}
