//! Whether the files of a snapshot in several files belong together.

use std::path::Path;

use super::kinds::Kind;
use crate::error::{Error, Result};
use crate::messages;

/// What the header of one file says of the whole snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated {
    /// Number of files.
    pub files: u64,
    pub time: f64,
    /// Bodies in this file by type.
    pub counts: Vec<u64>,
    /// Bodies in all files by type; all 0 if the writer left them out.
    pub totals: Vec<u64>,
}

/// Checks that the files belong to one snapshot of `files` files, whose types are `kinds`.
///
/// # Errors
/// Another number of files, time or total in one of them; bodies that do not add up.
pub(super) fn agree(stated: &[(&Path, Stated)], files: u64, kinds: &[Kind]) -> Result<()> {
    let [(first_path, first), others @ ..] = stated else { return Ok(()) };
    for (path, other) in others {
        let differ = |what: &str, of: &dyn Fn(&Stated) -> String| {
            let [here, there] = [other, first].map(of);
            let name = messages::path(first_path, messages::PIECE);
            let problem = format!(
                "says {what} {here}, but {name} says {there}: they belong to different snapshots"
            );
            Err(Error::file(path, problem))
        };
        if first.files != other.files {
            return differ("the number of files is", &|stated| stated.files.to_string());
        }
        if first.time.to_bits() != other.time.to_bits() {
            return differ("the time is", &|stated| format!("{:?}", stated.time));
        }
        if first.totals != other.totals {
            let totals = |stated: &Stated| format!("{:?}", stated.totals);
            return differ("the bodies by type in all files are", &totals);
        }
    }
    let is_whole = files > 1 && stated.len() as u64 == files;
    // Some writers leave the totals out.
    if !is_whole || first.totals.iter().all(|total| *total == 0) {
        return Ok(());
    }
    for (t, kind) in kinds.iter().enumerate() {
        let counts = stated.iter().map(|(_, stated)| u128::from(stated.counts[t]));
        let (found, total) = (counts.sum::<u128>(), first.totals[t]);
        if found != u128::from(total) {
            let name = kind.name;
            let problem = format!(
                "says that all {files} files have {total} bodies of type {t} ({name}), but they have {found}"
            );
            return Err(Error::file(first_path, problem));
        }
    }
    Ok(())
}
