//! Mutated run folders, opened as `resume` does.

use std::fs;
use std::path::{Path, PathBuf};

use gravitile::record::{EnergyLog, RunFolder, restart_of};

use super::mutator::{Random, mutant, repair_gvt};
use super::watch::{Mutant, check_line, try_all};

/// Runs the program and returns the files of the run, sorted by name.
fn run(folder: &Path, integrator: &str) -> Vec<(String, Vec<u8>)> {
    let out = folder.join(integrator);
    let made = crate::program::program()
        .args(["run", "plummer", "-n", "6", "--engine", "reference", "--integrator", integrator])
        .args(["--eps", "0.1", "--until", "0.5", "--every", "0.25", "--dt", "0.125", "--out"])
        .arg(&out)
        .output()
        .expect("it should start");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut files: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Opens a folder as `resume` does. True if the run could be resumed.
fn open(path: &Path) -> Result<bool, String> {
    let rejected =
        |error: gravitile::error::Error| check_line(&format!("gravitile: {error}")).map(|()| false);
    let folder = match RunFolder::open(path) {
        Ok(folder) => folder,
        Err(error) => return rejected(error),
    };
    let found = match folder.last_whole(None, |problem| problem) {
        Ok(found) => found,
        Err(error) => return rejected(error),
    };
    for error in &found.damaged {
        check_line(&format!("gravitile: damaged snapshot, going back to the one before: {error}"))?;
    }
    found.snapshot.validate().map_err(|error| format!("is not valid: {error}"))?;
    // `None` is a valid result.
    let _ = restart_of(&found.snapshot);
    if let Err(error) = folder.plan.settings(found.step) {
        return rejected(error);
    }
    match EnergyLog::open(path, Some(found.step)) {
        Ok(_) => Ok(true),
        Err(error) => rejected(error),
    }
}

#[test]
fn run_folders() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<_> = ["leapfrog", "hermite6"].map(|name| run(folder.path(), name)).into();
    for files in &runs {
        let target = folder.path().join("whole");
        fill(&target, files);
        assert_eq!(open(&target), Ok(true));
    }
    let target = folder.path().join("mutant");
    try_all("runs", |index| {
        let mut random = Random::new("runs", index);
        let mut files = random.of(&runs).clone();
        let mut mutated = Vec::new();
        for _ in 0..=random.below(2) {
            let donor = random.of(&runs).clone();
            let other = random.of(&donor).1.clone();
            // Half of the mutations are to the plan, which has the most to check.
            let plan = files.iter().position(|(name, _)| name == "run.toml").unwrap();
            let which = if random.below(2) == 0 { plan } else { random.below(files.len()) };
            let (name, bytes) = &mut files[which];
            *bytes = mutant(bytes, &other, &mut random);
            if name.ends_with(".gvt") && random.below(2) == 0 {
                repair_gvt(bytes);
            }
            mutated = bytes.clone();
        }
        if random.below(20) == 0 {
            files.remove(random.below(files.len()));
        }
        let target = target.clone();
        let trial = move |_: &[u8]| {
            fill(&target, &files);
            open(&target)
        };
        Mutant { bytes: mutated, trial: Box::new(trial) }
    });
}

/// Replaces the contents of the folder with these files.
fn fill(target: &PathBuf, files: &[(String, Vec<u8>)]) {
    fs::create_dir_all(target).unwrap();
    for entry in fs::read_dir(target).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for (name, bytes) in files {
        fs::write(target.join(name), bytes).unwrap();
    }
}
