//! The file that stores choices.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ChoiceKey, TunedDevice};
use crate::error::{Error, Result};
use crate::files::{self, PathKind};
use crate::forces::direct::gpu::tiers::{Fitted, TierShape};
use crate::forces::direct::gpu::{KernelConfig, Masses};
use crate::forces::tree::gpu::WalkShape;

/// A kernel's shape, for all pairs unless `Shape` is a walk of the tree, with its key and timings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedChoice<Shape = KernelConfig> {
    /// The device and size for which it is valid.
    #[serde(flatten)]
    pub key: ChoiceKey,
    /// Number of bodies that were timed.
    pub n: usize,
    /// Seconds per step, median.
    pub secs_per_step: f64,
    /// Seconds per step of the device's default shape in the same race.
    pub default_secs_per_step: f64,
    /// How the times were taken: `GPU timestamps` or `wall clock`.
    #[serde(default = "wall_clock")]
    pub method: String,
    /// The shape.
    pub kernel: Shape,
    /// The shape for sources that are not in blocks of one mass, if that was timed and differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_various_masses: Option<Shape>,
}

impl TunedChoice {
    /// The shape for bodies of such masses. `None` if it was not timed for those and may be slow.
    pub(super) fn kernel_for(&self, masses: Masses) -> Option<KernelConfig> {
        match masses {
            Masses::InBlocks => Some(self.kernel),
            Masses::Various => {
                self.for_various_masses.or(Some(self.kernel).filter(|shape| !shape.uniform))
            }
        }
    }
}

/// The only method before files recorded it.
fn wall_clock() -> String {
    "wall clock".to_owned()
}

/// A shape of the kernels with derivatives, and the evaluations for which it was found fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivativesChoice {
    /// The device and the kernels that it was measured with.
    #[serde(flatten)]
    pub on: TunedDevice,
    /// Seconds per evaluation from host to host, median.
    pub secs: f64,
    /// The same for the default rule's shape, in the same race.
    pub default_secs: f64,
    /// The default rule's shape.
    pub default: TierShape,
    /// The shape, and the evaluations that it is for.
    pub fitted: Fitted,
}

impl DerivativesChoice {
    /// Whether both are for the same evaluations on the same device, whatever the kernels.
    pub fn is_for_the_same(&self, other: &Self) -> bool {
        self.fitted.order_in_file() == other.fitted.order_in_file()
            && self.on.is_but_for_kernels(&other.on)
    }
}

impl Fitted {
    /// Sort key: tier, derivative, sources and sinks.
    fn order_in_file(&self) -> (usize, usize, u32, u32) {
        (self.precision as usize, self.order as usize, self.sources, self.sinks)
    }
}

/// All results: the content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of the file's format, set when it is written.
    pub(super) version: u32,
    /// Kernels for all pairs; empty if the file is damaged or missing.
    #[serde(default, rename = "choice")]
    pub choices: Vec<TunedChoice>,
    /// Choices of walks of the tree.
    #[serde(default, rename = "walk", skip_serializing_if = "Vec::is_empty")]
    pub walks: Vec<TunedChoice<WalkShape>>,
    /// Shapes for forces with derivatives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derivatives: Vec<DerivativesChoice>,
    /// The file and the problem with it, if it is damaged.
    #[serde(skip)]
    pub damage: Option<String>,
}

/// Version of the file's format; others are rejected.
const VERSION: u32 = 1;
/// No valid file is longer.
const MOST_BYTES: u64 = 4 << 20;

const HEADER: &str = "# Results of 'gravitile tune'; 'gravitile tune --forget' deletes them.\n";

/// A file of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedStore {
    /// Its path.
    pub path: PathBuf,
}

impl TunedStore {
    /// The file's name in its folder.
    pub const FILE: &str = "tuned.toml";

    /// The program's folder inside the system's.
    const IN_SYSTEM: &str = "gravitile";

    /// The environment variable that names a folder to use instead of the system's.
    pub const FOLDER: &str = "GRAVITILE_CACHE_DIR";

    /// The user's file: in `named`, the value of [`TunedStore::FOLDER`], otherwise in the
    /// `system`'s cache folder. `None` if there is no such folder, or if `named` is empty; then
    /// nothing is stored.
    pub fn of_user(
        named: Option<OsString>,
        system: impl FnOnce() -> Option<PathBuf>,
    ) -> Option<Self> {
        let folder = match named {
            Some(folder) if folder.is_empty() => return None,
            Some(folder) => PathBuf::from(folder),
            // A page's storage is private to this program, so it needs no subfolder.
            None if cfg!(target_arch = "wasm32") => system()?,
            None => system()?.join(Self::IN_SYSTEM),
        };
        Some(Self::at(folder.join(Self::FILE)))
    }

    /// The file at that path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Reads all choices. A missing file has none; a damaged one is reported.
    pub fn load(&self) -> Results {
        let damaged = |problem: String| {
            let damage = Some(Error::file(&self.path, problem).to_string());
            Results { damage, ..Results::default() }
        };
        match files::find(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Results::default();
            }
            Err(error) => return damaged(error.to_string()),
            Ok(PathKind::File(bytes)) if bytes > MOST_BYTES => {
                return damaged(format!("has {bytes} bytes, but at most {MOST_BYTES} are allowed"));
            }
            Ok(PathKind::File(_)) => {}
            Ok(_) => return damaged("is not a file".to_owned()),
        }
        let bytes = files::read_start(&self.path, MOST_BYTES);
        let text = match bytes.map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return damaged("is not UTF-8 text".to_owned()),
            Err(error) => return damaged(error.to_string()),
        };
        match toml::from_str::<Results>(&text) {
            Ok(results) if results.version == VERSION => results,
            Ok(Results { version, .. }) => {
                damaged(format!("has version {version}, but must have version {VERSION}"))
            }
            Err(error) => {
                let first = error.to_string();
                damaged(format!("is damaged ({})", first.lines().next().unwrap_or("")))
            }
        }
    }

    /// Stores a choice, replacing an older one with the same key. The file is rewritten as a whole.
    ///
    /// # Errors
    ///
    /// A folder that cannot be created or written to. A damaged file is simply replaced.
    pub fn keep(&self, choice: TunedChoice) -> Result<()> {
        self.put(choice, |all| &mut all.choices, |known, new| known.key == new.key)
    }

    /// [`TunedStore::keep`] for a walk of the tree.
    ///
    /// # Errors
    ///
    /// Those of [`TunedStore::keep`].
    pub fn keep_walk(&self, choice: TunedChoice<WalkShape>) -> Result<()> {
        self.put(choice, |all| &mut all.walks, |known, new| known.key == new.key)
    }

    /// [`TunedStore::keep`] for a shape for forces with derivatives.
    ///
    /// # Errors
    ///
    /// Those of [`TunedStore::keep`].
    pub fn keep_derivatives(&self, choice: DerivativesChoice) -> Result<()> {
        self.put(choice, |all| &mut all.derivatives, DerivativesChoice::is_for_the_same)
    }

    /// Stores a choice in its list, in place of one that `replaces` says is for the same.
    fn put<C>(
        &self,
        choice: C,
        list: fn(&mut Results) -> &mut Vec<C>,
        replaces: fn(&C, &C) -> bool,
    ) -> Result<()> {
        let mut all = self.load();
        list(&mut all).retain(|known| !replaces(known, &choice));
        list(&mut all).push(choice);
        self.write(all)
    }

    fn write(&self, mut all: Results) -> Result<()> {
        all.version = VERSION;
        let order = |key: &ChoiceKey| (key.on.device.clone(), key.on.driver.clone(), key.up_to);
        all.choices.sort_by_key(|choice| order(&choice.key));
        all.walks.sort_by_key(|choice| order(&choice.key));
        all.derivatives.sort_by_key(|c| (c.on.device.clone(), c.fitted.order_in_file()));
        let text = toml::to_string(&all).map_err(|error| {
            Error::file(&self.path, format!("cannot be written as TOML: {error}"))
        })?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        files::make_folder(folder).map_err(|e| Error::io("create the folder", folder, e))?;
        files::replace(&self.path, format!("{HEADER}{text}").as_bytes())
    }

    /// Deletes the file. True if there was one.
    pub fn forget(&self) -> Result<bool> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("delete", &self.path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(adapter: &str, up_to: u64, p: u32) -> TunedChoice {
        TunedChoice {
            key: ChoiceKey {
                on: TunedDevice {
                    device: adapter.to_owned(),
                    driver: "driver \"1\"".to_owned(),
                    backend: "vulkan".to_owned(),
                    limits: [256, 16384],
                    kernels: "00c0ffee".to_owned(),
                },
                up_to,
            },
            n: up_to as usize,
            secs_per_step: 1.5e-5,
            default_secs_per_step: 2e-5,
            method: "GPU timestamps".to_owned(),
            kernel: KernelConfig { r: 2, u: 4, s: 8, ..KernelConfig::tiled(p) },
            for_various_masses: None,
        }
    }

    #[test]
    fn store_round_trips_choices_and_replaces_by_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = TunedStore::at(folder.path().join("new").join("tuned.toml"));
        assert!(store.load().choices.is_empty() && store.load().damage.is_none());
        assert!(!store.forget().unwrap());
        store.keep(choice("b", 1024, 64)).unwrap();
        store.keep(choice("a", 1024, 64)).unwrap();
        store.keep(choice("b", 512, 64)).unwrap();
        store.keep(choice("b", 1024, 128)).unwrap();
        let loaded = store.load();
        let expected = [choice("a", 1024, 64), choice("b", 512, 64), choice("b", 1024, 128)];
        assert_eq!((loaded.choices.as_slice(), loaded.damage), (expected.as_slice(), None));
        // A file of a version that did not record the method.
        let text = std::fs::read_to_string(&store.path).unwrap();
        let older = text.replace("method = \"GPU timestamps\"\n", "");
        let older = older.replace("\ndevice =", "\nadapter =");
        assert!(older.len() < text.len() && older.contains("\nadapter = \"a\""));
        std::fs::write(&store.path, older).unwrap();
        let choices = store.load().choices;
        assert!(choices.len() == 3 && choices.iter().all(|c| c.method == "wall clock"));
        // Walks of the tree are stored separately from kernels, and each replaces its own
        // predecessor.
        for unroll in [4, 8] {
            let kernel = WalkShape { unroll };
            let TunedChoice { key, n, secs_per_step, default_secs_per_step, method, .. } =
                choice("a", 1024, 64);
            let for_various_masses = None;
            let walk = TunedChoice {
                key,
                n,
                secs_per_step,
                default_secs_per_step,
                method,
                kernel,
                for_various_masses,
            };
            store.keep_walk(walk.clone()).unwrap();
            assert_eq!(store.load().walks, [walk]);
        }
        assert_eq!(store.load().choices.len(), 3);
        assert!(store.forget().unwrap() && store.load().choices.is_empty());
    }

    #[test]
    fn damaged_file_is_reported_ignored_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = TunedStore::at(folder.path().join("tuned.toml"));
        let good = {
            store.keep(choice("a", 64, 64)).unwrap();
            std::fs::read_to_string(&store.path).unwrap()
        };
        let cut = good[..good.len() - 30].to_owned();
        for bad in
            [cut.as_str(), "version = 2\n", "\u{0}\u{1}", "choice = 3", "", "[[choice]]\np=1"]
        {
            std::fs::write(&store.path, bad).unwrap();
            let loaded = store.load();
            assert!(loaded.choices.is_empty(), "{bad}");
            let note = loaded.damage.expect(bad);
            assert!(note.contains("tuned.toml") && !note.contains('\n'), "{note}");
            store.keep(choice("a", 64, 64)).unwrap();
            assert_eq!(std::fs::read_to_string(&store.path).unwrap(), good);
        }
        std::fs::write(&store.path, [0xff, 0xfe]).unwrap();
        assert!(store.load().damage.is_some());
        std::fs::remove_file(&store.path).unwrap();
        std::fs::create_dir(&store.path).unwrap();
        assert!(store.load().damage.unwrap().contains("is not a file"));
        assert!(store.keep(choice("a", 64, 64)).is_err());
    }

    #[test]
    fn named_folder_is_used_and_empty_name_disables_storage() {
        let of = |named: Option<&str>, system: Option<&str>| {
            let store =
                TunedStore::of_user(named.map(OsString::from), || system.map(PathBuf::from));
            store.map(|store| store.path)
        };
        assert_eq!(of(Some("here"), Some("there")), Some(Path::new("here").join(TunedStore::FILE)));
        assert_eq!(
            of(None, Some("there")),
            Some(Path::new("there/gravitile").join(TunedStore::FILE))
        );
        assert_eq!(of(Some(""), Some("there")), None);
        assert_eq!(of(None, None), None);
    }
}
