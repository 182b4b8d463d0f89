//! `film.apng`: an animated PNG.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, OpenFilm};
use crate::error::Result;
use crate::render::animated_png::{AnimatedPng, COUNT_AT, count_chunk};
use crate::render::image::Image;

struct Apng {
    pictures: AnimatedPng<BufWriter<File>>,
    file: File,
}

pub(super) fn open(target: &Path, options: &FilmOptions) -> Result<OpenFilm> {
    let (partial, file) = Partial::create_file(target)?;
    let out = BufWriter::new(file.try_clone().map_err(|e| partial.failed("open", e))?);
    let pictures = AnimatedPng::begin(out, options.size, options.frames_per_sec as u16);
    let pictures = pictures.map_err(|e| partial.failed("write", e))?;
    Ok(OpenFilm::new(partial, Apng { pictures, file }))
}

impl FilmWriter for Apng {
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()> {
        self.pictures.add(frame).map_err(|e| partial.failed("write", e))
    }

    fn finish(self: Box<Self>, partial: &mut Partial) -> Result<()> {
        let Self { pictures, mut file } = *self;
        let written = pictures.end().and_then(|count| set_frame_count(&mut file, count));
        written.map_err(|e| partial.failed("write", e))?;
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
