//! The additions that CONTRIBUTING.md shows still apply to the sources, and touch two files each.

use std::io::Write;
use std::process::{Command, Stdio};

/// The texts between "```diff" and "```".
fn diffs(text: &str) -> Vec<&str> {
    let after = text.split("```diff\n").skip(1);
    after.map(|rest| rest.split("\n```").next().unwrap_or(rest)).collect()
}

/// Whether git would apply it here, and what it says.
fn applies(diff: &str) -> (bool, String) {
    let mut git = Command::new("git")
        .args(["apply", "--check", "-"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git should be there");
    let mut input = git.stdin.take().expect("it is piped");
    input.write_all(format!("{diff}\n").as_bytes()).unwrap();
    drop(input);
    let said = git.wait_with_output().unwrap();
    (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
}

#[test]
fn what_is_shown_applies_and_touches_two_files() {
    let all = diffs(include_str!("../CONTRIBUTING.md"));
    assert_eq!(all.len(), 5, "a method, a place, a format, an integrator, a scene");
    for diff in all {
        let files = diff.lines().filter(|line| line.starts_with("diff --git ")).count();
        let (applied, said) = applies(diff);
        assert!(applied, "{said}\n{diff}");
        assert_eq!(files, 2, "{diff}");
    }
}

#[test]
fn a_change_to_what_is_not_there_is_noticed() {
    let diff = "diff --git a/Cargo.toml b/Cargo.toml\n--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -1,1 +1,2 @@\n-no such line\n+another\n";
    assert!(!applies(diff).0);
}
