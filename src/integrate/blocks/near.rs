//! Corrections for pairs so close that the rounding of their coordinates matters.
//!
//! Engines take f64 positions. For two bodies a millionth of their coordinates apart, the
//! difference is accurate to ten digits only, and so is their attraction; in a head-on fall no
//! shorter step helps. The rounding error is known here ([`Track::moved`]), and for such pairs its
//! effect is added to what the engine found.

use glam::DVec3;

use super::arrays::Arrays;
use super::{Attractors, SinkForces, Track};
use crate::forces::Forces;

/// A body is examined if its own time squared times its acceleration, roughly the distance to what
/// bends its path most (a 28th of it in a head-on fall), is less than this fraction of its
/// coordinates.
const SUSPECT: f64 = 1.0 / (1 << 14) as f64;

/// Pairs closer than this fraction of their coordinates are corrected.
const CLOSE: f64 = 1.0 / (1 << 9) as f64;

/// Up to this many bodies all pairs are corrected: searching for close ones would save nothing.
const FEW: usize = 8;

/// Corrects `found`, the forces on the bodies `active` at the rounded positions `at`, for rounding
/// in close pairs. `exact` returns a body's position with its low parts, and its predicted
/// acceleration.
pub(super) fn correct_close_pairs(
    found: &mut Forces,
    active: &[u32],
    tracks: &[Track],
    at: &Arrays,
    exact: impl Fn(usize) -> Track,
    field: &Attractors,
) {
    for (k, i) in active.iter().map(|&i| i as usize).enumerate() {
        let Track { acceleration, snap, .. } = tracks[i];
        let rounded = at.get(i);
        let size = rounded.position.abs().max_element();
        let all = tracks.len() <= FEW;
        if !all && !(acceleration.length_squared() < SUSPECT * size * snap.length()) {
            continue;
        }
        let near = if all { f64::INFINITY } else { (CLOSE * size).powi(2) };
        for (j, position) in at.positions().iter().enumerate() {
            if position.distance_squared(rounded.position) >= near || j == i {
                continue;
            }
            let other = at.get(j);
            let blurred = pull(
                other.position - rounded.position,
                other.velocity - rounded.velocity,
                other.acceleration - rounded.acceleration,
                field.mass[j],
                field.softening,
            );
            let (here, there) = (exact(i), exact(j));
            let sharp = pull(
                (there.position - here.position) + (there.position_low - here.position_low),
                (there.velocity - here.velocity) + (there.velocity_low - here.velocity_low),
                there.acceleration - here.acceleration,
                field.mass[j],
                field.softening,
            );
            found.acceleration[k] += sharp.acceleration - blurred.acceleration;
            found.jerk[k] += sharp.jerk - blurred.jerk;
            if let Some(total) = found.snap.get_mut(k) {
                *total += sharp.snap - blurred.snap;
            }
        }
    }
}

/// The force of a source of gravitating mass `mass` for differences of position, velocity and
/// acceleration (Nitadori and Makino 2008, equations 5 to 8); zero if it is at the sink's position.
fn pull(r: DVec3, v: DVec3, a: DVec3, mass: f64, softening: f64) -> SinkForces {
    let square = r.length_squared() + softening * softening;
    if square == 0.0 {
        return SinkForces::default();
    }
    let inverse_square = 1.0 / square;
    let factor = mass * inverse_square * inverse_square.sqrt();
    let alpha = r.dot(v) * inverse_square;
    let beta = (v.length_squared() + r.dot(a)) * inverse_square + alpha * alpha;
    let acceleration = factor * r;
    let jerk = factor * v - 3.0 * alpha * acceleration;
    let snap = factor * a - 6.0 * alpha * jerk - 3.0 * beta * acceleration;
    SinkForces { acceleration, jerk, snap }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::direct::Reference;
    use crate::forces::{ForceEngine, Identity, Order, Outputs};

    /// Two bodies 1e-9 apart at coordinates of order one, and others: with the low parts their
    /// forces are those of the same bodies around the origin, where f64 holds them.
    #[test]
    fn close_pair_rounding_is_corrected() {
        given_back(3);
        // Enough bodies that close ones are searched for.
        given_back(FEW + 4);
    }

    fn given_back(n: usize) {
        let apart = DVec3::new(1.0, -0.7, 0.3) * 1e-9;
        let offset = DVec3::new(0.3, 0.7, -0.9);
        let mut places = vec![DVec3::ZERO, apart];
        places.extend((2..n).map(|i| DVec3::new(2.0, 0.5, i as f64)));
        let mut velocity = vec![DVec3::X; n];
        velocity[..2].copy_from_slice(&[DVec3::ZERO, DVec3::new(3.0, 40.0, -7.0)]);
        let mut acceleration = vec![DVec3::ZERO; n];
        acceleration[1] = DVec3::Y * 1e6;
        let mut mass = vec![2.0; n];
        mass[..2].copy_from_slice(&[0.5, 0.25]);
        let id: Vec<u64> = (0..n as u64).collect();
        let field = Attractors { mass: &mass, softening: 0.0, id: &id };
        let order = Order::Snap;
        let forces = |at: &Arrays| {
            let mut engine = Reference::default();
            let mut found = Forces::default();
            engine.set_sources(&at.sources(&mass)).unwrap();
            let sinks = at.sinks(Identity::Offset(0));
            engine.evaluate(&sinks, 0.0, &Outputs::only(order), &mut found).unwrap();
            found
        };
        let track = |i: usize, offset: DVec3| {
            // The third derivative in such a pair: enough for it to be examined.
            let still = Track { position: offset, snap: DVec3::X * 1e40, ..Track::default() };
            let change = super::super::TrackChange {
                position: places[i],
                velocity: velocity[i],
                acceleration: acceleration[i],
            };
            Track { acceleration: acceleration[i], ..still.moved(&change, 0.0) }
        };
        let arrays = |offset: DVec3| {
            let mut at = Arrays::default();
            at.fill(n, order, |i| track(i, offset).at(0.0));
            at
        };
        let right = forces(&arrays(DVec3::ZERO));
        let at = arrays(offset);
        let tracks: Vec<Track> = (0..n).map(|i| track(i, offset)).collect();
        let mut found = forces(&at);
        let off = |found: &Forces, i: usize| {
            let error = |found: DVec3, right: DVec3| (found - right).length() / right.length();
            error(found.acceleration[i], right.acceleration[i])
                .max(error(found.jerk[i], right.jerk[i]))
                .max(error(found.snap[i], right.snap[i]))
        };
        assert!(off(&found, 0) > 1e-9 && off(&found, 1) > 1e-9);
        correct_close_pairs(&mut found, &[0, 1, 2], &tracks, &at, |i| tracks[i], &field);
        for i in 0..3 {
            assert!(off(&found, i) < 1e-13, "body {i}: {:e}", off(&found, i));
        }
    }
}
