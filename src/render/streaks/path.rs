//! The path of one streak through the picture. Mirrors `streak_path.wgsl`.

use super::super::camera::View;
use super::super::splat::{Point, Sprite};
use super::STREAK_PART;
use super::course::{Course, MOST_PIECES};

/// Largest number of points of a streak.
const POINTS: usize = MOST_PIECES + 1;
/// Points nearer than this to the previous one are left out.
pub const LEAST_PX: f32 = 0.5;
/// A point farther than this from the previous one ends the streak, and a body this far outside the
/// picture has none.
pub const MOST_PX: f32 = 1e6;
/// Half the width of the tail, relative to the head's.
pub const TAIL_PART: f32 = 0.4;
/// Its lower bound in pixels: anything finer falls between pixel centres.
pub const TAIL_PX: f32 = 1.5;
/// Light of a streak, as a multiple of its sprite's.
pub const STREAK_LIGHT: f32 = (STREAK_PART / (1.0 - STREAK_PART)) as f32;
/// Light of the profile (1 - u^2)^4 across a line of half width 1, per unit of length.
pub const LINE_LIGHT: f32 = 0.812_698_4;
/// Light of that profile over half of a disk of radius 1.
pub const HALF_DISK_LIGHT: f32 = 0.314_159_27;

type Pair = [f32; 2];

fn dot(a: Pair, b: Pair) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

fn minus(a: Pair, b: Pair) -> Pair {
    [a[0] - b[0], a[1] - b[1]]
}

fn distance(a: Pair, b: Pair) -> f32 {
    let d = minus(a, b);
    dot(d, d).sqrt()
}

/// A body's streak on the picture.
#[derive(Clone, Copy, Debug)]
pub struct Streak {
    points: [Pair; POINTS],
    count: usize,
    /// Length from head to tail.
    pub length_px: f32,
    /// Half the width at the head.
    pub radius_px: f32,
    /// Fraction by which the tail is narrower.
    pub taper: f32,
    /// How far light fades towards the tail, 0 to 1.
    pub fading: f32,
    /// Mean intensity along the centre line, linear RGB, and as a single star.
    pub peak: [f32; 4],
}

impl Streak {
    /// The streak along the past path of the body that `sprite` shows, which may be outside the
    /// picture; with its light multiplied by `share`.
    pub fn of(view: &View, course: &Course, point: &Point, sprite: &Sprite, share: f32) -> Self {
        let mut points = [sprite.centre_px; POINTS];
        let (mut count, mut length_px) = (1, 0.0);
        let mut last = sprite.centre_px;
        for back in course.offsets() {
            let offset: [f32; 3] =
                std::array::from_fn(|i| point.position[i] - view.eye_in_world[i] + back[i]);
            let depth = view.depth(offset);
            let is_in_front = depth > view.near;
            if !is_in_front {
                break;
            }
            let (place, _) = view.project(offset, depth);
            let step = distance(place, last);
            let is_near = step < MOST_PX;
            if !is_near {
                break;
            }
            if step >= LEAST_PX {
                points[count] = place;
                count += 1;
                length_px += step;
                last = place;
            }
        }
        let radius_px = sprite.radius_px;
        let fading = length_px / (length_px + 2.0 * radius_px);
        let taper = fading * (1.0 - TAIL_PART.max(TAIL_PX / radius_px)).max(0.0);
        // Total light of the shape for an intensity of 1: the line, and half disks at its ends.
        let line = LINE_LIGHT * radius_px * length_px * (1.0 - 0.5 * taper + 0.25 * taper * fading);
        let tail = (1.0 - taper) * (1.0 - taper) * (1.0 - fading);
        let ends = HALF_DISK_LIGHT * radius_px * radius_px * (1.0 + 2.0 * fading + tail);
        let sprite_light = 2.0 * HALF_DISK_LIGHT * radius_px * radius_px;
        let part = share * STREAK_LIGHT * sprite_light / (line + ends);
        let [r, g, b] = sprite.peak;
        let peak = [r, g, b, sprite.star].map(|c| c * part);
        Self { points, count, length_px, radius_px, taper, fading, peak }
    }

    /// Its points in the picture, from the head on: at least one.
    pub fn points(&self) -> &[Pair] {
        &self.points[..self.count]
    }

    /// Its segments from the head on: at least one, which has no length for a body at rest.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        let mut before_px = 0.0;
        (0..(self.count - 1).max(1)).map(move |index| {
            let piece = Piece::new(self, index, before_px);
            before_px += distance(piece.first, piece.last);
            piece
        })
    }
}

/// A straight segment of a streak.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    first: Pair,
    last: Pair,
    own: Pair,
    /// Across the joint with the previous segment; `None` at the head.
    enters: Option<Pair>,
    /// Across the joint with the next segment; `None` at the tail.
    leaves: Option<Pair>,
    before_px: f32,
    length_px: f32,
    radius_px: f32,
    taper: f32,
    fading: f32,
}

/// The unit vector from one point to another; to the right if they coincide.
fn direction(from: Pair, to: Pair) -> Pair {
    let offset = minus(to, from);
    let length = dot(offset, offset).sqrt();
    if length > 0.0 { offset.map(|x| x / length) } else { [1.0, 0.0] }
}

/// Along the bisector of two neighbours, which leaves neither gap nor overlap; perpendicular to the
/// first if they fold back.
fn joint(own: Pair, other: Pair) -> Pair {
    let both = [own[0] + other[0], own[1] + other[1]];
    if dot(both, both) >= 1.0 { both } else { own }
}

impl Piece {
    fn new(streak: &Streak, index: usize, before_px: f32) -> Self {
        let points = streak.points();
        let (first, last) = (points[index], points[(index + 1).min(points.len() - 1)]);
        let own = direction(first, last);
        let before = index.checked_sub(1).map(|k| direction(points[k], first));
        let after = points.get(index + 2).map(|&next| direction(last, next));
        Self {
            first,
            last,
            own,
            enters: before.map(|other| joint(own, other)),
            leaves: after.map(|other| joint(own, other)),
            before_px,
            length_px: streak.length_px,
            radius_px: streak.radius_px,
            taper: streak.taper,
            fading: streak.fading,
        }
    }

    fn margin_px(&self, end: Option<Pair>) -> f32 {
        let own = self.own;
        end.map_or(self.radius_px, |end| {
            self.radius_px * (own[0] * end[1] - own[1] * end[0]).abs() / dot(own, end)
        })
    }

    /// The range of positions that it covers along its direction.
    fn along(&self) -> [f32; 2] {
        let length = distance(self.first, self.last);
        [-self.margin_px(self.enters), length + self.margin_px(self.leaves)]
    }

    /// The lowest and highest row of the picture that it covers.
    pub fn heights(&self) -> [f32; 2] {
        let [least, most] = self.along();
        let middle = self.first[1] + self.own[1] * 0.5 * (least + most);
        let half = 0.5 * (most - least) * self.own[1].abs() + self.radius_px * self.own[0].abs();
        [middle - half, middle + half]
    }

    /// The range of columns that it covers in the row at that height.
    pub fn widths(&self, y: f32) -> [f32; 2] {
        let (down, own) = (y - self.first[1], self.own);
        let radius = self.radius_px;
        let across = crossing(own[0] * down, -own[1], [-radius, radius]);
        let along = crossing(own[1] * down, own[0], self.along());
        [across[0].max(along[0]) + self.first[0], across[1].min(along[1]) + self.first[0]]
    }

    /// Its light at that point, relative to the streak's peak.
    pub fn light(&self, place: Pair) -> f32 {
        let (from, to) = (minus(place, self.first), minus(place, self.last));
        let is_outside = self.enters.is_some_and(|enters| dot(from, enters) < 0.0)
            || self.leaves.is_some_and(|leaves| dot(to, leaves) >= 0.0);
        if is_outside {
            return 0.0;
        }
        let along = dot(from, self.own);
        let across = self.own[0] * from[1] - self.own[1] * from[0];
        let mut beyond = 0.0;
        if self.enters.is_none() {
            beyond = (-along).max(0.0);
        }
        if self.leaves.is_none() {
            beyond = dot(to, self.own).max(beyond);
        }
        let part = ((self.before_px + along) / self.length_px.max(1e-6)).clamp(0.0, 1.0);
        let width = self.radius_px * (1.0 - self.taper * part);
        let rest = 1.0 - part;
        let light = 1.0 - self.fading + 3.0 * self.fading * rest * rest;
        let within = (1.0 - (across * across + beyond * beyond) / (width * width)).max(0.0);
        let square = within * within;
        light * square * square
    }
}

/// The range in which a linear function, `start` at 0 with slope `slope`, is between two values;
/// everywhere if it is nearly constant.
fn crossing(start: f32, slope: f32, [least, most]: [f32; 2]) -> [f32; 2] {
    if slope.abs() < 1e-4 {
        return [-MOST_PX, MOST_PX];
    }
    let ends = [(least - start) / slope, (most - start) / slope];
    [ends[0].min(ends[1]), ends[0].max(ends[1])]
}
