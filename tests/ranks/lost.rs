//! A rank whose device is lost, by a layer between it and its driver (`lose.c`): all ranks end, one line says whose it was,
//! and the run goes on from its last snapshot to the bits that it would have had.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::launched::{Launched, ranks_by_shell, texts};
use super::{alone, content, run, skip};

/// Puts the layer into `folder`. Without a C compiler it is said that it is left out.
fn layer(folder: &Path) -> Option<()> {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ranks"));
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([folder.join("liblose.so"), source.join("lose.c")])
        .status();
    let Ok(made) = made else {
        skip::skipped("ranks that lose a device", "there is no C compiler");
        return None;
    };
    assert!(made.success());
    std::fs::copy(source.join("lose.json"), folder.join("lose.json")).unwrap();
    Some(())
}

/// Runs `more` on `count` ranks into the folder `out`, and loses the device of the `loser`-th once a few snapshots are there.
fn loses(folder: &Path, (count, loser): (usize, usize), out: &str, more: &str) {
    let lost = folder.join(format!("{out} is lost"));
    let script = format!(
        "[ $rank = {loser} ] && export VK_LAYER_PATH=. VK_INSTANCE_LAYERS=VK_LAYER_GRAVITILE_lose LOSE_DEVICE='{}'; exec $gravitile {}",
        lost.display(),
        args(out, more).join(" "),
    );
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
    if ranks_by_shell(folder, 1, "").is_none() || layer(folder).is_none() {
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
    if ranks_by_shell(folder, 1, "").is_none() || layer(folder).is_none() {
        return;
    }
    let script = format!(
        "[ $rank = 1 ] && export VK_LAYER_PATH=. VK_INSTANCE_LAYERS=VK_LAYER_GRAVITILE_lose LOSE_DEVICE=lose.json; exec $gravitile {}",
        args("begun", LEAPFROG).join(" "),
    );
    let Some(mut command) = ranks_by_shell(folder, 3, &script) else { return };
    let output = Launched::new(&mut command).ended(Duration::from_secs(20));
    let [said, noted] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{said} {noted}");
    let lines: Vec<&str> = noted.lines().filter(|line| line.starts_with("gravitile: ")).collect();
    let [line] = lines[..] else { panic!("one line should say it: {noted}") };
    assert!(line.starts_with("gravitile: rank 1 on ") && line.contains("lost"), "{line}");
    assert!(!noted.contains("panicked"), "{noted}");
}
