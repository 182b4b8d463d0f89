//! The derivatives that a run begins with.

use glam::DVec3;

use super::arrays::Arrays;
use super::{Attractors, BlockSettings, Track};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::{Answers, ForceEngine, Identity, Order, Want};

/// The bodies' tracks, and the number of times that all forces were computed.
///
/// Accelerations and jerks come from positions and velocities; snaps need the accelerations, hence a
/// second pass; crackles are the change of the snaps over a small trial step of all bodies. Both orders
/// begin with all of these: a first step chosen from accelerations and jerks alone is too long for
/// bodies at rest, whose jerk is 0.
pub(super) fn tracks(
    accuracy: &BlockSettings,
    bodies: &Bodies,
    field: &Attractors,
    engine: &mut dyn ForceEngine,
) -> Result<(Vec<Track>, u64)> {
    let n = bodies.len();
    let mut tracks: Vec<Track> = (0..n)
        .map(|i| Track {
            position: bodies.position[i],
            velocity: bodies.velocity[i],
            ..Track::default()
        })
        .collect();
    let mut at = Arrays::default();
    let mut found = Answers::default();
    let mut forces = |tracks: &[Track], h: f64, order: Order, found: &mut Answers| {
        at.fill(n, order, |i| tracks[i].at(h));
        engine.set_sources(&at.sources(field.mass))?;
        let sinks = at.sinks(Identity::Offset(0));
        engine
            .evaluate(&sinks, field.softening, &Want::only(order), found)
            .map_err(|error| error.with_ids(field.id))
    };
    forces(&tracks, 0.0, Order::Jerk, &mut found)?;
    for (i, track) in tracks.iter_mut().enumerate() {
        (track.acceleration, track.jerk) = (found.acceleration[i], found.jerk[i]);
    }
    forces(&tracks, 0.0, Order::Snap, &mut found)?;
    for (track, snap) in tracks.iter_mut().zip(&found.snap) {
        track.snap = *snap;
    }
    let h = trial(&tracks, accuracy);
    forces(&tracks, h, Order::Snap, &mut found)?;
    for (track, later) in tracks.iter_mut().zip(&found.snap) {
        let crackle = (*later - track.snap) / h;
        track.crackle = if crackle.is_finite() { crackle } else { DVec3::ZERO };
    }
    Ok((tracks, 3))
}

/// A step so short that no body's snap changes much in it, and long enough for a difference to be told
/// from rounding.
fn trial(tracks: &[Track], accuracy: &BlockSettings) -> f64 {
    let shortest = tracks
        .iter()
        .map(|track| (track.acceleration.length() / track.snap.length()).sqrt())
        .filter(|time| time.is_finite() && *time > 0.0)
        .fold(accuracy.dt_max, f64::min);
    shortest * 1e-3
}
