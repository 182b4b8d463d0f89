//! Device loss on a rank, by a Vulkan layer (`lose.c`): all ranks end, one line names the rank, and
//! the run resumed from its last snapshot gives the bits of an undisturbed one.

use std::path::Path;
use std::time::Duration;

use super::launched::{Launched, mpirun_shell, texts};
use super::lose::{ENVIRONMENT, layer};
use super::{run, run_contents, run_without_mpi};

const WHAT: &str = "ranks that lose a device";

/// The ranks' shell script: the rank `loser` loses its device once the file `lost` exists.
fn script(loser: usize, lost: &Path, args: &[&str]) -> String {
    let layer = ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).join(" ");
    let (lost, args) = (lost.display(), args.join(" "));
    format!("[ $rank = {loser} ] && export {layer} LOSE_DEVICE='{lost}'; exec $gravitile {args}")
}

/// Runs on `count` ranks into the folder `out`, loses the device of the rank `loser` after a few
/// snapshots, and checks the report.
fn run_and_lose_device(folder: &Path, (count, loser): (usize, usize), out: &str, options: &str) {
    let lost = folder.join(format!("{out} is lost"));
    let script = script(loser, &lost, &args(out, options));
    let Some(mut command) = mpirun_shell(folder, count, &script) else { return };
    let written = folder.join(out).join("step_0000000040.gvt");
    let child = Launched::new(&mut command).wait_for_file(&written);
    std::fs::write(&lost, "").unwrap();
    let output = child.wait_for_exit(Duration::from_secs(10));
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{out}: {stdout} {stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("{out}: one line should say it: {stderr}") };
    assert!(line.starts_with(&format!("gravitile: rank {loser} on ")), "{out}: {line}");
    for words in ["device was lost", &format!("gravitile resume {out}")] {
        assert!(line.contains(words), "{out}: {words}: {line}");
    }
    assert!(!stderr.contains("panicked"), "{out}: {stderr}");
}

fn args<'a>(out: &'a str, options: &'a str) -> Vec<&'a str> {
    let begin = ["run", "plummer", "-n", "301", "--engine", "gpu"];
    [&begin[..], &["--out", out], &options.split(' ').collect::<Vec<_>>()].concat()
}

fn assert_resumes_after_device_loss(cases: &[(usize, usize, &str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if mpirun_shell(folder, 1, "").is_none() || !layer(folder, WHAT) {
        return;
    }
    for (count, loser, out, options) in cases {
        run_and_lose_device(folder, (*count, *loser), out, options);
        let whole = format!("{out}-whole");
        run_without_mpi(folder, &args(&whole, options));
        let [left, all] = [*out, &whole].map(|run| run_contents(&folder.join(run)).len());
        assert!(left < all, "{out}: it should not have come to its end");
        // Resumed on the remaining number of ranks.
        run(folder, count - 1, &["resume", out]).unwrap();
        assert!(run_contents(&folder.join(out)) == run_contents(&folder.join(&whole)), "{out}");
    }
}

const LEAPFROG: &str = "--dt 0.001 --until 1 --every 0.02";

#[test]
fn lost_device_is_named_and_ends_all_ranks() {
    assert_resumes_after_device_loss(&[(4, 2, "another", LEAPFROG), (2, 0, "first", LEAPFROG)]);
}

#[test]
#[ignore = "takes minutes: script/test --long"]
fn device_loss_with_trees_and_block_steps() {
    let tree = "--dt 0.001 --until 0.3 --every 0.02 --method tree";
    let blocks = "--integrator hermite4 --dt-max 0.0009765625 --dt 0.0009765625 --until 0.15625 --every 0.01953125";
    assert_resumes_after_device_loss(&[
        (4, 3, "tree", tree),
        (3, 1, "tree-of-three", tree),
        (4, 0, "blocks", blocks),
        (3, 1, "more-blocks", blocks),
        (2, 1, "blocks-of-hosts", &format!("{blocks} --precision single")),
    ]);
}

/// The device is lost before the first snapshot.
#[test]
fn device_lost_before_the_first_snapshot_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if mpirun_shell(folder, 1, "").is_none() || !layer(folder, WHAT) {
        return;
    }
    let script = script(1, Path::new("lose.json"), &args("begun", LEAPFROG));
    let Some(mut command) = mpirun_shell(folder, 3, &script) else { return };
    let output = Launched::new(&mut command).wait_for_exit(Duration::from_secs(20));
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout} {stderr}");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("one line should say it: {stderr}") };
    assert!(line.starts_with("gravitile: rank 1 on ") && line.contains("lost"), "{line}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}
