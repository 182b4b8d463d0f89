//! What a test does not look at is said aloud and counted: a test that passes in silence proves nothing.
#![allow(dead_code)]

use std::io::Write;

/// Says that a part of a test was left out, past the test harness, which keeps what passing tests print to
/// itself; and adds a line to the file that GRAVITILE_SKIPPED names, from which `script/test` counts.
pub fn skipped(what: &str, why: &str) {
    let line = format!("SKIPPED {what}: {why}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("GRAVITILE_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The same for what an adapter's driver does not offer. Mesa's llvmpipe, on which everything is tested, offers
/// all of it: there it is a fault.
pub fn lacking(driver: &str, what: &str) {
    assert!(!driver.contains("llvmpipe"), "{driver} has {what}, but is said not to");
    skipped(what, &format!("{driver} does not offer it"));
}
