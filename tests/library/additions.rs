//! The examples in `tests/additions` apply to the sources, and touch two files each.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether `git apply --check` succeeds, and its error output.
fn applies(diff: &str) -> (bool, String) {
    let mut git = Command::new("git")
        .args(["apply", "--check", "-"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git should be there");
    let mut input = git.stdin.take().expect("it is piped");
    input.write_all(diff.as_bytes()).unwrap();
    drop(input);
    let output = git.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn examples_apply_and_touch_two_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/additions");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<_> = all.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(all.len(), 5, "a method, a backend, a format, an integrator, a scene");
    for diff in &all {
        let files = diff.lines().filter(|line| line.starts_with("diff --git ")).count();
        let (applied, message) = applies(diff);
        assert!(applied, "{message}\n{diff}");
        assert_eq!(files, 2, "{diff}");
    }
}

#[test]
fn diff_against_missing_line_fails() {
    let diff = "diff --git a/Cargo.toml b/Cargo.toml\n--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -1,1 +1,2 @@\n-no such line\n+another\n";
    assert!(!applies(diff).0);
}
