//! A sequence of pictures as one animated PNG, in pure Rust.
//!
//! After the first picture only the rectangle that changed is stored. The format wants the number
//! of pictures near the start of the file, where it is not known yet: the caller patches it in at
//! the end ([`COUNT_AT`], [`count_chunk`]).

use std::io::{Result, Write};

use super::image::{Image, PictureSize, fast_png};

/// File offset of the bytes of [`count_chunk`]: after the signature (8), the header chunk (25) and
/// a length (4).
pub const COUNT_AT: u64 = 37;

/// An animated PNG being written.
pub struct AnimatedPng<W: Write> {
    writer: png::Writer<W>,
    previous: Option<Image>,
    count: u32,
}

impl<W: Write> AnimatedPng<W> {
    /// Starts an animation in `out`, with pictures of that size.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn begin(out: W, size: PictureSize, frames_per_sec: u16) -> Result<Self> {
        let mut encoder = png::Encoder::new(out, size.width(), size.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        fast_png(&mut encoder);
        encoder.set_animated(i32::MAX as u32, 0)?;
        encoder.set_frame_delay(1, frames_per_sec)?;
        Ok(Self { writer: encoder.write_header()?, previous: None, count: 0 })
    }

    /// Adds a picture, of the size given to [`Self::begin`].
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn add(&mut self, picture: &Image) -> Result<()> {
        let [left, top, width, height] = match &self.previous {
            None => [0, 0, picture.size().width(), picture.size().height()],
            Some(previous) => changed_rectangle(previous, picture),
        };
        self.writer.reset_frame_position()?;
        self.writer.set_frame_dimension(width, height)?;
        self.writer.set_frame_position(left, top)?;
        self.writer.write_image_data(&picture.rgb_of(left, top, width, height))?;
        self.previous = Some(picture.clone());
        self.count += 1;
        Ok(())
    }

    /// Whether no picture has been added yet.
    #[cfg(target_arch = "wasm32")]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes the end, and returns the number of pictures.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn end(self) -> Result<u32> {
        self.writer.finish()?;
        Ok(self.count)
    }
}

/// The chunk that holds the number of pictures, with its checksum but without its length field.
pub fn count_chunk(count: u32) -> [u8; 16] {
    let mut chunk = [0; 16];
    chunk[..4].copy_from_slice(b"acTL");
    chunk[4..8].copy_from_slice(&count.to_be_bytes());
    // Four bytes of 0: loop for ever.
    let checksum = crc32fast::hash(&chunk[..12]);
    chunk[12..].copy_from_slice(&checksum.to_be_bytes());
    chunk
}

/// The smallest rectangle that holds all differences between two pictures: left, top, width,
/// height. One pixel if they are equal, since a frame cannot be empty.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::image::PictureSize;

    #[test]
    fn changed_rectangle_is_tight() {
        let before = Image::new(PictureSize::new(9, 7).unwrap());
        let mut after = before.clone();
        assert_eq!(changed_rectangle(&before, &after), [0, 0, 1, 1]);
        after.rgba_mut()[4 * (2 * 9 + 3)] = 9;
        assert_eq!(changed_rectangle(&before, &after), [3, 2, 1, 1]);
        after.rgba_mut()[4 * (5 * 9 + 8) + 2] = 9;
        assert_eq!(changed_rectangle(&before, &after), [3, 2, 6, 4]);
    }
}
