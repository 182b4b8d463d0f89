//! Streaks: the light of a body drawn out along its past path in space.
//!
//! [`STREAK_PART`] of a body's light is spread along its path back through some simulated time,
//! fading, and the rest stays in its sprite. So the total light is unchanged, a million streaks are
//! no brighter than a million sprites, and a body at rest looks the same. Unlike [`super::trails`]
//! a streak does not depend on earlier pictures: it turns with the camera, and even a single
//! picture has it.
//!
//! The path is the osculating circle given by the body's velocity and acceleration now: exact for a
//! circular orbit, an approximation for others. A streak ends where it has turned far ([`path`]).
//! In the picture it is a chain of straight segments, as wide as the sprite at its head and
//! narrower towards its tail. Among very many bodies some draw streaks on behalf of all
//! ([`share`]).

pub mod course;
pub mod path;
pub mod share;
mod splatter;

pub(crate) use splatter::Streaks;

use super::scale::Scale;

/// Fraction of a body's light that goes to its streak.
pub const STREAK_PART: f64 = 0.6;

/// Segments per streak, up to a number of bodies: few bodies are viewed closely, and with many the
/// segments are short.
const PIECES: [(u32, u32); 4] = [(300, 24), (3_000, 8), (50_000, 3), (u32::MAX, 2)];

/// Converts velocities and accelerations of points into paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// One unit of velocity times the streaks' time, in the points' unit of length.
    pub of_velocity: f32,
    /// One unit of acceleration times the square of that time; 0 leaves streaks straight.
    pub of_acceleration: f32,
    /// Segments per streak.
    pub pieces: u32,
    /// Path length up to which each body draws its own streak, in the points' unit.
    pub own_length: f32,
}

impl Reach {
    /// For `count` points of that scale, back through a time span; `None` if that is 0. Bodies with
    /// paths up to `own_length` ([`share::own_length`]), in world units, draw their own.
    pub fn new(
        (time, own_length): (f64, f64),
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
            // Shaders must not read an infinity.
            own_length: (own_length / scale.length).min(f64::from(f32::MAX)) as f32,
        })
    }
}
