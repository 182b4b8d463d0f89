//! A user's own kernel in place of the all-pairs kernel: one WGSL file per process, as with the
//! program's own texts ([`crate::gpu::template::reload`]). docs/lesson.md says what such a file
//! must contain.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;

use super::KernelConfig;
use crate::error::{Error, Result};
use crate::gpu::{Fault, Language, fault, translate};
use crate::settings::Dispatch;

struct EditedKernel {
    path: PathBuf,
    saved: Option<SystemTime>,
    text: String,
    config: KernelConfig,
}

static OWN: RwLock<Option<EditedKernel>> = RwLock::new(None);

/// Largest file that is read; the program's own kernel with r = 16 and u = 128 has 200 kB.
const LONGEST: u64 = 1 << 20;

/// Loads the kernel in a file for this process and returns its shape.
///
/// # Errors
/// The file cannot be read, does not compile, or lacks what docs/lesson.md requires.
pub fn load(path: &Path) -> Result<KernelConfig> {
    let io = |error| Error::io("read", path, error);
    let about = std::fs::metadata(path).map_err(io)?;
    if about.len() > LONGEST {
        return Err(Error::file(
            path,
            format!("is longer than {LONGEST} bytes, too long for a kernel"),
        ));
    }
    let text = std::fs::read_to_string(path).map_err(io)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let config = shape(&name, &text)?;
    let saved = about.modified().ok();
    put(EditedKernel { path: path.to_owned(), saved, text, config });
    Ok(config)
}

fn put(own: EditedKernel) {
    *OWN.write().unwrap_or_else(PoisonError::into_inner) = Some(own);
}

/// Loads the kernel in a text, as [`load`] does with a file; `name` stands in errors.
///
/// # Errors
/// Those of [`load`].
pub fn load_text(name: &str, text: &str) -> Result<KernelConfig> {
    let config = shape_of(name, text)?;
    put(EditedKernel { path: name.into(), saved: None, text: text.to_owned(), config });
    Ok(config)
}

/// The file's text if it was saved since it was read, once per change.
///
/// # Errors
/// The file cannot be read, does not compile, or lacks what docs/lesson.md requires. The kernel
/// stays.
pub fn saved() -> Result<Option<String>> {
    let path = {
        let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = own.as_mut() else { return Ok(None) };
        let saved = modified(&own.path);
        // An editor may remove the file for a moment while saving.
        if saved.is_none() || saved == own.saved {
            return Ok(None);
        }
        own.saved = saved;
        own.path.clone()
    };
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    shape_of(&path.file_name().unwrap_or_default().to_string_lossy(), &text)?;
    Ok(Some(text))
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// Writes a text, whether it is a kernel or not, into the file of the loaded kernel.
///
/// # Errors
/// No kernel is loaded; the file cannot be written, and stays as it was.
pub fn save(text: &str) -> Result<()> {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let own = own.as_mut().ok_or_else(|| Error::Outside("no kernel is loaded".to_owned()))?;
    crate::files::replace(&own.path, text.as_bytes())?;
    own.saved = modified(&own.path);
    Ok(())
}

/// Uses this text in place of the loaded kernel's; returns its shape.
///
/// # Errors
/// Those of [`load`].
pub fn replace(text: String) -> Result<KernelConfig> {
    let config = shape_of("kernel", &text)?;
    if let Some(own) = OWN.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
        (own.text, own.config) = (text, config);
    }
    Ok(config)
}

/// The first fault of a text that is no such kernel; what is missing altogether has line 0.
pub fn fault_of(text: &str) -> Option<Fault> {
    fault(text).or_else(|| {
        let error = shape_of("kernel", text).err()?.to_string();
        let message = error.trim_start_matches("shader kernel: ").to_owned();
        Some(Fault { line: 0, column: 0, message })
    })
}

/// The shape that the kernel in a text declares.
///
/// # Errors
/// Those of [`load`].
pub fn shape_of(name: &str, text: &str) -> Result<KernelConfig> {
    if text.len() as u64 > LONGEST {
        let problem = format!("is longer than {LONGEST} bytes, too long for a kernel");
        return Err(Error::Shader { name: name.to_owned(), problem });
    }
    shape(name, text)
}

/// The shape of the loaded kernel.
pub(super) fn config() -> Option<KernelConfig> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|own| own.config)
}

/// Its text.
pub(super) fn text() -> Option<String> {
    loaded().map(|(_, text)| text)
}

/// The file of the loaded kernel.
pub fn path() -> Option<PathBuf> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|own| own.path.clone())
}

/// The file of the loaded kernel and its text.
pub fn loaded() -> Option<(PathBuf, String)> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    own.as_ref().map(|own| (own.path.clone(), own.text.clone()))
}

/// The shape that a text declares, after checking that it is a kernel.
fn shape(name: &str, text: &str) -> Result<KernelConfig> {
    let refused = |problem: String| Error::Shader { name: name.to_owned(), problem };
    translate(name, text, Language::Wgsl, crate::gpu::Checks::Off)?;
    let module = naga::front::wgsl::parse_str(text).map_err(|error| refused(error.to_string()))?;
    let constant = |required: &str| {
        let mut constants = module.constants.iter().map(|(_, constant)| constant);
        let found = constants.find(|constant| constant.name.as_deref() == Some(required))?;
        match module.global_expressions[found.init] {
            naga::Expression::Literal(naga::Literal::U32(value)) => Some(value),
            _ => None,
        }
    };
    let p = constant("P")
        .ok_or_else(|| refused("has no 'const P: u32', the threads along its sinks".to_owned()))?;
    let or_1 = |name| constant(name).unwrap_or(1);
    let entry = module.entry_points.iter().find(|entry| entry.name == "main");
    let entry = entry.ok_or_else(|| refused("has no entry point 'main'".to_owned()))?;
    let config = KernelConfig {
        q: or_1("Q"),
        r: or_1("R"),
        s: or_1("S"),
        own: true,
        dispatch: Dispatch::Ordinary,
        ..KernelConfig::tiled(p)
    };
    if entry.workgroup_size != [config.p, config.q, 1] {
        let [x, y, z] = entry.workgroup_size;
        let required =
            format!("@workgroup_size(P, Q, 1), which is ({}, {}, 1)", config.p, config.q);
        return Err(refused(format!(
            "has @workgroup_size({x}, {y}, {z}), but must have {required}"
        )));
    }
    for (_, variable) in module.global_variables.iter() {
        let Some(binding) = &variable.binding else { continue };
        if binding.group != 0 || binding.binding > 3 {
            let (group, number) = (binding.group, binding.binding);
            let words =
                "there are 0 (sources), 1 (sinks), 2 (partial sums) and 3 (params) of group 0";
            return Err(refused(format!("binds {number} of group {group}, but {words}")));
        }
    }
    config.validate(None)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = include_str!("../../../../docs/lesson/plain.wgsl");

    #[test]
    fn own_kernel_declares_shape_and_errors_name_missing_parts() {
        let config = shape("plain.wgsl", PLAIN).unwrap();
        assert_eq!((config.p, config.q, config.r, config.s, config.own), (64, 1, 1, 1, true));
        let check = |from: &str, to: &str, words: &str| {
            assert!(PLAIN.contains(from), "{from}");
            let error = shape("mine.wgsl", &PLAIN.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("mine.wgsl"), "{error}");
        };
        check("fn main(", "fn mine(", "entry point");
        check(
            "@workgroup_size(P, 1, 1)",
            "@workgroup_size(32, 1, 1)",
            "must have @workgroup_size(P",
        );
        check("@binding(3)", "@binding(7)", "binds 7");
        check("workgroupBarrier();", "workgroupBarrier()", "expected");
        let error = shape("mine.wgsl", "const P: u32 = 2000u;").unwrap_err().to_string();
        assert!(error.contains("main"), "{error}");
    }
}
