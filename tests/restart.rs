//! A run that is stopped or killed goes on to the same bits.
#![cfg(all(feature = "cli", unix))]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn gravitile(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
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
        let there = std::fs::read_dir(out).map_or(0, |entries| entries.count());
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

fn killed_at_random_moments(engine: &str, kills: u32) {
    killed(&|out| run(engine, out), engine, kills);
}

fn killed(run: &dyn Fn(&Path) -> Command, engine: &str, kills: u32) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    assert!(run(&whole).status().unwrap().success());
    let expected = ending(&whole);

    let broken = folder.path().join("broken");
    let mut child = run(&broken).spawn().unwrap();
    let mut state = 0x1234_5678_9abc_def1u64;
    for _ in 0..kills {
        // Xorshift: moments that differ, and are the same in every run of the test.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_micros(state % 150_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // Killed before there was anything to go on with, it is begun again.
        child = if broken.join("run.toml").exists() {
            resume(&broken).spawn().unwrap()
        } else {
            let _ = std::fs::remove_dir_all(&broken);
            run(&broken).spawn().unwrap()
        };
    }
    assert!(child.wait().unwrap().success());
    let (snapshot, log) = ending(&broken);
    assert!(snapshot == expected.0, "{engine}: the last snapshot differs");
    assert_eq!(log, expected.1, "{engine}: the energy log differs");
}

#[test]
fn killed_on_the_cpu() {
    killed_at_random_moments("cpu", 20);
}

#[test]
fn killed_on_the_gpu() {
    killed_at_random_moments("gpu", 20);
}

#[test]
fn killed_with_individual_steps() {
    for integrator in ["hermite4", "hermite6"] {
        killed(&|out| run_blocks(integrator, out), integrator, 10);
    }
}

#[test]
fn ctrl_c_writes_a_last_snapshot() {
    for engine in ["cpu", "gpu"] {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole");
        assert!(run(engine, &whole).status().unwrap().success());
        let out = folder.path().join("run");
        let mut child = run(engine, &out).spawn().unwrap();
        wait_for_snapshots(&out, 4, &mut child);
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        let code = child.wait().unwrap().code();
        if out.join(STEPS).exists() {
            // Faster than the signal; then there is nothing to go on with.
            assert_eq!(code, Some(0));
            continue;
        }
        assert_eq!(code, Some(130), "{engine}");
        assert!(resume(&out).status().unwrap().success());
        let (snapshot, _) = ending(&out);
        assert!(snapshot == ending(&whole).0, "{engine}: the last snapshot differs");
    }
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
