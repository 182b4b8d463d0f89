//! `picture.png`: one picture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, OpenFilm};
use crate::error::{Error, Result};
use crate::render::image::Image;

/// The file until the picture is written.
struct Still(Option<File>);

pub(super) fn open(target: &Path, _: &FilmOptions) -> Result<OpenFilm> {
    let (partial, file) = Partial::create_file(target)?;
    Ok(OpenFilm::new(partial, Still(Some(file))))
}

impl FilmWriter for Still {
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()> {
        let Some(file) = self.0.take() else {
            return Err(Error::file(
                &partial.target,
                "a .png file holds one picture; name a folder (frames/), film.webp or film.mp4 for more",
            ));
        };
        let mut out = BufWriter::new(file);
        let written = frame.write_png(&mut out).map_err(std::io::Error::from);
        written.and_then(|()| out.flush()).map_err(|e| partial.failed("write", e))
    }

    fn finish(self: Box<Self>, partial: &mut Partial) -> Result<()> {
        partial.complete()
    }
}
