//! `film.apng`: an animated PNG, in pure Rust.
//!
//! After the first picture only the rectangle that changed is stored. The number of pictures
//! stands near the file's start and is not known there yet: it is put in at the end.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, no_frames};
use crate::error::{Error, Result};
use crate::render::image::{Image, fast_png};

/// Where the animation control chunk starts: behind the signature (8) and the header chunk (25).
const CONTROL_CHUNK: u64 = 33;

struct Apng {
    // Before `partial`: the file must be closed when that is removed.
    writer: png::Writer<BufWriter<File>>,
    file: File,
    previous: Option<Image>,
    count: u32,
    partial: Partial,
}

pub(super) fn open(target: &Path, options: &FilmOptions) -> Result<Box<dyn FilmWriter>> {
    let (partial, file) = Partial::create_file(target)?;
    let copy = file.try_clone().map_err(|e| Error::io("open", target, e))?;
    let size = options.size;
    let mut encoder = png::Encoder::new(BufWriter::new(copy), size.width(), size.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    fast_png(&mut encoder);
    let writer = (|| {
        encoder.set_animated(i32::MAX as u32, 0)?;
        encoder.set_frame_delay(1, options.frames_per_sec as u16)?;
        encoder.write_header()
    })();
    let writer = writer.map_err(|e| Error::io("write", target, e.into()))?;
    Ok(Box::new(Apng { writer, file, previous: None, count: 0, partial }))
}

impl FilmWriter for Apng {
    fn write(&mut self, frame: &Image) -> Result<()> {
        let [left, top, width, height] = match &self.previous {
            None => [0, 0, frame.size().width(), frame.size().height()],
            Some(previous) => changed_rectangle(previous, frame),
        };
        let written = (|| {
            self.writer.reset_frame_position()?;
            self.writer.set_frame_dimension(width, height)?;
            self.writer.set_frame_position(left, top)?;
            self.writer.write_image_data(&frame.rgb_of(left, top, width, height))
        })();
        written.map_err(|e| Error::io("write", self.partial.target(), e.into()))?;
        self.previous = Some(frame.clone());
        self.count += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, mut file, count, mut partial, .. } = *self;
        if count == 0 {
            return Err(no_frames(partial.target()));
        }
        let written = writer.finish().map_err(std::io::Error::from);
        written
            .and_then(|()| set_frame_count(&mut file, count))
            .map_err(|e| Error::io("write", partial.target(), e))?;
        drop(file);
        partial.complete()
    }
}

/// The smallest rectangle outside of which both pictures agree: left, top, width, height. One
/// pixel where all agree, since a frame cannot be empty.
fn changed_rectangle(before: &Image, after: &Image) -> [u32; 4] {
    let size = after.size();
    let row_bytes = 4 * size.width() as usize;
    let (mut left, mut right) = (row_bytes, 0);
    let (mut top, mut bottom) = (size.height(), 0);
    let rows = before.rgba().chunks_exact(row_bytes).zip(after.rgba().chunks_exact(row_bytes));
    for (y, (old, new)) in (0..).zip(rows) {
        let differs = |(a, b): (&u8, &u8)| a != b;
        let Some(first) = old.iter().zip(new).position(differs) else { continue };
        let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
        (left, right) = (left.min(first), right.max(last));
        (top, bottom) = (top.min(y), y);
    }
    if left > right {
        return [0, 0, 1, 1];
    }
    let (left, right) = (left as u32 / 4, right as u32 / 4);
    [left, top, right - left + 1, bottom - top + 1]
}

/// Puts the number of pictures into the animation control chunk, with its new checksum.
fn set_frame_count(file: &mut File, count: u32) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(CONTROL_CHUNK + 4))?;
    let mut chunk = [0; 12];
    file.read_exact(&mut chunk)?;
    if &chunk[..4] != b"acTL" {
        return Err(std::io::Error::other("the animation control chunk is not where it should be"));
    }
    chunk[4..8].copy_from_slice(&count.to_be_bytes());
    file.seek(SeekFrom::Start(CONTROL_CHUNK + 4))?;
    file.write_all(&chunk)?;
    file.write_all(&crc32fast::hash(&chunk).to_be_bytes())?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::image::PictureSize;

    #[test]
    fn the_changed_rectangle_is_tight() {
        let before = Image::new(PictureSize::new(9, 7).unwrap());
        let mut after = before.clone();
        assert_eq!(changed_rectangle(&before, &after), [0, 0, 1, 1]);
        after.rgba_mut()[4 * (2 * 9 + 3)] = 9;
        assert_eq!(changed_rectangle(&before, &after), [3, 2, 1, 1]);
        after.rgba_mut()[4 * (5 * 9 + 8) + 2] = 9;
        assert_eq!(changed_rectangle(&before, &after), [3, 2, 6, 4]);
    }
}
