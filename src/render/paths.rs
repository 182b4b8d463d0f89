//! Orbits of a few bodies: thin lines in space, drawn over finished pictures, brightest at the
//! latest positions.
//!
//! Lines are in world space, not in the picture: the camera may move freely. They are for scenes of
//! two or three bodies, whose orbits nothing else shows.

use std::collections::VecDeque;

use glam::{DVec2, DVec3};

use super::camera::Camera;
use super::directing::hermite_weights;
use super::image::{Image, PictureSize};
use super::legend::plain_colours;
use crate::bodies::Bodies;

/// Lines fade within this fraction of the run's length.
pub const FADES_WITHIN: f64 = 1.0 / 3.0;
/// No lines are drawn with more bodies.
pub const MOST_BODIES: usize = 3;
/// Number of states stored.
const MOST_STATES: usize = 4096;
/// Length in pixels of the segments of a line between two states, and their largest number.
const PIECE_PX: f64 = 6.0;
const MOST_PIECES: f64 = 24.0;
/// Half a line's width, in pixels of a picture of 720 lines.
const HALF_WIDTH_PX: f64 = 0.6;
/// How bright a line is at its head.
const STRENGTH: f64 = 0.75;

/// Recorded orbits of a few bodies.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Times and positions, in the order of the run.
    states: VecDeque<(f64, Vec<DVec3>)>,
    /// The simulated time within which a line fades, > 0.
    fades_in: f64,
}

/// A straight segment of a line, in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The body that the line belongs to.
    pub body: usize,
    /// Its ends, in pixels of the picture.
    pub ends: [DVec2; 2],
    /// How bright it is, 0 to 1.
    pub strength: f64,
}

impl Paths {
    /// Lines that fade within a simulated time > 0.
    pub fn new(fades_in: f64) -> Self {
        Self { states: VecDeque::new(), fades_in }
    }

    /// Whether this many bodies get lines.
    pub fn suit(count: usize) -> bool {
        (1..=MOST_BODIES).contains(&count)
    }

    /// Clears all paths, after the bodies were replaced or moved.
    pub fn clear(&mut self) {
        self.states.clear();
    }

    /// Records the positions at a time. States at later times are dropped, as after going back in
    /// time.
    pub fn take(&mut self, time: f64, places: &[DVec3]) {
        if !Self::suit(places.len()) || !places.iter().all(|place| place.is_finite()) {
            return;
        }
        if self.states.back().is_some_and(|(_, known)| known.len() != places.len()) {
            self.clear();
        }
        let direction = match (self.states.front(), self.states.back()) {
            (Some((first, _)), Some((last, _))) if first != last => (last - first).signum(),
            _ => 0.0,
        };
        let is_ahead = |known: f64| (known - time) * direction > 0.0 || known == time;
        while self.states.back().is_some_and(|(known, _)| is_ahead(*known)) {
            self.states.pop_back();
        }
        self.states.push_back((time, places.to_vec()));
        let is_old = |known: f64| (time - known).abs() > self.fades_in;
        while self.states.len() > MOST_STATES
            || self.states.front().is_some_and(|(known, _)| is_old(*known))
        {
            self.states.pop_front();
        }
    }

    /// The visible segments of the lines, oldest first.
    pub fn pieces(&self, camera: &Camera, size: PictureSize) -> Vec<Piece> {
        let Some((now, places)) = self.states.back() else { return Vec::new() };
        let mut pieces = Vec::new();
        for body in 0..places.len() {
            for index in 1..self.states.len() {
                self.between(index, body, *now, (camera, size), &mut pieces);
            }
        }
        pieces
    }

    /// The line of a body from the state before `index` to that one: a cubic with velocities
    /// estimated from the neighbouring states.
    fn between(
        &self,
        index: usize,
        body: usize,
        now: f64,
        (camera, size): (&Camera, PictureSize),
        pieces: &mut Vec<Piece>,
    ) {
        let last = self.states.len() - 1;
        let at = |k: usize| (self.states[k].0, self.states[k].1[body]);
        let ((t0, from), (t1, to)) = (at(index - 1), at(index));
        let velocity = |k: usize| {
            let ((before, a), (after, b)) = (at(k.saturating_sub(1)), at((k + 1).min(last)));
            (b - a) / (after - before)
        };
        let span = t1 - t0;
        let slopes = [velocity(index - 1) * span, velocity(index) * span];
        let place = |part: f64| {
            let [a, slope_a, b, slope_b] = hermite_weights(part);
            from * a + slopes[0] * slope_a + to * b + slopes[1] * slope_b
        };
        let pixel = |point: DVec3| camera.pixel_of(point, size).map(|(at, _)| at);
        let (Some(first), Some(end)) = (pixel(from), pixel(to)) else { return };
        let count = ((end - first).length() / PIECE_PX).ceil().clamp(1.0, MOST_PIECES);
        let mut before = first;
        for piece in 1..=count as u32 {
            let part = f64::from(piece) / count;
            let Some(after) = pixel(place(part)) else { return };
            let age = (now - (t0 + span * part)).abs() / self.fades_in;
            let strength = STRENGTH * (1.0 - age).clamp(0.0, 1.0);
            pieces.push(Piece { body, ends: [before, after], strength });
            before = after;
        }
    }

    /// Draws the lines on a finished picture by `camera`, in the colours of the bodies.
    pub fn draw(&self, image: &mut Image, camera: &Camera, colours: &[[u8; 3]]) {
        let size = image.size();
        let pieces = self.pieces(camera, size);
        if pieces.is_empty() {
            return;
        }
        let half_px = HALF_WIDTH_PX * (f64::from(size.shorter_side()) / 720.0).max(1.0);
        let mut covered = vec![0.0f32; size.width() as usize * size.height() as usize];
        for (body, &colour) in colours.iter().enumerate() {
            covered.fill(0.0);
            for piece in pieces.iter().filter(|piece| piece.body == body) {
                cover(&mut covered, size, piece, half_px);
            }
            // Lines add light to the picture.
            for (pixel, &part) in image.rgba_mut().chunks_exact_mut(4).zip(&covered) {
                for (byte, wanted) in pixel.iter_mut().zip(colour).filter(|_| part > 0.0) {
                    let left = 255.0 - f32::from(*byte);
                    *byte =
                        (f32::from(*byte) + left * part * f32::from(wanted) / 255.0 + 0.5) as u8;
                }
            }
        }
    }
}

/// Rasterises the coverage of a segment: where segments meet, the brighter one counts.
fn cover(covered: &mut [f32], size: PictureSize, piece: &Piece, half_px: f64) {
    let [from, to] = piece.ends;
    let reach = half_px + 1.0;
    let span = |a: f64, b: f64, end: u32| {
        let low = (a.min(b) - reach).floor().clamp(0.0, f64::from(end)) as usize;
        let high = (a.max(b) + reach).ceil().clamp(0.0, f64::from(end)) as usize;
        low..high
    };
    let span_px = to - from;
    let square = span_px.length_squared().max(1e-12);
    for y in span(from.y, to.y, size.height()) {
        for x in span(from.x, to.x, size.width()) {
            let away = DVec2::new(x as f64 + 0.5, y as f64 + 0.5) - from;
            let along = (away.dot(span_px) / square).clamp(0.0, 1.0);
            let part = (half_px + 0.5 - (away - span_px * along).length()).clamp(0.0, 1.0);
            let pixel = &mut covered[y * size.width() as usize + x];
            *pixel = pixel.max((part * piece.strength) as f32);
        }
    }
}

/// The colours of a few bodies' components, as the screen shows them.
pub fn colours(bodies: &Bodies) -> Vec<[u8; 3]> {
    let of_components = plain_colours(&bodies.components);
    let of = |component: &u8| of_components.get(usize::from(*component)).copied();
    bodies.component.iter().map(|component| of(component).unwrap_or([255; 3])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Preset;

    fn size() -> PictureSize {
        PictureSize::new(400, 300).unwrap()
    }

    fn circle(time: f64) -> [DVec3; 2] {
        let (sin, cos) = libm::sincos(time);
        [DVec3::new(cos, sin, 0.0), DVec3::new(-cos, -sin, 0.0)]
    }

    fn around(times: impl Iterator<Item = f64>, fades_in: f64) -> Paths {
        let mut paths = Paths::new(fades_in);
        times.for_each(|time| paths.take(time, &circle(time)));
        paths
    }

    #[test]
    fn interpolated_path_of_circular_orbit_stays_circular_and_fades() {
        let camera = Camera { distance: 6.0, ..Camera::default().seen_from(Preset::Top) };
        // Ten states per turn.
        let paths = around((0..20).map(|k| 0.628 * f64::from(k)), 100.0);
        let pieces = paths.pieces(&camera, size());
        let radius = |point: DVec2| point.distance(DVec2::new(200.0, 150.0));
        let wanted = radius(camera.pixel_of(DVec3::X, size()).unwrap().0);
        // The first and last interval have no neighbours beyond.
        let inner = pieces.iter().filter(|piece| (0.7..0.74).contains(&piece.strength));
        let mut count = 0;
        for piece in inner {
            assert!((radius(piece.ends[1]) / wanted - 1.0).abs() < 0.01, "{piece:?}");
            count += 1;
        }
        assert!(count > 100, "{count}");
        for body in 0..2 {
            let of: Vec<_> = pieces.iter().filter(|piece| piece.body == body).collect();
            assert!(of.windows(2).all(|w| w[0].strength < w[1].strength));
            assert!(of.windows(2).all(|w| w[0].ends[1] == w[1].ends[0]));
        }
    }

    #[test]
    fn paths_drop_later_and_faded_states() {
        let mut paths = around((0..10).map(f64::from), 5.5);
        assert_eq!(paths.states.front().unwrap().0, 4.0);
        paths.take(6.5, &circle(6.5));
        let times: Vec<f64> = paths.states.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [4.0, 5.0, 6.0, 6.5]);
        // Recording also works when times run backwards past the beginning.
        for time in [3.0, 2.0, 1.0] {
            paths.take(time, &circle(time));
        }
        assert_eq!(paths.states.len(), 3);
        paths.take(1.0, &[DVec3::ZERO, DVec3::ONE]);
        assert_eq!(paths.states.back().unwrap().1[1], DVec3::ONE, "the newest of one time counts");
        paths.take(0.0, &[DVec3::ZERO; 3]);
        assert_eq!(paths.states.len(), 1, "other bodies");
        paths.take(0.5, &[DVec3::ZERO; 4]);
        paths.take(0.5, &[DVec3::NAN; 3]);
        assert_eq!(paths.states.len(), 1, "too many, or nowhere");
    }

    #[test]
    fn path_lines_brighten_only_visited_pixels() {
        let camera = Camera { distance: 6.0, ..Camera::default().seen_from(Preset::Top) };
        let paths = around((0..70).map(|k| 0.1 * f64::from(k)), 100.0);
        let mut image = Image::new(size());
        image.rgba_mut().fill(40);
        paths.draw(&mut image, &camera, &[[255, 0, 0], [0, 0, 255]]);
        let (at, _) = camera.pixel_of(DVec3::new(0.0, 1.0, 0.0), size()).unwrap();
        let [r, g, b, a] = image.pixel(at.x as u32, at.y as u32).unwrap();
        assert!(r > 120 && b > 120 && g == 40 && a == 40, "{r} {g} {b} {a}");
        assert_eq!(image.pixel(200, 150).unwrap(), [40; 4]);
        let lit = image.rgba().chunks_exact(4).filter(|pixel| pixel[0] > 60).count();
        assert!((200..2500).contains(&lit), "{lit}");
    }
}
