//! Streaks: the light of a body drawn out along the way that it came, in space.
//!
//! Of a body's light [`STREAK_PART`] goes from where it is back through some simulated time, fading, and the rest stays its
//! sprite. So all light stays what it was, a million streaks are no brighter than a million sprites, and a body at
//! rest looks as it did. Unlike [`super::trails`] a streak knows nothing of earlier pictures: it turns with the camera,
//! and a single picture has it.
//!
//! The way back is the circle on which velocity and acceleration put a body now: a body on a circular orbit came along
//! it, others did for a while. A streak ends where it has turned far ([`path`]). In the picture it is a chain of straight
//! pieces, as wide as the sprite at its head and narrower towards its tail. Of very many bodies some draw streaks for all
//! ([`share`]).

pub mod course;
pub mod path;
pub mod share;
mod splatter;

pub(crate) use splatter::Streaks;

use super::scale::Scale;

/// Part of a body's light that its streak gets.
pub const STREAK_PART: f64 = 0.6;

/// Pieces of a streak where so many bodies are, at most: few are looked at closely, of many the pieces are short.
const PIECES: [(u32, u32); 4] = [(300, 24), (3_000, 8), (50_000, 3), (u32::MAX, 2)];

/// What makes ways of the velocities and accelerations of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Length of one unit of velocity times the streaks' time, in that of the points.
    pub of_velocity: f32,
    /// Of one unit of acceleration times the square of that time; 0 leaves streaks straight.
    pub of_acceleration: f32,
    /// Pieces of a streak.
    pub pieces: u32,
    /// Length of a way up to which each body draws its own streak, in that of the points.
    pub own_way: f32,
}

impl Reach {
    /// Of `count` points of that scale, back through so much time; `None` where that is 0. In world units ways up to `own_way`
    /// ([`share::own_way`]) are everyone's own.
    pub fn new(
        (time, own_way): (f64, f64),
        scale: &Scale,
        count: u32,
        has_accelerations: bool,
    ) -> Option<Self> {
        let pieces = PIECES.iter().find(|(most, _)| count <= *most).map(|(_, pieces)| *pieces);
        let of_acceleration = time * (time * (scale.acceleration / scale.length));
        (time > 0.0).then(|| Self {
            of_velocity: (time * (scale.speed / scale.length)) as f32,
            of_acceleration: if has_accelerations { of_acceleration as f32 } else { 0.0 },
            pieces: pieces.unwrap_or(1),
            // No infinity in what shaders read.
            own_way: (own_way / scale.length).min(f64::from(f32::MAX)) as f32,
        })
    }
}
