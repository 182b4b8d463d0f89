//! `film.webp`: an animated WebP, lossy, for browsers.
//!
//! Each picture is a frame of its own (VP8, encoded by libwebp), in a container written here:
//! length fields precede what they count, and are patched at the end.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, OpenFilm};
use crate::error::{Error, Result};
use crate::render::image::Image;

struct WebP {
    file: File,
    frames_per_sec: u64,
    bytes: u64,
}

/// A chunk: its name, its length, its content, and a padding byte if that is odd.
fn chunk(name: &[u8; 4], content: &[&[u8]]) -> Vec<u8> {
    let length: usize = content.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(length + 9);
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    content.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes.resize(bytes.len() + length % 2, 0);
    bytes
}

/// The low 24 bits.
fn three_bytes(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.to_le_bytes();
    [a, b, c]
}

pub(super) fn open(target: &Path, options: &FilmOptions) -> Result<OpenFilm> {
    let (partial, file) = Partial::create_file(target)?;
    let mut film = WebP { file, frames_per_sec: options.frames_per_sec.into(), bytes: 0 };
    let (width, height) = (options.size.width(), options.size.height());
    const ANIMATION: u8 = 2;
    let canvas = [three_bytes(width - 1), three_bytes(height - 1)].concat();
    film.put(b"RIFF\0\0\0\0WEBP", &partial)?;
    film.put(&chunk(b"VP8X", &[&[ANIMATION, 0, 0, 0], &canvas]), &partial)?;
    // On black, looping for ever.
    film.put(&chunk(b"ANIM", &[&[0, 0, 0, 255], &[0, 0]]), &partial)?;
    Ok(OpenFilm::new(partial, film))
}

impl WebP {
    fn put(&mut self, bytes: &[u8], partial: &Partial) -> Result<()> {
        self.bytes += bytes.len() as u64;
        if self.bytes > u64::from(u32::MAX) {
            let why = "a WebP ends at 4 GiB: fewer or smaller pictures, or film.mp4";
            return Err(Error::file(&partial.target, why));
        }
        self.file.write_all(bytes).map_err(|e| partial.failed("write", e))
    }
}

/// The chunk of picture data in a WebP file of one picture.
fn picture_data(file: &[u8]) -> Option<&[u8]> {
    let mut rest = file.get(12..)?;
    loop {
        let length = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        let end = 8 + length + length % 2;
        if matches!(&rest[..4], b"VP8 " | b"VP8L") {
            return rest.get(..end);
        }
        rest = rest.get(end..)?;
    }
}

impl FilmWriter for WebP {
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()> {
        let (width, height) = (frame.size().width(), frame.size().height());
        let made = frame.webp()?;
        let data = picture_data(&made)
            .ok_or_else(|| Error::Outside("libwebp made a picture without data".into()))?;
        // Whole milliseconds, rounded so that the total length of the film is exact.
        let at = |picture: u64| (1000 * picture + self.frames_per_sec / 2) / self.frames_per_sec;
        let shown = (at(partial.count + 1) - at(partial.count)) as u32;
        const OVERWRITE: u8 = 2;
        let place = [
            three_bytes(0),
            three_bytes(0),
            three_bytes(width - 1),
            three_bytes(height - 1),
            three_bytes(shown),
        ];
        self.put(&chunk(b"ANMF", &[&place.concat(), &[OVERWRITE], data]), partial)
    }

    fn finish(self: Box<Self>, partial: &mut Partial) -> Result<()> {
        let Self { mut file, bytes, .. } = *self;
        let length = (bytes - 8) as u32;
        file.seek(SeekFrom::Start(4))
            .and_then(|_| file.write_all(&length.to_le_bytes()))
            .and_then(|()| file.flush())
            .map_err(|e| partial.failed("write", e))?;
        drop(file);
        partial.complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::image::PictureSize;

    #[test]
    fn webp_film_frames_decode_to_pictures() {
        let size = PictureSize::new(50, 31).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("film.webp");
        let mut film = open(&target, &FilmOptions { size, frames_per_sec: 30 }).unwrap();
        for picture in 0..3u8 {
            let mut image = Image::new(size);
            for (i, pixel) in image.rgba_mut().chunks_mut(4).enumerate() {
                pixel[..3].copy_from_slice(&[60 * picture, (i % 50) as u8, 90]);
            }
            film.write(&image).unwrap();
        }
        film.finish().unwrap();
        let bytes = std::fs::read(&target).unwrap();
        assert_eq!(u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize, bytes.len() - 8);
        let (mut rest, mut shown, mut reds) = (&bytes[12..], 0, Vec::new());
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
            if &rest[..4] == b"ANMF" {
                shown += u32::from_le_bytes([rest[20], rest[21], rest[22], 0]);
                // The frame's data in a file of its own.
                let data = &rest[24..8 + length];
                let riff = [&b"RIFF"[..], &(data.len() as u32 + 4).to_le_bytes(), b"WEBP", data];
                let picture = webp::Decoder::new(&riff.concat()).decode().unwrap();
                assert_eq!((picture.width(), picture.height()), (50, 31));
                reds.push(picture[3 * (15 * 50 + 25)]);
            }
            rest = &rest[8 + length + length % 2..];
        }
        assert_eq!(shown, 100, "milliseconds");
        assert!(reds.iter().zip([0u8, 60, 120]).all(|(a, b)| a.abs_diff(b) < 12), "{reds:?}");
    }
}
