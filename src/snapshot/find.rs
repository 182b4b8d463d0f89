//! Finding the format by name, extension or content.

use std::path::Path;

use super::{Confidence, FORMATS, Format, Modifier, WriteOptions};
use crate::error::{Error, Result};
use crate::messages;

/// The format with this name. Modifiers after the name (`tipsy-be-id`) are set in `options`,
/// overriding what is there.
///
/// # Errors
/// [`Error::Unknown`] for an unknown name or modifier, with the known ones.
pub fn find(spec: &str, options: &mut WriteOptions) -> Result<&'static Format> {
    let suffixes = |format: &Format| {
        let rest = spec.strip_prefix(format.name)?;
        (rest.is_empty() || rest.starts_with('-')).then_some(rest)
    };
    let found = FORMATS.iter().find_map(|format| Some((format, suffixes(format)?)));
    let (format, suffixes) = found
        .ok_or_else(|| unknown("snapshot format", spec.split('-').next().unwrap_or_default()))?;
    for part in suffixes.split('-').skip(1) {
        let modifier = format.modifiers.iter().find(|modifier| modifier.suffix == part);
        (modifier.ok_or_else(|| unknown("snapshot format", spec))?.apply)(options);
    }
    Ok(format)
}

/// The format of the extension of `path`.
///
/// # Errors
/// [`Error::Unknown`] if no format has it.
pub fn by_extension(path: &Path) -> Result<&'static Format> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    let extension = extension.unwrap_or_default();
    FORMATS
        .iter()
        .find(|format| format.extensions.contains(&extension.as_str()))
        .ok_or_else(|| unknown_extension(path, &extension))
}

/// The format of a file, given its first bytes `head`, its length in bytes and its name: by content
/// if that is certain, then by extension, then by what the content might be.
///
/// # Errors
/// [`Error::File`] that shows the first bytes and lists the known formats.
pub fn recognise(head: &[u8], length: u64, path: &Path) -> Result<&'static Format> {
    refuse_foreign(head, path)?;
    let judged = || FORMATS.iter().map(|format| (format, (format.recognise)(head, length)));
    let of = |wanted| judged().find(|(_, confidence)| *confidence == wanted).map(|(f, _)| f);
    of(Confidence::Sure)
        .or_else(|| by_extension(path).ok())
        .or_else(|| of(Confidence::Maybe))
        .ok_or_else(|| {
            let shown = &head[..head.len().min(8)];
            let hex: Vec<_> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            let problem = format!(
                "is not a snapshot of a known kind: it begins with the bytes {} ('{}'); known kinds are: {}",
                hex.join(" "),
                shown.escape_ascii(),
                names(),
            );
            Error::file(path, problem)
        })
}

/// Offsets at which the signature of an HDF5 file can be; a user block may come first.
const HDF5_OFFSETS: [usize; 5] = [0, 512, 1024, 2048, 4096];

/// Whether a file with these first bytes is HDF5.
pub(super) fn is_hdf5(head: &[u8]) -> bool {
    HDF5_OFFSETS
        .iter()
        .any(|&at| head.get(at..).is_some_and(|head| head.starts_with(b"\x89HDF\r\n\x1a\n")))
}

/// Rejects a file whose kind is certain but not supported, and says what to do about it.
pub(super) fn refuse_foreign(head: &[u8], path: &Path) -> Result<()> {
    if cfg!(feature = "hdf5") || !is_hdf5(head) {
        return Ok(());
    }
    let problem =
        "is an HDF5 file, but this library was built without its feature hdf5, which reads them";
    Err(Error::file(path, problem))
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

fn unknown(kind: &'static str, name: &str) -> Error {
    let suffix = |modifier: &Modifier| format!("[-{}]", modifier.suffix);
    let known = FORMATS.iter().map(|format| {
        format.name.to_owned() + &format.modifiers.iter().map(suffix).collect::<String>()
    });
    Error::unknown(kind, name, known)
}

fn unknown_extension(path: &Path, extension: &str) -> Error {
    let known = FORMATS.iter().map(|format| {
        let extensions: Vec<_> = format.extensions.iter().map(|e| format!(".{e}")).collect();
        format!("{} ({})", format.name, extensions.join(" "))
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let is = match extension {
        "" => "no extension that tells the format".to_owned(),
        _ => {
            let extension = messages::piece(extension);
            format!("the extension '.{extension}', which belongs to no snapshot format")
        }
    };
    Error::file(path, format!("has {is}: name a format or use one of its extensions: {known}"))
}
