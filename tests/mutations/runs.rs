//! Damaged run folders, up to the point where a run would go on.

use std::fs;
use std::path::{Path, PathBuf};

use gravitile::record::{EnergyLog, RunFolder, restart_of};

use super::mutator::{Random, mend_gvt, mutant};
use super::watch::{Mutant, check_line, try_all};

/// The files of a run that the program made, by name.
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

/// Opens a folder as `resume` does. True if a run could go on.
fn open(path: &Path) -> Result<bool, String> {
    let fit =
        |error: gravitile::error::Error| check_line(&format!("gravitile: {error}")).map(|()| false);
    let folder = match RunFolder::open(path) {
        Ok(folder) => folder,
        Err(error) => return fit(error),
    };
    let found = match folder.last_whole() {
        Ok(found) => found,
        Err(error) => return fit(error),
    };
    for error in &found.damaged {
        check_line(&format!("gravitile: damaged snapshot, going back to the one before: {error}"))?;
    }
    found.snapshot.validate().map_err(|error| format!("is not valid: {error}"))?;
    // Finding none is an answer, too.
    let _ = restart_of(&found.snapshot);
    if let Err(error) = folder.plan.settings(found.step) {
        return fit(error);
    }
    match EnergyLog::open(path, Some(found.step)) {
        Ok(_) => Ok(true),
        Err(error) => fit(error),
    }
}

#[test]
fn run_folders() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<_> = ["leapfrog", "hermite6"].map(|name| run(folder.path(), name)).into();
    for files in &runs {
        let place = folder.path().join("whole");
        fill(&place, files);
        assert_eq!(open(&place), Ok(true));
    }
    let place = folder.path().join("mutant");
    try_all("runs", |index| {
        let mut random = Random::new("runs", index);
        let mut files = random.of(&runs).clone();
        let mut mutated = Vec::new();
        for _ in 0..=random.below(2) {
            let lender = random.of(&runs).clone();
            let other = random.of(&lender).1.clone();
            // The plan is what there is to be wrong about.
            let plan = files.iter().position(|(name, _)| name == "run.toml").unwrap();
            let which = if random.below(2) == 0 { plan } else { random.below(files.len()) };
            let (name, bytes) = &mut files[which];
            *bytes = mutant(bytes, &other, &mut random);
            if name.ends_with(".gvt") && random.below(2) == 0 {
                mend_gvt(bytes);
            }
            mutated = bytes.clone();
        }
        if random.below(20) == 0 {
            files.remove(random.below(files.len()));
        }
        let place = place.clone();
        let trial = move |_: &[u8]| {
            fill(&place, &files);
            open(&place)
        };
        Mutant { bytes: mutated, trial: Box::new(trial) }
    });
}

/// Makes the folder hold these files and no others.
fn fill(place: &PathBuf, files: &[(String, Vec<u8>)]) {
    fs::create_dir_all(place).unwrap();
    for entry in fs::read_dir(place).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for (name, bytes) in files {
        fs::write(place.join(name), bytes).unwrap();
    }
}
