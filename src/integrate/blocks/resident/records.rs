//! Bodies on individual steps in the device's layout: see `shaders/blocks/track.wgsl`.

use glam::DVec3;

use super::super::Track;
use crate::forces::Precision;
use crate::forces::direct::gpu::tiers::TierFrame;

/// The rows of a track that double-single keeps as pairs of f32: all but the last.
const PAIRED_ROWS: usize = 5;

/// Number of vectors in a track.
const ROWS: usize = 6;

/// Bytes of a record.
pub(super) fn track_bytes(precision: Precision) -> u64 {
    match precision {
        Precision::Double => ROWS as u64 * 32,
        _ => (ROWS + PAIRED_ROWS) as u64 * 16,
    }
}

/// A track's rows with their units in the frame. The low parts of position and velocity have no
/// row: pairs of f32 hold fewer bits than the high part, and the f64 kernels do not store them.
fn rows<'a>(track: &'a mut Track, tier: &TierFrame) -> [(&'a mut DVec3, f64); ROWS] {
    let Track { position, velocity, acceleration, jerk, snap, crackle, .. } = track;
    let (l, v) = (tier.frame.length, tier.frame.velocity_unit());
    // The unit of time is l / v; all of them are powers of two.
    let per_time = v / l;
    [
        (position, l),
        (velocity, v),
        (acceleration, v * per_time),
        (jerk, v * per_time * per_time),
        (snap, v * per_time * per_time * per_time),
        (crackle, v * per_time * per_time * per_time * per_time),
    ]
}

/// Appends a body's record. Returns false if a number is outside the precision's range.
pub(super) fn push(track: &Track, mass: f64, tier: &TierFrame, out: &mut Vec<u32>) -> bool {
    let mut copy = *track;
    let mut good = true;
    for (row, (value, unit)) in rows(&mut copy, tier).into_iter().enumerate() {
        let value = *value / unit;
        let last = if row == 0 { mass / tier.frame.mass } else { 0.0 };
        if tier.precision == Precision::Double {
            good &= value.is_finite();
            for number in [value.x, value.y, value.z, last] {
                let bits = number.to_bits();
                out.extend([bits as u32, (bits >> 32) as u32]);
            }
            continue;
        }
        let high = value.as_vec3();
        good &= high.is_finite();
        out.extend([high.x, high.y, high.z, last as f32].map(f32::to_bits));
        if row < PAIRED_ROWS {
            let low = (value - high.as_dvec3()).as_vec3();
            let last_low = (last - f64::from(last as f32)) as f32;
            out.extend([low.x, low.y, low.z, last_low].map(f32::to_bits));
        }
    }
    good
}

/// Vector `at` (in units of a `vec4` of the precision) in a device's data.
pub(super) fn vector(words: &[u32], at: usize, precision: Precision) -> DVec3 {
    let number = |axis: usize| match precision {
        Precision::Double => {
            let k = (4 * at + axis) * 2;
            f64::from_bits(u64::from(words[k]) | u64::from(words[k + 1]) << 32)
        }
        _ => f64::from(f32::from_bits(words[4 * at + axis])),
    };
    DVec3::new(number(0), number(1), number(2))
}

/// Body `i` in the device's data.
pub(super) fn track(words: &[u32], i: usize, tier: &TierFrame) -> Track {
    let precision = tier.precision;
    let mut track = Track::default();
    let mut at = match precision {
        Precision::Double => i * ROWS,
        _ => i * (ROWS + PAIRED_ROWS),
    };
    for (row, (value, unit)) in rows(&mut track, tier).into_iter().enumerate() {
        let mut found = vector(words, at, precision);
        at += 1;
        if precision != Precision::Double && row < PAIRED_ROWS {
            found += vector(words, at, precision);
            at += 1;
        }
        *value = found * unit;
    }
    track
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::Sources;

    #[test]
    fn download_then_upload_gives_same_bits() {
        let v = |k: f64| DVec3::new(k / 3.0, -k / 7.0, 1e-9 / k);
        let track = Track {
            position: v(1.0) + 40.0,
            velocity: v(2.0),
            acceleration: v(3.0),
            jerk: v(4.0),
            snap: v(5.0),
            crackle: v(6.0),
            ..Track::default()
        };
        let position = [track.position, track.position + 0.5];
        let velocity = [track.velocity, -track.velocity];
        let mass = [0.3, 0.1];
        let sources =
            Sources { position: &position, velocity: &velocity, acceleration: &[], mass: &mass };
        for precision in [Precision::DoubleSingle, Precision::Double] {
            let tier = TierFrame::around(DVec3::ZERO, &sources, precision);
            let (mut up, mut again) = (Vec::new(), Vec::new());
            assert!(push(&track, 0.1, &tier, &mut up));
            assert_eq!(up.len() as u64 * 4, track_bytes(precision));
            let down = super::track(&up, 0, &tier);
            let limit = if precision == Precision::Double { 1e-16 } else { 1e-14 };
            assert!((down.position - track.position).length() < limit * 40.0);
            assert!((down.jerk - track.jerk).length() < limit);
            assert!((down.crackle - track.crackle).length() < 1e-6);
            push(&down, 0.1, &tier, &mut again);
            assert_eq!(up, again, "{precision:?}");
            let far = Track { position: DVec3::splat(f64::NAN), ..track };
            assert!(!push(&far, 0.1, &tier, &mut again));
        }
    }
}
