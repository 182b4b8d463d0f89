//! The program with mutated files: its output and exit codes.

use std::fs;

use gravitile::messages::shows;
use gravitile::scene::Scene;
use gravitile::snapshot::FORMATS;

use super::mutator::{Random, mutant};
use super::valid_files;
use super::watch::check_line;

/// Runs the program. All output lines must be valid, and exit code 2 needs a line on standard
/// error.
fn judge(arguments: &[&std::ffi::OsStr]) -> Result<(), String> {
    let output = crate::program::program()
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .expect("it should start");
    let text =
        |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "prints no UTF-8".to_owned());
    let (out, err) = (text(&output.stdout)?, text(&output.stderr)?);
    for line in out.lines().filter(|line| !line.trim().is_empty()) {
        check_line(line)?;
    }
    match (output.status.code(), err.lines().count()) {
        // An error may follow notes on what a reader assumed.
        (Some(0), _) | (Some(2), 1..) => err.lines().try_for_each(check_line),
        (code, _) => Err(format!("exit code {code:?} with: {err}")),
    }
}

#[test]
fn program_reports_mutants_with_valid_lines() {
    let folder = tempfile::tempdir().unwrap();
    let scenes: Vec<Vec<u8>> = ["plummer", "two-body", "figure-eight"]
        .map(|name| Scene::builtin_text(name).expect(name).as_bytes().to_vec())
        .into();
    let each = (super::watch::mutants() / 50).min(200);
    let mut faults = Vec::new();
    for format in FORMATS {
        let files = valid_files(format);
        for index in 0..each {
            let mut random = Random::new("programs", index);
            let bytes = {
                let (original, other) = (random.of(&files).clone(), random.of(&files).clone());
                mutant(&original, &other, &mut random)
            };
            let path = folder.path().join(format!("m{index}.{}", format.extensions[0]));
            fs::write(&path, bytes).unwrap();
            // Converts to a format that holds little, so that losses are reported.
            let out = folder.path().join("out.tipsy");
            let arguments =
                ["convert".as_ref(), path.as_os_str(), out.as_os_str(), "--force".as_ref()];
            if let Err(fault) = judge(&arguments) {
                faults.push(format!("{} {index}: {fault:?}", format.name));
            }
        }
    }
    for index in 0..each {
        let mut random = Random::new("programs", index);
        let bytes = {
            let (original, other) = (random.of(&scenes).clone(), random.of(&scenes).clone());
            mutant(&original, &other, &mut random)
        };
        let path = folder.path().join(format!("m{index}.toml"));
        fs::write(&path, bytes).unwrap();
        let options = ["-n", "50", "--engine", "cpu"].map(std::ffi::OsStr::new);
        let arguments: Vec<&std::ffi::OsStr> =
            ["forces".as_ref(), path.as_os_str()].into_iter().chain(options).collect();
        if let Err(fault) = judge(&arguments) {
            faults.push(format!("scene {index}: {fault:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(shows('a') && !shows('\x1b'));
}
