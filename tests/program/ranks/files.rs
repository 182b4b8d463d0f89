//! Snapshots in a file per rank: the same bodies on any number of ranks, and a run that ends in the
//! middle of a snapshot goes on from the last whole one.

use std::path::Path;
use std::time::Duration;

use gravitile::snapshot::{self, Snapshot};

use super::launched::{Launched, mpirun_shell, rank_processes, texts};
use super::{plummer, run, run_contents, run_without_mpi};

/// The snapshots of a run by name, and its energy log.
fn snapshots(run: &Path) -> (Vec<(String, Snapshot)>, Vec<u8>) {
    let names = run_contents(run).into_iter().map(|(name, _)| name);
    // step_0000000002.gvt, not step_0000000002.0.gvt.
    let indices = names.filter(|name| name.ends_with(".gvt") && name.matches('.').count() == 1);
    let read = indices.map(|name| (name.clone(), snapshot::read(run.join(&name)).unwrap()));
    (read.collect(), std::fs::read(run.join("energy.csv")).unwrap())
}

fn files_of(run: &Path, step: &str) -> usize {
    let names = run_contents(run).into_iter().map(|(name, _)| name);
    names.filter(|name| name.starts_with(&format!("{step}."))).count()
}

#[test]
fn a_file_per_rank_holds_the_bodies_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (engine, options) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("domains", &["--engine", "gpu", "--method", "tree"]),
        ("hermite", &["--engine", "cpu", "--integrator", "hermite4", "--dt-max", "0.0078125"]),
    ] {
        let whole = format!("{engine}-whole");
        run_without_mpi(folder, &plummer("701", &whole, options));
        let whole = snapshots(&folder.join(&whole));
        let spread = [options, &["--files", "ranks"]].concat();
        for count in [2, 3] {
            let out = format!("{engine}{count}");
            if run(folder, count, &plummer("701", &out, &spread)).is_none() {
                return;
            }
            let out = folder.join(out);
            assert!(snapshots(&out) == whole, "{engine} on {count} ranks");
            assert_eq!(files_of(&out, "step_0000000002"), count + 1);
            // As if killed while the files of the snapshot after the second one were written.
            std::fs::remove_file(out.join("step_0000000006.gvt")).unwrap();
            std::fs::remove_file(out.join("step_0000000004.gvt")).unwrap();
            let name = out.file_name().unwrap().to_str().unwrap();
            let texts = run(folder, 5 - count, &["resume", name]).unwrap();
            assert!(texts[0].contains("resuming from step 2 of 6"), "{texts:?}");
            assert!(snapshots(&out) == whole, "{engine} on {count} ranks, resumed");
            assert_eq!(files_of(&out, "step_0000000006"), 5 - count + 1, "none of the old ones");
            // One rank's file is damaged: all go back to the snapshot before.
            let damaged = out.join("step_0000000006.1.gvt");
            let mut bytes = std::fs::read(&damaged).unwrap();
            bytes[5000] ^= 1;
            std::fs::write(&damaged, bytes).unwrap();
            let [stdout, stderr] = run(folder, count, &["resume", name]).unwrap();
            assert!(stdout.contains("resuming from step 4 of 6"), "{stdout}");
            assert!(stderr.contains("step_0000000006.1.gvt"), "{stderr}");
            assert!(snapshots(&out) == whole, "{engine} on {count} ranks, after damage");
        }
    }
    // As many files as asked for, by fewer ranks and by more.
    let domains = ["--engine", "gpu", "--method", "tree"];
    for (count, files, engine, options) in [
        (2, "5", "cpu", &["--engine", "cpu"][..]),
        (3, "2", "cpu", &["--engine", "cpu"]),
        (2, "5", "domains", &domains),
        (3, "2", "domains", &domains),
    ] {
        let (out, options) = (format!("{engine}-{files}"), [options, &["--files", files]].concat());
        run(folder, count, &plummer("701", &out, &options)).unwrap();
        let out = folder.join(out);
        assert!(snapshots(&out) == snapshots(&folder.join(format!("{engine}-whole"))));
        let log = |run: &Path| std::fs::read(run.join("energy.csv")).unwrap();
        assert!(log(&out) == log(&folder.join(format!("{engine}-whole"))), "{engine}, {files}");
        assert_eq!(files_of(&out, "step_0000000000"), files.parse::<usize>().unwrap() + 1);
    }
}

/// A limit on file sizes of one rank, like `ulimit -f`, set in the middle of the run, stands in for
/// the full disk of one machine.
#[test]
#[cfg(target_os = "linux")]
fn full_disk_of_one_rank_ends_all_and_the_run_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args =
        ["run", "plummer", "-n", "1000", "--engine", "cpu", "--dt", "0.0001", "--until", "0.3"];
    let args = [&args[..], &["--every", "0.02", "--out"]].concat();
    run_without_mpi(folder, &[&args[..], &["whole"]].concat());
    for (limited, out) in [(&[1][..], "one"), (&[1, 2], "two"), (&[0], "first")] {
        // With SIGXFSZ ignored a write beyond the limit fails with EFBIG instead of killing the
        // process.
        let words = args.join(" ");
        let script = format!("trap '' XFSZ; exec $gravitile {words} {out} --files ranks");
        let Some(mut command) = mpirun_shell(folder, 3, &script) else { return };
        let written = folder.join(out).join("step_0000000400.gvt");
        let child = Launched::new(&mut command).wait_for_file(&written);
        let full = libc::rlimit { rlim_cur: 2000, rlim_max: 2000 };
        let processes = rank_processes(&child);
        for rank in limited {
            let process = processes[*rank];
            // SAFETY: limits a process that this test has started.
            let limited =
                unsafe { libc::prlimit(process, libc::RLIMIT_FSIZE, &full, std::ptr::null_mut()) };
            assert_eq!(limited, 0);
        }
        let output = child.wait_for_exit(Duration::from_secs(10));
        let [stdout, stderr] = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{stdout} {stderr}");
        let lines: Vec<&str> =
            stderr.lines().filter(|line| line.starts_with("gravitile: ")).collect();
        let [line] = lines[..] else { panic!("one line should say it: {stderr}") };
        // Of two ranks that fail together either one may be the first to say so.
        let says = |rank: &usize| line.starts_with(&format!("gravitile: rank {rank} on "));
        assert!(limited.iter().any(says), "{limited:?}: {line}");
        for words in [format!("cannot write {out}/step_"), format!("gravitile resume {out}")] {
            assert!(line.contains(&words), "{words}: {line}");
        }
        assert!(!folder.join(out).join("step_0000003000.gvt").exists(), "not at its end");
        run(folder, 2, &["resume", out]).unwrap();
        assert!(snapshots(&folder.join(out)) == snapshots(&folder.join("whole")), "{out}");
        let left = std::fs::read_dir(folder.join(out)).unwrap();
        let hidden = left.filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".gravitile-")
        });
        assert_eq!(hidden.count(), 0, "temporary files should be gone");
    }
}
