//! Pictures and films of what the window shows, without the panel.
//!
//! The pictures of a film are equally spaced in simulated time: no step begins at or after the time
//! of the next picture before that picture is taken (`Live::go_until`). They always have all
//! effects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::machine::{self, Deferred, Film, FilmOptions};
use gravitile::error::Result;
use gravitile::files;
use gravitile::gpu::Gpu;
use gravitile::render::{Camera, DevicePoints, Diagram, Image, Look, Painter, PictureSize};

/// Pictures per second of a film from the window.
pub const FILM_RATE: u32 = 30;

/// Draws path lines and captions on a complete picture of the state at this time.
pub type OnTop = Box<dyn FnOnce(&mut Image, f64)>;

/// One picture of any size, with the diagram over it and more `on_top`. Natively it is ready on
/// return.
pub fn picture(
    gpu: &Gpu,
    (points, time): (DevicePoints, f64),
    (camera, look): (&Camera, &Look),
    (diagram, on_top): (Option<&Arc<Diagram>>, OnTop),
    size: PictureSize,
) -> Result<Deferred<Result<Image>>> {
    let mut painter = Painter::gpu(&gpu.device, &gpu.queue, size)?;
    painter.draw_over(diagram);
    Ok(finished(painter.begin(points, camera, look, 0.0)?, on_top, time))
}

/// The picture with everything drawn on it.
fn finished(
    coming: impl Future<Output = Result<Image>> + 'static,
    on_top: OnTop,
    time: f64,
) -> Deferred<Result<Image>> {
    Deferred::of(async move {
        let mut image = coming.await?;
        on_top(&mut image, time);
        Ok(image)
    })
}

/// A film being recorded. Its pictures are equally spaced in simulated time, regardless of the
/// speed of engine and window.
pub struct Recording {
    film: Film,
    painter: Painter,
    /// The picture being drawn; only one at a time.
    coming: Option<Deferred<Result<Image>>>,
    pub path: PathBuf,
    pub pictures: u64,
    /// Simulated time between pictures, > 0.
    pause: f64,
    /// The time of the next picture, and the direction of time; `None` before the first.
    next: Option<(f64, f64)>,
}

impl Recording {
    /// Opens the film; its sides are rounded to even numbers for video encoders. `units_per_sec` is
    /// the simulated time per second of the film, > 0.
    pub fn begin(gpu: &Gpu, path: &Path, size: PictureSize, units_per_sec: f64) -> Result<Self> {
        let even = |side: u32| (side & !1).max(2);
        let size = PictureSize::new(even(size.width()), even(size.height()))?;
        let painter = Painter::gpu(&gpu.device, &gpu.queue, size)?;
        let film = Film::open(path, FilmOptions { size, frames_per_sec: FILM_RATE })?;
        let (path, pause) = (path.to_owned(), units_per_sec / f64::from(FILM_RATE));
        Ok(Self { film, painter, coming: None, path, pictures: 0, pause, next: None })
    }

    /// Size of its pictures.
    pub fn size(&self) -> PictureSize {
        self.painter.size()
    }

    /// Sets the diagram over its pictures, or none.
    pub fn draw_over(&mut self, diagram: Option<&Arc<Diagram>>) {
        self.painter.draw_over(diagram);
    }

    /// Continues with other bodies: their first state is the next picture.
    pub fn go_on(&mut self) {
        self.next = None;
    }

    /// The time from which on no step may begin before the next picture is taken: now before the
    /// first picture or after time was reversed, so that a complete state is drawn. The sign of
    /// `dt` is the direction of time.
    pub fn until(&self, (now, dt): (f64, f64)) -> f64 {
        self.next.filter(|(_, direction)| *direction == dt.signum()).map_or(now, |(time, _)| time)
    }

    /// Simulated time between pictures.
    pub fn pause(&self) -> f64 {
        self.pause
    }

    /// Takes a picture, with the drawings on it, if one is due at simulated time `time`; returns
    /// whether it was.
    pub fn pass(
        &mut self,
        (time, dt): (f64, f64),
        points: DevicePoints,
        camera: &Camera,
        look: &Look,
        on_top: OnTop,
    ) -> Result<bool> {
        self.take_in()?;
        if self.coming.is_some() || machine::is_busy(&self.film) {
            return Ok(false);
        }
        let direction = dt.signum();
        match &mut self.next {
            Some((_, towards)) if *towards != direction => {
                // Time was reversed: the next picture comes one interval later.
                self.next = Some((time + direction * self.pause, direction));
                return Ok(false);
            }
            Some((next, _)) if (time - *next) * direction < -1e-6 * dt.abs() => return Ok(false),
            Some((next, _)) => {
                // Steps longer than the interval give one picture each.
                let missed = ((time - *next) * direction / self.pause + 1e-6).floor().max(0.0);
                *next += direction * self.pause * (missed + 1.0);
            }
            None => self.next = Some((time + direction * self.pause, direction)),
        }
        let film_secs = self.pictures as f64 / f64::from(FILM_RATE);
        let coming = self.painter.begin(points, camera, look, film_secs)?;
        self.coming = Some(finished(coming, on_top, time));
        self.pictures += 1;
        self.take_in()?;
        Ok(true)
    }

    /// Writes the picture being drawn to the film, if it is ready.
    fn take_in(&mut self) -> Result<()> {
        if let Some(image) = self.coming.as_ref().and_then(Deferred::take) {
            self.coming = None;
            self.film.write(image?)?;
        }
        Ok(())
    }

    /// Completes the film and returns its path; in a page the picture being drawn is lost.
    pub fn end(self) -> Result<PathBuf> {
        self.film.finish()?;
        Ok(self.path)
    }
}

/// The absolute path, for messages.
pub fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// A path at which no file exists: the given one, or a numbered one. A user's file is never
/// replaced.
pub fn free_name(path: &Path) -> PathBuf {
    if !files::exists(path) {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    (2..)
        .map(|number| path.with_file_name(format!("{stem}-{number}{ending}")))
        .find(|path| !files::exists(path))
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::render::Style;
    use gravitile::render::captions::Captions;
    use gravitile::render::writing::Caption;

    #[test]
    fn existing_name_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b.png");
        assert_eq!(free_name(&path), path);
        std::fs::write(&path, "x").unwrap();
        std::fs::write(folder.path().join("a.b-2.png"), "x").unwrap();
        assert_eq!(free_name(&path), folder.path().join("a.b-3.png"));
    }

    #[test]
    fn saved_pictures_have_captions() {
        let size = PictureSize::new(320, 180).unwrap();
        let lit = |captions| {
            let content = Caption { captions, title: "Night".to_owned(), ..Caption::default() };
            let on_top: OnTop = Box::new(move |image, time| {
                let bodies = gravitile::scene::test_bodies(10, gravitile::scene::Spread::Even);
                let look = Look::new(&Style::default(), &bodies, None).unwrap();
                content.draw(image, (&Camera::default(), &look, &bodies.components), time);
            });
            let image = finished(async move { Ok(Image::new(size)) }, on_top, 1.0);
            let image = image.take().unwrap().unwrap();
            image.rgba().chunks(4).filter(|pixel| pixel[0] > 100).count()
        };
        assert_eq!(lit(Captions::default()), 0);
        for name in Captions::ALL {
            assert!(lit(Captions::from_names(name).unwrap()) > 5, "{name}");
        }
    }
}
