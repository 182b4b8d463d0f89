//! RADV, configured by environment variables to compile for a GPU that is not present.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders in which Vulkan drivers install their manifests.
const FOLDERS: [&str; 4] = [
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/run/opengl-driver/share/vulkan/icd.d",
];

/// RADV's manifest, if it is installed.
pub fn driver_manifest() -> Option<PathBuf> {
    let is_radv = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Drivers for other processors may be installed in the same folder.
        let foreign = ["i686", "i386"].iter().any(|word| name.contains(word));
        name.starts_with("radeon_icd") && name.ends_with(".json") && !foreign
    };
    FOLDERS.iter().find_map(|folder| {
        let mut found: Vec<PathBuf> =
            std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        found.sort();
        found.into_iter().find(is_radv)
    })
}

/// Prefixes of AMD's names for GPU families.
const FAMILIES: &str = "aldebaran arcturus bonaire carrizo fiji gfx hainan hawaii iceland kabini kaveri navi \
    oland pitcairn polaris raphael raven rembrandt renoir stoney tahiti tonga vangogh \
    vega verde mi";

/// Folders to search if a manifest names the library without one.
const LIBRARIES: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// Families that RADV has long supported; assumed to be known if its library is not found.
const OLD: [&str; 6] = ["polaris10", "vega10", "raven", "renoir", "navi10", "navi21"];

/// Checks that the driver knows a family: an unknown one would abort the whole program.
pub(super) fn check_family(manifest: &Path, family: &str) -> Result<()> {
    let known = library_of(manifest)
        .and_then(|library| std::fs::read(library).ok())
        .map_or_else(|| OLD.map(str::to_owned).to_vec(), |library| families_in(&library));
    if known.iter().any(|name| name.eq_ignore_ascii_case(family)) {
        return Ok(());
    }
    Err(Error::Unknown {
        kind: "GPU that RADV compiles for",
        name: family.to_owned(),
        known: known.join(", "),
    })
}

/// The library that a manifest names.
fn library_of(manifest: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(manifest).ok()?;
    let after = text.split_once("\"library_path\"")?.1.split_once(':')?.1;
    let path = Path::new(after.split('"').nth(1)?);
    let next_to_it = manifest.parent()?.join(path);
    let elsewhere = LIBRARIES.iter().map(|folder| Path::new(folder).join(path));
    std::iter::once(next_to_it).chain(elsewhere).find(|path| path.is_file())
}

/// Names of families among the texts of a library, in lower case.
fn families_in(library: &[u8]) -> Vec<String> {
    let is_name = |text: &&[u8]| {
        (4..=12).contains(&text.len())
            && text.iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == b'_')
    };
    let mut found: Vec<String> = library
        .split(|byte| *byte == 0)
        .filter(is_name)
        .map(|text| String::from_utf8_lossy(text).to_lowercase())
        .filter(|name| FAMILIES.split(' ').any(|family| name.starts_with(family)))
        // Accepts mi100 but not min_lod.
        .filter(|name| {
            name.strip_prefix("mi")
                .is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Saved values of variables, restored on drop.
pub(super) struct Environment(Vec<(&'static str, Option<OsString>)>);

impl Environment {
    /// Sets the variables that make the loader use only RADV, and RADV use this GPU.
    ///
    /// # Safety
    /// No other thread may read or write the environment until the value is dropped.
    pub(super) unsafe fn set(manifest: &Path, family: &str) -> Self {
        let variables: [(&'static str, OsString); 3] = [
            ("VK_DRIVER_FILES", manifest.into()),
            // The same for loaders older than 1.3.207.
            ("VK_ICD_FILENAMES", manifest.into()),
            ("RADV_FORCE_FAMILY", family.into()),
        ];
        let before = variables.iter().map(|(name, _)| (*name, std::env::var_os(name))).collect();
        for (name, value) in &variables {
            // SAFETY: as the caller promises.
            unsafe { std::env::set_var(name, value) };
        }
        Self(before)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            // SAFETY: as the caller of `set` promises.
            unsafe {
                match value {
                    Some(value) => std::env::set_var(name, value),
                    None => std::env::remove_var(name),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_library_lists_families_and_unknown_ones_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libradv.so");
        std::fs::write(&library, b"\x7fELF\0NAVI21\0Navi22\0GFX1103_R1\0PRO\0navi23\0x\0").unwrap();
        let manifest = folder.path().join("radeon_icd.json");
        let text = r#"{ "ICD": { "api_version": "1.3", "library_path": "libradv.so" } }"#;
        std::fs::write(&manifest, text).unwrap();
        assert_eq!(library_of(&manifest), Some(library));
        assert!(check_family(&manifest, "navi21").is_ok());
        assert!(check_family(&manifest, "NAVI21").is_ok());
        let error = check_family(&manifest, "navi23").unwrap_err().to_string();
        assert!(error.contains("'navi23'") && error.ends_with("gfx1103_r1, navi21"), "{error}");
        std::fs::write(&manifest, "{}").unwrap();
        assert!(check_family(&manifest, "navi21").is_ok());
        assert!(check_family(&manifest, "pro").is_err());
    }
}
