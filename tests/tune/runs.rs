//! Runs on individual steps take the shapes that were found when they began, and no others later.

use std::path::{Path, PathBuf};

use super::{gravitile, shapes, text};

/// A cache with tuned shapes that are none of the rule's, an empty one, and where runs go.
struct Caches {
    folder: tempfile::TempDir,
    tuned: PathBuf,
    empty: PathBuf,
}

impl Caches {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [tuned, empty] = ["cache", "empty"].map(|name| folder.path().join(name));
        done(&tuned, &["tune", "--derivatives", "jerk", "-n", "200", "--secs", "2"]);
        let file = tuned.join("tuned.toml");
        let found = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, shapes::unlike_the_rule(&found)).unwrap();
        Self { folder, tuned, empty }
    }

    /// A run of eight steps and two snapshots after the first.
    fn run(&self, cache: &Path, name: &str, more: &[&str]) -> PathBuf {
        let out = self.folder.path().join(name);
        let args =
            ["run", "plummer", "-n", "200", "--eps", "0.05", "--dt", "0.0625", "--every", "0.25"];
        let hermite = ["--integrator", "hermite4", "--engine", "gpu"];
        let last = ["--until", "0.5", "--out", out.to_str().unwrap()];
        done(cache, &[args.as_slice(), &hermite, &last, more].concat());
        out
    }

    /// A copy of a run that was killed before its last snapshot, with the plan of another.
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

fn done(cache: &Path, args: &[&str]) {
    let output = gravitile(cache, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
}

fn plan(out: &Path) -> String {
    std::fs::read_to_string(out.join("run.toml")).unwrap()
}

/// What a run comes to.
fn last(out: &Path) -> [Vec<u8>; 2] {
    ["step_0000000008.gvt", "energy.csv"].map(|name| std::fs::read(out.join(name)).unwrap())
}

const WIDE: [&str; 2] = ["--precision", "double-single"];

#[test]
fn a_run_keeps_the_shapes_that_it_began_with() {
    let caches = Caches::new();
    let [tuned, rule] = [(&caches.tuned, "tuned"), (&caches.empty, "rule")]
        .map(|(cache, name)| caches.run(cache, name, &WIDE));
    assert!(plan(&tuned).contains("[[shapes]]") && plan(&tuned).contains("slices = 3"));
    assert!(!plan(&rule).contains("shapes"), "{}", plan(&rule));
    assert!(last(&tuned)[0] != last(&rule)[0], "another order of sums has other last bits");
    // Each goes on to the same bits, whatever is known of shapes by then.
    for (run, other) in [(&tuned, &caches.empty), (&rule, &caches.tuned)] {
        let cut = caches.cut(run, run);
        done(other, &["resume", cut.to_str().unwrap()]);
        assert!(last(&cut) == last(run));
    }
}

/// Two devices take the shapes, and come to the bits, of one; what was begun on one goes on on two, and the other way
/// round, whatever is known of shapes by then.
#[test]
fn several_devices_keep_them_too() {
    let caches = Caches::new();
    for (cache, other) in [(&caches.tuned, &caches.empty), (&caches.empty, &caches.tuned)] {
        let [one, two] = [("one", "0"), ("two", "0,0")].map(|(name, adapters)| {
            let name = format!("{name}-{}", cache.ends_with("cache"));
            caches.run(cache, &name, &[&WIDE[..], &["--adapter", adapters]].concat())
        });
        assert!(plan(&two).contains("devices = \"2\""), "{}", plan(&two));
        let shapes = |run: &Path| plan(run).matches("[shapes.shape]").count();
        let is_tuned = cache.ends_with("cache");
        assert!(shapes(&one) == shapes(&two) && (shapes(&one) > 2) == is_tuned);
        assert!(last(&one) == last(&two), "one device and two, {}", cache.display());
        for (begun, goes_on) in [(&one, &two), (&two, &one), (&two, &two)] {
            let cut = caches.cut(begun, goes_on);
            done(other, &["resume", cut.to_str().unwrap()]);
            assert!(last(&cut) == last(&one), "{} as {}", begun.display(), goes_on.display());
        }
    }
}
