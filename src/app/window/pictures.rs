//! Pictures and films of what the window shows, without the panel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::gpu::Gpu;
use crate::render::{
    Camera, DevicePoints, Diagram, Film, FilmOptions, Image, Look, Painter, PictureSize, Points,
};

/// Pictures per second of a film from the window.
pub const FILM_RATE: u32 = 30;

/// One picture of any size, with what is drawn over it.
pub fn picture(
    gpu: &Gpu,
    points: DevicePoints,
    (camera, look): (&Camera, &Look),
    diagram: Option<&Arc<Diagram>>,
    size: PictureSize,
) -> Result<Image> {
    let mut painter = Painter::gpu(&gpu.device, &gpu.queue, size)?;
    painter.draw_over(diagram);
    painter.paint(Points::Device(points), camera, look, 0.0)
}

/// A film in the making.
pub struct Recording {
    film: Film,
    painter: Painter,
    pub path: PathBuf,
    pub pictures: u64,
    /// Seconds since its beginning, by the clock on the wall.
    secs: f64,
}

impl Recording {
    /// Opens the film. Its size is the window's, made even as video encoders want it.
    pub fn begin(gpu: &Gpu, path: &Path, size: PictureSize) -> Result<Self> {
        let even = |side: u32| (side & !1).max(2);
        let size = PictureSize::new(even(size.width()), even(size.height()))?;
        let painter = Painter::gpu(&gpu.device, &gpu.queue, size)?;
        let film = Film::open(path, FilmOptions { size, frames_per_sec: FILM_RATE })?;
        Ok(Self { film, painter, path: path.to_owned(), pictures: 0, secs: 0.0 })
    }

    /// Draws this over its pictures from now on, or nothing.
    pub fn draw_over(&mut self, diagram: Option<&Arc<Diagram>>) {
        self.painter.draw_over(diagram);
    }

    /// Lets `secs` pass, and takes a picture if one is due.
    pub fn pass(
        &mut self,
        secs: f64,
        points: DevicePoints,
        camera: &Camera,
        look: &Look,
    ) -> Result<()> {
        self.secs += secs;
        let due = (self.secs * f64::from(FILM_RATE)) as u64 + 1;
        if due <= self.pictures {
            return Ok(());
        }
        let time = self.pictures as f64 / f64::from(FILM_RATE);
        let image = self.painter.paint(Points::Device(points), camera, look, time)?;
        // A window slower than the film shows some pictures for longer.
        for _ in self.pictures..due.min(self.pictures + u64::from(FILM_RATE)) {
            self.film.write(image.clone())?;
        }
        self.pictures = due;
        Ok(())
    }

    /// Waits for the last picture and gives the film its name.
    pub fn end(self) -> Result<PathBuf> {
        self.film.finish()?;
        Ok(self.path)
    }
}

/// A name that is still free: what a user has made is never replaced.
pub fn free_name(path: &Path) -> PathBuf {
    if !path.exists() {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    (2..)
        .map(|number| path.with_file_name(format!("{stem}-{number}{ending}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b.png");
        assert_eq!(free_name(&path), path);
        std::fs::write(&path, "x").unwrap();
        std::fs::write(folder.path().join("a.b-2.png"), "x").unwrap();
        assert_eq!(free_name(&path), folder.path().join("a.b-3.png"));
    }
}
