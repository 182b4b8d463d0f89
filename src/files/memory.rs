//! Files of a web page. Files dropped on the page are held in memory by name. Files the program
//! writes go to the page: those in the folder [`STORED`] are stored, others are offered as
//! downloads.

use std::collections::BTreeMap;
use std::io::{Error as IoError, ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::PathKind;
use crate::error::{Error, Result};

/// The folder of files stored from one visit to the next.
pub const STORED: &str = "/kept";

/// Where the page stores and offers files.
pub trait PageStore: Send {
    /// The file stored under `name` at an earlier visit.
    fn take_down(&self, name: &str) -> Option<Vec<u8>>;

    /// Stores a file under `name` for later visits.
    ///
    /// # Errors
    /// There is no room, or storing is not allowed.
    fn keep(&self, name: &str, bytes: &[u8]) -> IoResult<()>;

    /// Offers a file to the user.
    ///
    /// # Errors
    /// The browser refuses.
    fn offer(&self, name: &str, bytes: &[u8]) -> IoResult<()>;
}

#[derive(Default)]
struct MemoryFiles {
    lying: BTreeMap<PathBuf, Arc<[u8]>>,
    store: Option<Box<dyn PageStore>>,
}

fn files() -> MutexGuard<'static, MemoryFiles> {
    static FILES: Mutex<MemoryFiles> =
        Mutex::new(MemoryFiles { lying: BTreeMap::new(), store: None });
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the store to which files go from now on.
pub fn put_up(store: Box<dyn PageStore>) {
    files().store = Some(store);
}

/// Puts a file into memory, to be read by its name.
pub fn lay_down(path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>) {
    files().lying.insert(path.as_ref().to_owned(), bytes.into());
}

/// All files in memory, with their names.
#[cfg(all(target_arch = "wasm32", feature = "web"))]
pub fn lying() -> Vec<(String, Arc<[u8]>)> {
    let named = |(path, bytes): (&PathBuf, &Arc<[u8]>)| {
        Some((path.to_str()?.to_owned(), Arc::clone(bytes)))
    };
    files().lying.iter().filter_map(named).collect()
}

fn none() -> IoError {
    IoError::new(ErrorKind::NotFound, "there is no such file in this page")
}

/// The name of a file in [`STORED`]; `None` outside it.
fn stored_name(path: &Path) -> Option<&str> {
    path.strip_prefix(STORED).ok()?.to_str()
}

fn whole(path: &Path) -> IoResult<Arc<[u8]>> {
    let files = files();
    match stored_name(path) {
        Some(name) => {
            let found = files.store.as_ref().and_then(|store| store.take_down(name));
            found.map(Arc::from).ok_or_else(none)
        }
        None => files.lying.get(path).cloned().ok_or_else(none),
    }
}

/// What `path` names.
///
/// # Errors
/// No such file.
pub fn find(path: impl AsRef<Path>) -> IoResult<PathKind> {
    whole(path.as_ref()).map(|bytes| PathKind::File(bytes.len() as u64))
}

/// The first `count` bytes of a file, or all of them if it is shorter.
///
/// # Errors
/// No such file.
pub fn read_start(path: impl AsRef<Path>, count: u64) -> IoResult<Vec<u8>> {
    let bytes = whole(path.as_ref())?;
    let count = bytes.len().min(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(bytes[..count].to_vec())
}

/// Does nothing: folders are only parts of names here.
///
/// # Errors
/// None.
pub fn make_folder(_: impl AsRef<Path>) -> IoResult<()> {
    Ok(())
}

/// A complete file, ready to be handed to the page.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Replacement {
    /// Writes the content; `write` is called once.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn begin(
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> IoResult<()>,
    ) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let mut bytes = Vec::new();
        write(&mut bytes).map_err(|source| Error::io("write", &path, source))?;
        Ok(Self { path, bytes })
    }

    /// Hands the file to the page. A file offered as a download can also be read again by its name.
    ///
    /// # Errors
    /// The page refuses it.
    pub fn finish(self) -> Result<()> {
        let Self { path, bytes } = self;
        let mut files = files();
        let handed = match (stored_name(&path), &files.store) {
            (_, None) => Err(IoError::new(ErrorKind::Unsupported, "the page takes no files")),
            (Some(name), Some(store)) => store.keep(name, &bytes),
            (None, Some(store)) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                store.offer(&name, &bytes)
            }
        };
        if handed.is_ok() && stored_name(&path).is_none() {
            files.lying.insert(path.clone(), bytes.into());
        }
        handed.map_err(|source| Error::io("write", &path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Clone)]
    struct Held(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

    impl PageStore for Held {
        fn take_down(&self, name: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn keep(&self, name: &str, bytes: &[u8]) -> IoResult<()> {
            self.0.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
            Ok(())
        }

        fn offer(&self, name: &str, bytes: &[u8]) -> IoResult<()> {
            self.keep(&format!("offered {name}"), bytes)
        }
    }

    #[test]
    fn what_is_dropped_is_read_and_what_is_written_is_kept_or_offered() {
        lay_down("a.gvt", b"abc".to_vec());
        assert_eq!(find("a.gvt").unwrap(), PathKind::File(3));
        assert_eq!(read_start("a.gvt", 2).unwrap(), b"ab");
        assert!(find("b.gvt").is_err() && read_start("b.gvt", 1).is_err());
        let write = |path: &str, bytes: &'static [u8]| {
            Replacement::begin(path, |out| out.write_all(bytes)).unwrap().finish()
        };
        assert!(write("/kept/x.toml", b"1").is_err(), "nobody takes it");
        let held = Held::default();
        put_up(Box::new(held.clone()));
        write("/kept/x.toml", b"x = 1").unwrap();
        make_folder("some").unwrap();
        write("some/b.gvt", b"b").unwrap();
        assert_eq!(held.take_down("x.toml").unwrap(), b"x = 1");
        assert_eq!(held.take_down("offered b.gvt").unwrap(), b"b");
        assert_eq!(read_start("/kept/x.toml", 9).unwrap(), b"x = 1");
        assert_eq!(read_start("some/b.gvt", 9).unwrap(), b"b");
        let broken = Replacement::begin("c", |_| Err(IoError::other("enough")));
        assert!(broken.unwrap_err().to_string().contains("enough"));
    }
}
