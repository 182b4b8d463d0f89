//! The initial derivatives of a run.

use glam::DVec3;

use super::arrays::Arrays;
use super::{Attractors, BlockSettings, Track};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::{ForceEngine, Forces, Identity, Order, Outputs};

/// Computes the bodies' tracks; returns them with the number of evaluations of all forces.
///
/// Accelerations and jerks follow from positions and velocities; snaps need the accelerations and
/// so a second pass; crackles come from the change of the snaps over a small trial step of all
/// bodies. Both orders start with all of these: a first step chosen from accelerations and jerks
/// only is too long for bodies at rest, whose jerk is 0.
pub(super) async fn tracks(
    accuracy: &BlockSettings,
    bodies: &Bodies,
    field: &Attractors<'_>,
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
    let mut found = Forces::default();
    evaluate(engine, &mut at, &tracks, (0.0, Order::Jerk), field, &mut found).await?;
    for (i, track) in tracks.iter_mut().enumerate() {
        (track.acceleration, track.jerk) = (found.acceleration[i], found.jerk[i]);
    }
    evaluate(engine, &mut at, &tracks, (0.0, Order::Snap), field, &mut found).await?;
    for (track, snap) in tracks.iter_mut().zip(&found.snap) {
        track.snap = *snap;
    }
    let h = trial(&tracks, accuracy);
    evaluate(engine, &mut at, &tracks, (h, Order::Snap), field, &mut found).await?;
    for (track, later) in tracks.iter_mut().zip(&found.snap) {
        let crackle = (*later - track.snap) / h;
        track.crackle = if crackle.is_finite() { crackle } else { DVec3::ZERO };
    }
    Ok((tracks, 3))
}

/// Forces of all bodies on all, up to `order`, at a time `h` after the tracks' own.
async fn evaluate(
    engine: &mut dyn ForceEngine,
    at: &mut Arrays,
    tracks: &[Track],
    (h, order): (f64, Order),
    field: &Attractors<'_>,
    found: &mut Forces,
) -> Result<()> {
    at.fill(tracks.len(), order, |i| tracks[i].at(h));
    engine.set_sources(&at.sources(field.mass))?;
    let (sinks, outputs) = (at.sinks(Identity::Offset(0)), Outputs::only(order));
    engine.answer(&sinks, field.softening, &outputs, found).await?;
    found.check(engine.precision()).map_err(|error| error.with_ids(field.id))
}

/// A step so short that no body's snap changes much in it, yet long enough to distinguish the
/// change from rounding.
fn trial(tracks: &[Track], accuracy: &BlockSettings) -> f64 {
    let shortest = tracks
        .iter()
        .map(|track| (track.acceleration.length() / track.snap.length()).sqrt())
        .filter(|time| time.is_finite() && *time > 0.0)
        .fold(accuracy.dt_max, f64::min);
    shortest * 1e-3
}
