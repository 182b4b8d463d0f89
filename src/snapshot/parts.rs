//! Names of the files of a snapshot in several files: `snap_000.0`, `snap_000.1`, ... for
//! `snap_000`; numbers may have leading zeros. In HDF5 the number comes before the extension:
//! `snap_000.0.hdf5` for `snap_000.hdf5`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::messages;

/// Most digits of a number: 2^64 has 20.
const MOST_DIGITS: usize = 20;

/// Extensions that the number precedes.
const AFTER_NUMBER: [&str; 2] = ["hdf5", "h5"];

/// The name without an extension of [`AFTER_NUMBER`], and the extension.
fn without_extension(path: &Path) -> (PathBuf, Option<&str>) {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.filter(|extension| AFTER_NUMBER.contains(extension)) {
        Some(extension) => (path.with_extension(""), Some(extension)),
        None => (path.to_owned(), None),
    }
}

/// `path.extension`, or `path` without one.
fn appended(path: &Path, extension: Option<&str>) -> PathBuf {
    let Some(extension) = extension else { return path.to_owned() };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}

/// The name of file `k` of the snapshot `base`, as files are written.
pub(super) fn nth(base: &Path, k: u64) -> PathBuf {
    with_digits(base, k, 1)
}

fn with_digits(base: &Path, k: u64, digits: usize) -> PathBuf {
    let (stem, extension) = without_extension(base);
    appended(&appended(&stem, Some(&format!("{k:0digits$}"))), extension)
}

/// A file name in parts: `snap_000.3` is number 3 of `snap_000`, and so is `snap_000.003`.
#[derive(Debug, PartialEq)]
pub(super) struct Numbered {
    /// The name of the whole snapshot.
    pub base: PathBuf,
    /// The number of the file.
    pub number: u64,
    digits: usize,
}

impl Numbered {
    /// `None` for a name that does not end in a number.
    pub fn of(path: &Path) -> Option<Self> {
        let (path, extension) = without_extension(path);
        let text = path.extension()?.to_str()?;
        let is_number = text.len() <= MOST_DIGITS && text.bytes().all(|c| c.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number)?;
        let base = appended(&path.with_extension(""), extension);
        Some(Self { base, number, digits: text.len() })
    }

    /// File `k` of the same snapshot. `snap.12` may belong with `snap.3` or `snap.03`; the one that
    /// exists is used.
    pub fn nth(&self, k: u64) -> PathBuf {
        let (plain, padded) = (nth(&self.base, k), with_digits(&self.base, k, self.digits));
        let begins_with_zero = nth(&self.base, self.number).as_os_str().len()
            < with_digits(&self.base, self.number, self.digits).as_os_str().len();
        if begins_with_zero || (!plain.exists() && padded.exists()) { padded } else { plain }
    }
}

/// The first file of the snapshot `base`, if it exists. An extension of [`AFTER_NUMBER`] may be
/// left out.
pub(super) fn first_of(base: &Path) -> Option<PathBuf> {
    let extensions = [None].into_iter().chain(AFTER_NUMBER.map(Some));
    extensions
        .map(|extension| appended(base, extension))
        .flat_map(|base| (1..=MOST_DIGITS).map(move |digits| with_digits(&base, 0, digits)))
        .find(|path| path.is_file())
}

/// The file to begin with: `path` itself, the first of the files with this common name, or the
/// first file of the only snapshot in several files in the folder `path`.
pub(super) fn first(path: &Path) -> Result<PathBuf> {
    match first_of(path).filter(|_| !path.is_file()) {
        Some(first) => Ok(first),
        None if path.is_dir() => first_in(path),
        None => Ok(path.to_owned()),
    }
}

fn first_in(folder: &Path) -> Result<PathBuf> {
    let io = |source| Error::io("read", folder, source);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if Numbered::of(&path).is_some_and(|name| name.number == 0) && path.is_file() {
            found.insert(path);
        }
    }
    let wrong = |what: String| Err(Error::file(folder, format!("is a folder {what}")));
    match (found.pop_first(), found.pop_first()) {
        (Some(only), None) => Ok(only),
        (Some(one), Some(other)) => {
            let [one, other] = [one, other].map(|path| messages::path(&path, messages::PIECE));
            wrong(format!("with more than one snapshot, {one} and {other} among them: name one"))
        }
        (None, _) => wrong(
            "without a first file as snap_000.0, but a snapshot file or a folder with the files of one was expected"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_number_is_parsed_and_restored() {
        for name in
            ["snap_000.3", "a.b/snap.0", "/x/y.17", "../s.p.2", "snap.03", "snap.000", "s.07.hdf5"]
        {
            let numbered = Numbered::of(Path::new(name)).unwrap();
            assert_eq!(numbered.nth(numbered.number), Path::new(name));
        }
        let twelfth = Numbered::of(Path::new("a/snap_000.012")).unwrap();
        assert_eq!((twelfth.base.as_path(), twelfth.number), (Path::new("a/snap_000"), 12));
        assert_eq!(twelfth.nth(3), Path::new("a/snap_000.003"));
        assert_eq!(twelfth.nth(1000), Path::new("a/snap_000.1000"));
        let twelfth = Numbered::of(Path::new("a/snap_000.12")).unwrap();
        assert_eq!(twelfth.nth(3), Path::new("a/snap_000.3"));
        let second = Numbered::of(Path::new("a/snap_000.2.hdf5")).unwrap();
        assert_eq!((second.base.as_path(), second.number), (Path::new("a/snap_000.hdf5"), 2));
        assert_eq!(second.nth(11), Path::new("a/snap_000.11.hdf5"));
        assert_eq!(nth(Path::new("snap.h5"), 1), Path::new("snap.1.h5"));
        let long = format!("snap.{:021}", 0);
        for name in [
            "snap_000",
            "snap.+3",
            "snap.-3",
            "snap.gadget",
            "snap_001.hdf5",
            "snap.",
            ".3",
            "",
            &long,
        ] {
            assert_eq!(Numbered::of(Path::new(name)), None, "{name}");
        }
    }
}
