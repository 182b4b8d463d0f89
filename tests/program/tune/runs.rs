//! Runs with individual steps keep the tuned kernel shapes with which they started.

use std::path::{Path, PathBuf};

use super::{gravitile, shapes, text};

/// A cache with tuned shapes that differ from the default rule's, an empty cache, and a folder for
/// runs.
struct Caches {
    folder: tempfile::TempDir,
    tuned: PathBuf,
    empty: PathBuf,
}

impl Caches {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [tuned, empty] = ["cache", "empty"].map(|name| folder.path().join(name));
        assert_succeeds(&tuned, &["tune", "--derivatives", "jerk", "-n", "200", "--secs", "2"]);
        let file = tuned.join("tuned.toml");
        let found = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, shapes::unlike_the_rule(&found)).unwrap();
        Self { folder, tuned, empty }
    }

    /// Runs eight steps with snapshots at steps 0, 4 and 8.
    fn run(&self, cache: &Path, name: &str, options: &[&str]) -> PathBuf {
        let out = self.folder.path().join(name);
        let args =
            ["run", "plummer", "-n", "200", "--eps", "0.05", "--dt", "0.0625", "--every", "0.25"];
        let hermite = ["--integrator", "hermite4", "--engine", "gpu"];
        let result = ["--until", "0.5", "--out", out.to_str().unwrap()];
        assert_succeeds(cache, &[args.as_slice(), &hermite, &result, options].concat());
        out
    }

    /// A copy of `run` as if killed before its last snapshot, with the plan of another run.
    fn cut(&self, run: &Path, plan: &Path) -> PathBuf {
        let out = self.folder.path().join("cut");
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        for name in ["energy.csv", "step_0000000000.gvt", "step_0000000004.gvt"] {
            std::fs::copy(run.join(name), out.join(name)).unwrap();
        }
        std::fs::copy(plan.join("run.toml"), out.join("run.toml")).unwrap();
        out
    }
}

fn assert_succeeds(cache: &Path, args: &[&str]) {
    let output = gravitile(cache, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
}

fn plan(out: &Path) -> String {
    std::fs::read_to_string(out.join("run.toml")).unwrap()
}

/// The last snapshot and the energy log.
fn result(out: &Path) -> [Vec<u8>; 2] {
    ["step_0000000008.gvt", "energy.csv"].map(|name| std::fs::read(out.join(name)).unwrap())
}

const DOUBLE_SINGLE: [&str; 2] = ["--precision", "double-single"];

#[test]
fn run_keeps_the_kernel_shapes_it_started_with() {
    let caches = Caches::new();
    let [tuned, rule] = [(&caches.tuned, "tuned"), (&caches.empty, "rule")]
        .map(|(cache, name)| caches.run(cache, name, &DOUBLE_SINGLE));
    assert!(plan(&tuned).contains("[[shapes]]") && plan(&tuned).contains("slices = 3"));
    assert!(!plan(&rule).contains("shapes"), "{}", plan(&rule));
    assert!(result(&tuned)[0] != result(&rule)[0], "another order of sums has other last bits");
    // Each resumes to the same bits, whatever shapes are in the cache by then.
    for (run, other) in [(&tuned, &caches.empty), (&rule, &caches.tuned)] {
        let cut = caches.cut(run, run);
        assert_succeeds(other, &["resume", cut.to_str().unwrap()]);
        assert!(result(&cut) == result(run));
    }
}

/// Two devices use the shapes of one and give the same bits. A run started on one device resumes on
/// two, and vice versa, whatever shapes are in the cache by then.
#[test]
fn run_on_several_devices_keeps_its_kernel_shapes() {
    let caches = Caches::new();
    for (cache, other) in [(&caches.tuned, &caches.empty), (&caches.empty, &caches.tuned)] {
        let [one, two] = [("one", "0"), ("two", "0,0")].map(|(name, adapters)| {
            let name = format!("{name}-{}", cache.ends_with("cache"));
            caches.run(cache, &name, &[&DOUBLE_SINGLE[..], &["--adapter", adapters]].concat())
        });
        assert!(plan(&two).contains("devices = \"2\""), "{}", plan(&two));
        let shapes = |run: &Path| plan(run).matches("[shapes.shape]").count();
        let is_tuned = cache.ends_with("cache");
        assert!(shapes(&one) == shapes(&two) && (shapes(&one) > 2) == is_tuned);
        assert!(result(&one) == result(&two), "one device and two, {}", cache.display());
        for (started, resumed) in [(&one, &two), (&two, &one), (&two, &two)] {
            let cut = caches.cut(started, resumed);
            assert_succeeds(other, &["resume", cut.to_str().unwrap()]);
            assert!(result(&cut) == result(&one), "{} as {}", started.display(), resumed.display());
        }
    }
}
