//! Streaks drawn on the CPU, by the same formulas as in `streak.wgsl`.

use rayon::prelude::*;

use super::super::camera::View;
use super::super::splat::{HdrImage, Point, RadiusLimits, project_within};
use super::super::sprite_look::LookUniform;
use super::Reach;
use super::course::Course;
use super::path::{MOST_PX, Piece, Streak};
use super::share::share_of;

/// Bodies per task; fixed, so that sums have the same order for any number of threads.
const CHUNK: usize = 4096;
/// Number of tasks whose segments are in memory at the same time.
const CHUNKS: usize = 32;
/// Rows drawn by one task.
const BAND_ROWS: usize = 24;

#[derive(Default)]
struct Chunk {
    /// Segments, each with the peak of its streak.
    pieces: Vec<(Piece, [f32; 3])>,
    /// For each band, indices into `pieces`, ascending.
    of_band: Vec<Vec<u32>>,
}

/// Adds streaks to pictures; reuses its buffers for every picture.
#[derive(Default)]
pub(crate) struct Streaks {
    chunks: Vec<Chunk>,
}

impl Streaks {
    /// Adds the streaks of `count` bodies, each obtained once through `point`.
    pub fn draw(
        &mut self,
        hdr: &mut HdrImage,
        (view, look, limits): (&View, &LookUniform, RadiusLimits),
        reach: &Reach,
        count: usize,
        point: impl Fn(usize) -> Point + Sync,
    ) {
        let [width, height] = [hdr.size().width(), hdr.size().height()].map(|side| side as usize);
        let bands = height.div_ceil(BAND_ROWS);
        self.chunks.resize_with(count.div_ceil(CHUNK).min(CHUNKS), Chunk::default);
        for first in (0..count).step_by(CHUNK * CHUNKS) {
            self.chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
                chunk.pieces.clear();
                chunk.of_band.resize_with(bands, Vec::new);
                chunk.of_band.iter_mut().for_each(Vec::clear);
                let from = first + index * CHUNK;
                for i in from..count.min(from + CHUNK) {
                    let point = point(i);
                    let course = Course::of(reach, &point);
                    let share = share_of(i as u32, course.way, reach.own_way);
                    if share <= 0.0 {
                        continue;
                    }
                    let sprite = project_within(view, look, limits, &point, MOST_PX);
                    let Some(sprite) = sprite else { continue };
                    let streak = Streak::of(view, &course, &point, &sprite, share);
                    streak.pieces().for_each(|piece| chunk.take(piece, streak.peak, height));
                }
            });
            let chunks = &self.chunks;
            let rows = hdr.pixels_mut().par_chunks_mut(width * BAND_ROWS);
            rows.enumerate().for_each(|(band, rows)| {
                for chunk in chunks {
                    for &index in &chunk.of_band[band] {
                        let (piece, peak) = &chunk.pieces[index as usize];
                        add(rows, width, band * BAND_ROWS, piece, *peak);
                    }
                }
            });
        }
    }
}

impl Chunk {
    fn take(&mut self, piece: Piece, peak: [f32; 3], height: usize) {
        let [top, bottom] = between(piece.heights(), height);
        if top >= bottom {
            return;
        }
        for band in &mut self.of_band[top / BAND_ROWS..=(bottom - 1) / BAND_ROWS] {
            band.push(self.pieces.len() as u32);
        }
        self.pieces.push((piece, peak));
    }
}

/// The range of pixels whose centres (at halves) are between two positions.
fn between([low, high]: [f32; 2], size: usize) -> [usize; 2] {
    [((low - 0.5).ceil().max(0.0) as usize).min(size), ((high + 0.5).max(0.0) as usize).min(size)]
}

/// Adds one segment to the rows of a picture that start at row `first_row`.
fn add(rows: &mut [[f32; 4]], width: usize, first_row: usize, piece: &Piece, peak: [f32; 3]) {
    let [top, bottom] = between(piece.heights(), first_row + rows.len() / width);
    for row in top.max(first_row)..bottom {
        let y = row as f32 + 0.5;
        let [left, right] = between(piece.widths(y), width);
        let start = (row - first_row) * width;
        for column in left..right {
            let light = piece.light([column as f32 + 0.5, y]);
            let pixel = &mut rows[start + column];
            for k in 0..3 {
                pixel[k] += peak[k] * light;
            }
        }
    }
}
