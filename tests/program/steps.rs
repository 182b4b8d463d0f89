//! A run has from 1 to 2^53 steps, each of which changes the time; anything else is refused at
//! once.

use crate::program;

use std::process::Stdio;
use std::time::{Duration, Instant};

use gravitile::bodies::Bodies;
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Settings, Simulation};

/// Expects exit code 2 within 60 s, and one short line on standard error that contains all `words`.
fn assert_refused(args: &[&str], words: &[&str]) {
    let mut command = program::program();
    let mut child =
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{args:?} runs and runs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(error.lines().count() == 1 && error.len() < 400, "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?} should say '{word}': {error}");
    }
}

const COUNT: &str = "from 1 to 2^53";

#[test]
fn invalid_step_counts_in_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (run, film) = (folder.path().join("run"), folder.path().join("film.apng"));
    let cases: [(&[&str], &str); 7] = [
        (&["--dt", "1e-320"], "dt is 1e-320"),
        (&["--dt", "1e-300"], COUNT),
        (&["--until", "1e300"], COUNT),
        (&["--until", "1e-320"], COUNT),
        (&["--dt", "1e308"], COUNT),
        (&["--dt", "1e-20", "--until", "1e-3"], COUNT),
        (&["--until", "inf"], "--until is inf"),
    ];
    for (options, words) in cases {
        let common = ["plummer", "-n", "20", "--engine", "cpu", "--out"];
        assert_refused(
            &[&["run"], &common[..], &[run.to_str().unwrap()], options].concat(),
            &[words],
        );
        let to = [film.to_str().unwrap(), "--size", "32x32", "--frames", "3"];
        // Frames are evenly spaced in time, and steps are shortened to their interval: a large dt
        // is valid.
        if options == ["--dt", "1e308"] {
            continue;
        }
        let words = if options == ["--until", "1e-320"] { "dt is" } else { words };
        assert_refused(&[&["render"], &common[..], &to, options].concat(), &[words]);
    }
    // Far from t = 0 small steps no longer change the time.
    let late = folder.path().join("late.csv");
    let text = "#: time = 1e9\nid,m,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,1,0\n";
    std::fs::write(&late, text).unwrap();
    let at = gravitile::snapshot::read(&late).unwrap().time;
    if at == 1e9 {
        let args = ["run", late.to_str().unwrap(), "--engine", "cpu", "--out"];
        let options = [run.to_str().unwrap(), "--dt", "1e-8", "--until", "1000000001"];
        assert_refused(&[&args[..], &options].concat(), &["dt is 1e-8", "another finite time"]);
    } else {
        panic!("the table's time is {at}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but late.csv");
}

#[test]
fn invalid_step_counts_in_scene_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.toml");
    for (lines, line) in [
        ("dt = 1e-320", "line 3"),
        ("until = 1e300", "line 3"),
        ("until = 1e-320", "line 3"),
        ("until = 1.0\ndt = 1e308", "line 4"),
    ] {
        let text = format!("generator = \"plummer\"\n[run]\n{lines}\n");
        let error = Scene::from_toml(&text, &path).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(COUNT), "{error}");
        std::fs::write(&path, text).unwrap();
        let run = folder.path().join("run");
        let args = ["run", path.to_str().unwrap(), "--out", run.to_str().unwrap()];
        assert_refused(&args, &[line, COUNT]);
    }
    let text = "generator = \"plummer\"\n[run]\nuntil = 0.5\ndt = 1.0\n";
    Scene::from_toml(text, &path).unwrap();
}

#[test]
fn invalid_step_counts_in_the_library_are_refused() {
    let bodies = || -> Bodies {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(10).unwrap();
        scene.build().unwrap()
    };
    let valid = Settings { engine: EngineKind::Cpu, ..Settings::default() };
    for invalid in [
        Settings { dt: 1e-320, ..valid.clone() },
        Settings { dt: 1e-9, start: 1e9, ..valid.clone() },
        Settings { dt: 1e308, start: 1e308, ..valid.clone() },
        Settings { dt: 1e300, steps_before: 1 << 40, ..valid.clone() },
        Settings { steps_before: (1 << 53) + 1, ..valid.clone() },
    ] {
        assert!(invalid.validate().is_err(), "{invalid:?}");
        assert!(Simulation::new(bodies(), invalid).is_err());
    }
    let mut sim = Simulation::new(bodies(), valid).unwrap();
    assert!(sim.run_until(1e300).unwrap_err().to_string().contains(COUNT));
    assert!(sim.set_dt(1e-320).is_err() && sim.set_dt(f64::INFINITY).is_err());
    sim.run_until(0.02).unwrap();
    assert!(sim.set_dt(1e-19).is_err());
    sim.run_until(0.01).unwrap();
    assert_eq!(sim.steps(), 2);
}
