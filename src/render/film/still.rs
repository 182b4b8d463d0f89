//! `picture.png`: one picture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, no_frames};
use crate::error::{Error, Result};
use crate::render::image::Image;

struct Still {
    partial: Partial,
    file: Option<File>,
}

pub(super) fn open(target: &Path, _: &FilmOptions) -> Result<Box<dyn FilmWriter>> {
    let (partial, file) = Partial::create_file(target)?;
    Ok(Box::new(Still { partial, file: Some(file) }))
}

impl FilmWriter for Still {
    fn write(&mut self, frame: &Image) -> Result<()> {
        let target = self.partial.target();
        let Some(file) = self.file.take() else {
            return Err(Error::file(
                target,
                "a .png file holds one picture; name a folder (frames/), film.webp or film.mp4 for more",
            ));
        };
        let mut out = BufWriter::new(file);
        frame
            .write_png(&mut out)
            .map_err(std::io::Error::from)
            .and_then(|()| out.flush())
            .map_err(|e| Error::io("write", target, e))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.file.is_some() {
            return Err(no_frames(self.partial.target()));
        }
        self.partial.complete()
    }
}
