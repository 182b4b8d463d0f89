//! Block steps on ranks with tuned kernel shapes: those of rank 0 at the start of the run are used,
//! and shapes tuned later are ignored.

use std::path::{Path, PathBuf};

use super::launched::{mpirun_shell, ranks, texts};
use super::shapes::unlike_the_rule;
use super::{plummer, run_contents};

/// Runs the program with the cache folder `cache` on `count` ranks (0: without a launcher) and
/// returns its standard output.
fn run(folder: &Path, cache: &Path, count: usize, args: &[&str]) -> Option<String> {
    let mut command = match count {
        0 => {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gravitile"));
            command.current_dir(folder);
            command
        }
        count => ranks(folder, count)?,
    };
    let output = command.env("GRAVITILE_CACHE_DIR", cache).args(args).output().unwrap();
    assert!(output.status.success(), "{count} ranks, {args:?}: {:?}", texts(&output));
    Some(texts(&output)[0].clone())
}

/// A copy of a run that was killed after its second snapshot.
fn interrupted_copy(run: &Path) -> PathBuf {
    let interrupted_copy = run.with_extension("cut");
    let _ = std::fs::remove_dir_all(&interrupted_copy);
    std::fs::create_dir(&interrupted_copy).unwrap();
    for name in ["run.toml", "energy.csv", "step_0000000000.gvt", "step_0000000002.gvt"] {
        std::fs::copy(run.join(name), interrupted_copy.join(name)).unwrap();
    }
    interrupted_copy
}

/// Both with block steps on the devices of all ranks, and on the hosts with forces from the
/// devices. With the latter each rank computes a range of the sinks, a smaller number than all.
#[test]
fn ranks_use_and_keep_the_kernel_shapes_of_rank_0() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [tuned, empty] = ["tuned", "empty"].map(|name| folder.join(name));
    if ranks(folder, 1).is_none() {
        return;
    }
    let tune = ["tune", "--derivatives", "jerk", "-n", "250", "--secs", "2"];
    run(folder, &tuned, 0, &tune).unwrap();
    let file = tuned.join("tuned.toml");
    let found = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, unlike_the_rule(&found)).unwrap();

    let hermite = ["--engine", "gpu", "--integrator", "hermite4", "--dt-max", "0.0078125"];
    let hermite = [&hermite[..], &["--precision", "double-single"]].concat();
    let on_hosts = [&hermite[..], &["--host-blocks"]].concat();
    for (place, args) in [("devices", &hermite), ("hosts", &on_hosts)] {
        let named = |name: &str| format!("{name}-{place}");
        let content_of = |name: &str| run_contents(&folder.join(name));
        let [with, without] = [("with", &tuned), ("without", &empty)].map(|(name, cache)| {
            run(folder, cache, 0, &plummer("250", &named(name), args)).unwrap();
            content_of(&named(name))
        });
        assert!(with.len() == 5 && with != without, "another order of sums has other last bits");
        let two_each = [&args[..], &["--adapter", "0,0"]].concat();
        let shared = (place == "devices").then_some((2, &two_each));
        for (count, args) in [(3, args)].into_iter().chain(shared) {
            let out = named(&format!("r{count}"));
            let stdout = run(folder, &tuned, count, &plummer("250", &out, args)).unwrap();
            assert!(content_of(&out) == with, "{count} ranks, {stdout}");
            // Resumed without a launcher and without tuned shapes.
            let interrupted_copy = interrupted_copy(&folder.join(&out));
            run(folder, &empty, 0, &["resume", interrupted_copy.to_str().unwrap()]).unwrap();
            assert!(run_contents(&interrupted_copy) == with, "{out} by itself");
        }
        for (name, is_tuned) in [("with", true), ("without", false)] {
            // Started without a launcher, resumed on ranks with other shapes in their cache.
            let interrupted_copy = interrupted_copy(&folder.join(named(name)));
            let cache = if is_tuned { &empty } else { &tuned };
            run(folder, cache, 2, &["resume", interrupted_copy.to_str().unwrap()]).unwrap();
            assert!(
                run_contents(&interrupted_copy) == content_of(&named(name)),
                "{name} on 2 ranks"
            );
            // Only rank 0 has tuned shapes, or only rank 1.
            let out = named(&format!("first-{name}"));
            let caches = if is_tuned { [&tuned, &empty] } else { [&empty, &tuned] };
            let [first, second] = caches.map(|cache| cache.display());
            let script = format!(
                "GRAVITILE_CACHE_DIR={first}; [ $rank = 0 ] || GRAVITILE_CACHE_DIR={second}; export GRAVITILE_CACHE_DIR; exec $gravitile {}",
                plummer("250", &out, args).join(" ")
            );
            let output = mpirun_shell(folder, 2, &script).unwrap().output().unwrap();
            assert!(output.status.success(), "{:?}", texts(&output));
            assert!(content_of(&out) == content_of(&named(name)), "the first rank's: {name}");
        }
    }
}
