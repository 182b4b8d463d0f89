//! `film.apng`: an animated PNG.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, no_frames};
use crate::error::{Error, Result};
use crate::render::animated_png::{AnimatedPng, COUNT_AT, count_chunk};
use crate::render::image::Image;

struct Apng {
    // Declared before `partial`: the file must be closed before it is removed.
    pictures: AnimatedPng<BufWriter<File>>,
    file: File,
    partial: Partial,
}

pub(super) fn open(target: &Path, options: &FilmOptions) -> Result<Box<dyn FilmWriter>> {
    let (partial, file) = Partial::create_file(target)?;
    let copy = file.try_clone().map_err(|e| Error::io("open", target, e))?;
    let out = BufWriter::new(copy);
    let pictures = AnimatedPng::begin(out, options.size, options.frames_per_sec as u16);
    let pictures = pictures.map_err(|e| Error::io("write", target, e))?;
    Ok(Box::new(Apng { pictures, file, partial }))
}

impl FilmWriter for Apng {
    fn write(&mut self, frame: &Image) -> Result<()> {
        let added = self.pictures.add(frame);
        added.map_err(|e| Error::io("write", self.partial.target(), e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { pictures, mut file, mut partial } = *self;
        if pictures.is_empty() {
            return Err(no_frames(partial.target()));
        }
        let written = pictures.end();
        written
            .and_then(|count| set_frame_count(&mut file, count))
            .map_err(|e| Error::io("write", partial.target(), e))?;
        drop(file);
        partial.complete()
    }
}

/// Writes the number of pictures at its offset.
fn set_frame_count(file: &mut File, count: u32) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(COUNT_AT))?;
    let mut name = [0; 4];
    file.read_exact(&mut name)?;
    if &name != b"acTL" {
        return Err(std::io::Error::other("the animation control chunk is not where it should be"));
    }
    file.seek(SeekFrom::Start(COUNT_AT))?;
    file.write_all(&count_chunk(count))?;
    file.flush()
}
