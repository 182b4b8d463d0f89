//! Skipped tests are printed and counted: a test that passes in silence proves nothing.
#![allow(dead_code)]

use std::io::Write;

/// Reports that (part of) a test was skipped, bypassing the test harness, which captures the output
/// of passing tests. Also appends a line to the file named by GRAVITILE_SKIPPED, which
/// `script/test` counts.
pub fn skipped(what: &str, why: &str) {
    let line = format!("SKIPPED {what}: {why}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("GRAVITILE_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The same for a feature that the adapter's driver lacks. Mesa's llvmpipe, the reference driver of
/// the tests, has all of them: a feature missing there is a failure.
pub fn lacking(driver: &str, what: &str) {
    assert!(!driver.contains("llvmpipe"), "{driver} has {what}, but is said not to");
    skipped(what, &format!("{driver} does not offer it"));
}
