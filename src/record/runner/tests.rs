use super::*;
use crate::sim::{EngineKind, Settings};

fn simulation() -> (Simulation, Snapshot) {
    let mut scene = crate::scene::Scene::builtin("plummer").unwrap();
    scene.set_n(64).unwrap();
    let bodies = scene.build().unwrap();
    let settings =
        Settings { engine: EngineKind::Cpu, softening: 0.05, dt: 0.01, ..Settings::default() };
    (Simulation::new(bodies.clone(), settings).unwrap(), Snapshot::new(bodies, 0.0))
}

/// Begins a run of 12 steps and 6 snapshots in its own folder.
fn begun(at: &std::path::Path, sim: &Simulation, first: &Snapshot) -> RunFolder {
    let plan = crate::record::Plan::of(sim, "plummer".to_owned(), 12, 2);
    RunFolder::prepare(at).unwrap().begin(plan, first).unwrap()
}

#[test]
fn failed_snapshot_write_ends_run_with_error() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path().join("run");
    let (mut sim, first) = simulation();
    let folder = begun(&at, &sim, &first);
    let mut log = EnergyLog::open(&at, None).unwrap();
    let mut watch = |steps| {
        if steps == 3 {
            while !std::fs::read_to_string(at.join("energy.csv")).unwrap().contains("\n2,") {
                std::thread::yield_now();
            }
            // Files already written stay, and none is added.
            std::fs::rename(&at, place.path().join("elsewhere")).unwrap();
        }
        true
    };
    let outcome = run(&mut sim, &folder, &mut log, &first, &mut watch, &mut |_| {});
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("step_0000000004.gvt") && error.contains("no folder"), "{error}");
    assert!(error.contains(&format!("gravitile resume {}", at.display())), "{error}");
    let moved = place.path().join("elsewhere");
    let log = std::fs::read_to_string(moved.join("energy.csv")).unwrap();
    let rows: Vec<_> = log.lines().filter_map(|row| row.split(',').next()).collect();
    assert_eq!(rows, ["step", "0", "2"]);
    assert!(moved.join("step_0000000002.gvt").exists());
}

/// The log is a full pipe: no row can be written before a reader drains it, which the step callback
/// does. If rows were written between the steps, the test would deadlock.
#[cfg(unix)]
#[test]
fn steps_are_taken_while_files_are_written() {
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    let place = tempfile::tempdir().unwrap();
    let at = place.path().join("run");
    let (mut sim, first) = simulation();
    let folder = begun(&at, &sim, &first);
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    fill(&mut writer);
    let (is_read, in_time) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let (read, late) = (Arc::clone(&is_read), Arc::clone(&in_time));
    let mut text = String::new();
    std::thread::scope(|scope| {
        let file = std::fs::File::from(std::os::fd::OwnedFd::from(writer));
        let reading = scope.spawn(move || {
            let begun = std::time::Instant::now();
            while !read.load(Ordering::SeqCst) {
                // Reached only if the test fails.
                if begun.elapsed().as_secs() > 20 {
                    late.store(false, Ordering::SeqCst);
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        let mut log = EnergyLog::into(file);
        // The first row is being written, and the step after it has begun.
        let mut watch = |steps| {
            is_read.fetch_or(steps >= 2, Ordering::SeqCst);
            true
        };
        let outcome = run(&mut sim, &folder, &mut log, &first, &mut watch, &mut |_| {}).unwrap();
        assert!(outcome.complete && outcome.last.is_some());
        drop(log);
        text = reading.join().unwrap();
    });
    assert!(in_time.load(Ordering::SeqCst), "the steps waited for the log");
    let rows: Vec<_> =
        text.trim_start_matches(' ').lines().filter_map(|row| row.split(',').next()).collect();
    assert_eq!(rows, ["step", "0", "2", "4", "6", "8", "10", "12"]);

    /// Fills the pipe with spaces.
    fn fill(writer: &mut std::io::PipeWriter) {
        use std::os::fd::AsRawFd;
        let descriptor = writer.as_raw_fd();
        let blocking = |yes: bool| {
            // SAFETY: fcntl on a descriptor that `writer` keeps open; it changes only status flags.
            unsafe {
                let flags = libc::fcntl(descriptor, libc::F_GETFL);
                let flags = match yes {
                    true => flags & !libc::O_NONBLOCK,
                    false => flags | libc::O_NONBLOCK,
                };
                assert_eq!(libc::fcntl(descriptor, libc::F_SETFL, flags), 0);
            }
        };
        blocking(false);
        while writer.write(&[b' '; 4096]).is_ok() {}
        while writer.write(b" ").is_ok() {}
        blocking(true);
    }
}
