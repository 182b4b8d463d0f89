//! The past path of one body in space. Mirrors `course_of` of `streak_path.wgsl`.

use super::super::camera::dot;
use super::super::splat::Point;
use super::Reach;

/// Largest number of segments of a streak.
pub const MOST_PIECES: usize = 24;
/// Largest turning angle of a segment, in radians.
pub const PIECE_TURN: f32 = 0.6;
/// Largest turning angle of a streak, in radians: three quarters of a circle, so that the tail
/// stays clear of the head.
pub const STREAK_TURN: f32 = 4.7;

/// A circular arc or a straight line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course {
    velocity: [f32; 3],
    forward: [f32; 3],
    inward: [f32; 3],
    /// Radius of the circle; 0 if the path is straight.
    radius: f32,
    /// Cosine and sine of the angle of a segment.
    turn: [f32; 2],
    /// Length of the path in units of the points' scale; 0 for a body at rest.
    pub length: f32,
    /// Number of segments, 0 for a body at rest.
    pub pieces: u32,
}

impl Course {
    /// The past path of a body with that motion.
    pub fn of(reach: &Reach, point: &Point) -> Self {
        let [velocity, pull] = point.motion;
        let velocity = velocity.map(|v| v * reach.of_velocity);
        let square = dot(velocity, velocity);
        // False for NaN, and for values beyond f32.
        let is_number = square > 1e-36 && square < 1e36;
        if !is_number {
            return Self::default();
        }
        let pull = pull.map(|a| a * reach.of_acceleration);
        let pieces = reach.pieces.min(MOST_PIECES as u32);
        let length = square.sqrt();
        let forward = velocity.map(|v| v / length);
        let along = dot(forward, pull);
        let aside: [f32; 3] = std::array::from_fn(|k| pull[k] - forward[k] * along);
        let bend = dot(aside, aside).sqrt();
        let turn = bend / length;
        let straight = Self { velocity, forward, length, pieces, ..Self::default() };
        let is_bent = turn > 1e-3 && turn < 1e12;
        if !is_bent {
            return straight;
        }
        let most = (PIECE_TURN * pieces as f32).min(STREAK_TURN);
        let angle = turn.min(most) / pieces as f32;
        let square = angle * angle;
        let sine = angle * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)));
        let cosine = 1.0 - square * (0.5 - square * (1.0 / 24.0 - square / 720.0));
        Self {
            inward: aside.map(|a| a / bend),
            radius: length / turn,
            turn: [cosine, sine],
            length: length * (most / turn).min(1.0),
            ..straight
        }
    }

    /// Vectors from the body to the far ends of the segments, nearest first.
    pub fn offsets(&self) -> impl Iterator<Item = [f32; 3]> {
        let course = *self;
        let mut turned = [1.0, 0.0];
        (1..=course.pieces).map(move |k| {
            let ([c, s], [cosine, sine]) = (turned, course.turn);
            turned = [c * cosine - s * sine, s * cosine + c * sine];
            std::array::from_fn(|i| {
                if course.radius > 0.0 {
                    let aside = course.inward[i] * (1.0 - turned[0]);
                    course.radius * (aside - course.forward[i] * turned[1])
                } else {
                    -course.velocity[i] * (k as f32 / course.pieces as f32)
                }
            })
        })
    }
}
