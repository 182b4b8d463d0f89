//! A rank whose device is lost, by a layer between it and its driver (`lose.c`): all ranks end, one line says whose it was,
//! and the run goes on from its last snapshot to the bits that it would have had.

use std::path::Path;
use std::time::Duration;

use super::launched::{Launched, ranks_by_shell, texts};
use super::lose::{ENVIRONMENT, layer};
use super::{alone, content, run};

const WHAT: &str = "ranks that lose a device";

/// A rank's script, in which one of them loses its device once the file `lost` is there.
fn script(loser: usize, lost: &Path, args: &[&str]) -> String {
    let layer = ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).join(" ");
    let (lost, args) = (lost.display(), args.join(" "));
    format!("[ $rank = {loser} ] && export {layer} LOSE_DEVICE='{lost}'; exec $gravitile {args}")
}

/// Runs `more` on `count` ranks into the folder `out`, and loses the device of the `loser`-th once a few snapshots are there.
fn loses(folder: &Path, (count, loser): (usize, usize), out: &str, more: &str) {
    let lost = folder.join(format!("{out} is lost"));
    let script = script(loser, &lost, &args(out, more));
    let Some(mut command) = ranks_by_shell(folder, count, &script) else { return };
    let written = folder.join(out).join("step_0000000040.gvt");
    let child = Launched::new(&mut command).having_written(&written);
    std::fs::write(&lost, "").unwrap();
    let output = child.ended(Duration::from_secs(10));
    let [said, noted] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{out}: {said} {noted}");
    let lines: Vec<&str> = noted.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("{out}: one line should say it: {noted}") };
    assert!(line.starts_with(&format!("gravitile: rank {loser} on ")), "{out}: {line}");
    for words in ["device was lost", &format!("gravitile resume {out}")] {
        assert!(line.contains(words), "{out}: {words}: {line}");
    }
    assert!(!noted.contains("panicked"), "{out}: {noted}");
}

fn args<'a>(out: &'a str, more: &'a str) -> Vec<&'a str> {
    let begin = ["run", "plummer", "-n", "301", "--engine", "gpu"];
    [&begin[..], &["--out", out], &more.split(' ').collect::<Vec<_>>()].concat()
}

fn loses_and_goes_on(ways: &[(usize, usize, &str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if ranks_by_shell(folder, 1, "").is_none() || !layer(folder, WHAT) {
        return;
    }
    for (count, loser, out, more) in ways {
        loses(folder, (*count, *loser), out, more);
        let whole = format!("{out}-whole");
        alone(folder, &args(&whole, more));
        let [left, all] = [*out, &whole].map(|run| content(&folder.join(run)).len());
        assert!(left < all, "{out}: it should not have come to its end");
        // On as many ranks as are left.
        run(folder, count - 1, &["resume", out]).unwrap();
        assert!(content(&folder.join(out)) == content(&folder.join(&whole)), "{out}");
    }
}

const LEAPFROG: &str = "--dt 0.001 --until 1 --every 0.02";

#[test]
fn a_device_that_is_lost_is_named_and_ends_all_ranks() {
    loses_and_goes_on(&[(4, 2, "another", LEAPFROG), (2, 0, "first", LEAPFROG)]);
}

#[test]
#[ignore = "takes minutes: script/test --long"]
fn so_it_is_with_trees_and_block_steps() {
    let tree = "--dt 0.001 --until 0.3 --every 0.02 --method tree";
    let blocks = "--integrator hermite4 --dt-max 0.0009765625 --dt 0.0009765625 --until 0.15625 --every 0.01953125";
    loses_and_goes_on(&[
        (4, 3, "tree", tree),
        (4, 0, "blocks", blocks),
        (3, 1, "more-blocks", blocks),
        (2, 1, "blocks-of-hosts", &format!("{blocks} --precision single")),
    ]);
}

/// Before there is anything to go on from.
#[test]
fn a_device_that_is_lost_from_the_beginning_is_named_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if ranks_by_shell(folder, 1, "").is_none() || !layer(folder, WHAT) {
        return;
    }
    let script = script(1, Path::new("lose.json"), &args("begun", LEAPFROG));
    let Some(mut command) = ranks_by_shell(folder, 3, &script) else { return };
    let output = Launched::new(&mut command).ended(Duration::from_secs(20));
    let [said, noted] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{said} {noted}");
    let lines: Vec<&str> = noted.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("one line should say it: {noted}") };
    assert!(line.starts_with("gravitile: rank 1 on ") && line.contains("lost"), "{line}");
    assert!(!noted.contains("panicked"), "{noted}");
}
