//! `frames/`: a folder of pictures `frame_000000.png`, `frame_000001.png`, ...

use std::path::{Path, PathBuf};

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, OpenFilm};
use crate::error::{Error, Result};
use crate::render::image::Image;

struct PngSequence;

pub(super) fn open(target: &Path, _: &FilmOptions) -> Result<OpenFilm> {
    // Without a trailing separator, which would hide the folder's own name.
    let target: PathBuf = target.components().collect();
    if target.is_file() {
        return Err(Error::file(&target, "is a file, but should be a folder for pictures"));
    }
    let partial = Partial::for_target(&target)?;
    std::fs::create_dir(&partial.path).map_err(|e| partial.failed("create the folder", e))?;
    Ok(OpenFilm::new(partial, PngSequence))
}

fn file_name(index: u64) -> String {
    format!("frame_{index:06}.png")
}

/// Whether a file is a picture of an earlier film of this kind.
fn is_ours(name: &str) -> bool {
    name.strip_prefix("frame_")
        .and_then(|rest| rest.strip_suffix(".png"))
        .is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_digit()))
}

impl FilmWriter for PngSequence {
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()> {
        let name = file_name(partial.count);
        frame.save_png(&partial.path.join(&name)).map_err(|error| match error {
            Error::Io { action, source, .. } => {
                Error::io(action, &partial.target.join(name), source)
            }
            error => error,
        })
    }

    fn finish(self: Box<Self>, partial: &mut Partial) -> Result<()> {
        let target = &partial.target;
        if !target.exists() {
            return partial.complete();
        }
        // An existing folder keeps its other files; pictures of an earlier film are removed.
        let entries = std::fs::read_dir(target).map_err(|e| Error::io("read", target, e))?;
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(is_ours) {
                let path = entry.path();
                std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
            }
        }
        for index in 0..partial.count {
            let [from, to] = [&partial.path, target].map(|folder| folder.join(file_name(index)));
            std::fs::rename(from, &to).map_err(|e| Error::io("rename a picture to", &to, e))?;
        }
        Ok(())
    }
}
