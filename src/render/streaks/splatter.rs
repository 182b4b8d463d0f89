//! Streaks drawn on the CPU, by the same formulas as in `streak.wgsl`.

use rayon::prelude::*;

use super::super::bands::{Chunk, draw_bands};
use super::super::camera::View;
use super::super::hdr_image::HdrImage;
use super::super::look_uniform::LookUniform;
use super::super::splat::{Point, RadiusLimits, project_within};
use super::Reach;
use super::course::Course;
use super::path::{MOST_PX, Piece, Streak};
use super::share::share_of;

/// Bodies per task; fixed, so that sums have the same order for any number of threads.
const CHUNK: usize = 4096;
/// Number of tasks whose segments are in memory at the same time.
const CHUNKS: usize = 32;
/// Adds streaks to pictures; reuses its buffers for every picture.
#[derive(Default)]
pub(crate) struct Streaks {
    /// Segments, each with the peak of its streak.
    chunks: Vec<Chunk<(Piece, [f32; 4])>>,
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
        let height = hdr.size().height() as usize;
        self.chunks.resize_with(count.div_ceil(CHUNK).min(CHUNKS), Chunk::default);
        for first in (0..count).step_by(CHUNK * CHUNKS) {
            self.chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
                chunk.clear(height);
                let from = first + index * CHUNK;
                for i in from..count.min(from + CHUNK) {
                    let point = point(i);
                    let course = Course::of(reach, &point);
                    let share = share_of(i as u32, course.length, reach.own_length);
                    if share <= 0.0 {
                        continue;
                    }
                    let sprite = project_within(view, look, limits, &point, MOST_PX);
                    let Some(sprite) = sprite else { continue };
                    let streak = Streak::of(view, &course, &point, &sprite, share);
                    for piece in streak.pieces() {
                        let [top, bottom] = between(piece.heights(), height);
                        if top < bottom {
                            chunk.push((piece, streak.peak), top, bottom - 1);
                        }
                    }
                }
            });
            draw_bands(hdr, &self.chunks, false, |rows, width, first_row, (piece, peak)| {
                add(rows, width, first_row, piece, *peak);
            });
        }
    }
}

/// The range of pixels whose centres (at halves) are between two positions.
fn between([low, high]: [f32; 2], size: usize) -> [usize; 2] {
    [((low - 0.5).ceil().max(0.0) as usize).min(size), ((high + 0.5).max(0.0) as usize).min(size)]
}

/// Adds one segment to the rows of a picture that start at row `first_row`.
fn add(rows: &mut [[f32; 4]], width: usize, first_row: usize, piece: &Piece, peak: [f32; 4]) {
    let [top, bottom] = between(piece.heights(), first_row + rows.len() / width);
    for row in top.max(first_row)..bottom {
        let y = row as f32 + 0.5;
        let [left, right] = between(piece.widths(y), width);
        let start = (row - first_row) * width;
        for column in left..right {
            let light = piece.light([column as f32 + 0.5, y]);
            let pixel = &mut rows[start + column];
            for k in 0..4 {
                pixel[k] += peak[k] * light;
            }
        }
    }
}
