//! Shapes drawn by many threads: each task sorts its shapes into horizontal bands of the picture,
//! and then each band is drawn by one task, in the shapes' order. No two tasks write the same pixel
//! and every pixel's sum has a fixed order, so the picture is the same for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::hdr_image::HdrImage;

/// Rows drawn by one task, few enough to stay in the cache.
const BAND_ROWS: usize = 24;

/// The shapes of one task.
pub(super) struct Chunk<T> {
    shapes: Vec<T>,
    /// For each band, indices into `shapes`, ascending.
    of_band: Vec<Vec<u32>>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self { shapes: Vec::new(), of_band: Vec::new() }
    }
}

impl<T> Chunk<T> {
    /// Drops all shapes, for a picture of `height` rows.
    pub fn clear(&mut self, height: usize) {
        self.shapes.clear();
        self.of_band.resize_with(height.div_ceil(BAND_ROWS), Vec::new);
        self.of_band.iter_mut().for_each(Vec::clear);
    }

    /// Adds a shape that covers the rows from `top` to `bottom`, which may lie below the picture.
    pub fn push(&mut self, shape: T, top: usize, bottom: usize) {
        let last = self.of_band.len() - 1;
        let [top, bottom] = [top, bottom].map(|row| (row / BAND_ROWS).min(last));
        for band in &mut self.of_band[top..=bottom] {
            band.push(self.shapes.len() as u32);
        }
        self.shapes.push(shape);
    }
}

/// Adds the shapes of all chunks to `hdr`, over black if it `clears` the picture first. `add` gets
/// the rows of a band, the picture's width, the first of the rows and a shape.
pub(super) fn draw_bands<T: Sync>(
    hdr: &mut HdrImage,
    chunks: &[Chunk<T>],
    clears: bool,
    add: impl Fn(&mut [[f32; 4]], usize, usize, &T) + Sync,
) {
    let width = hdr.size().width() as usize;
    hdr.pixels_mut().par_chunks_mut(width * BAND_ROWS).enumerate().for_each(|(band, rows)| {
        if clears {
            rows.fill([0.0; 4]);
        }
        for chunk in chunks {
            for &index in &chunk.of_band[band] {
                add(rows, width, band * BAND_ROWS, &chunk.shapes[index as usize]);
            }
        }
    });
}

/// The pixels along an axis, of `end` in all, whose centres (at halves) are within `radius` of
/// `centre`.
pub(super) fn covered(centre: f32, radius: f32, end: usize) -> Range<usize> {
    let [low, high] = [centre - radius, centre + radius].map(|at| (at + 0.5).max(0.0) as usize);
    low..high.min(end)
}
