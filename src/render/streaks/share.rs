//! Which bodies draw streaks if there are very many. Mirrors `share_of` of `streak_path.wgsl`.
//!
//! The cost of streaks is their length, and single ones among a million cannot be told apart. So
//! the total length of all streaks beyond those of [`FEW`] bodies is limited to [`MOST_LENGTH`]:
//! streaks longer than their share of it are drawn by a fraction of the bodies, with the light of
//! the others. Along a longer streak there is then as much light as along one of just that length.
//! Which bodies draw depends on their index and the length of their path in space, not on the
//! picture: no streak appears or disappears as the camera moves, and pictures of any size show the
//! same ones. As a path grows its streak does not vanish at once, but fades.

/// Up to this many bodies draw their own streaks, however long.
pub const FEW: usize = 20_000;
/// Total length of the other streaks, in median radii of the drawn bodies. If a picture of 1080
/// lines shows everything, some four streaks cover each of its lit pixels.
pub const MOST_LENGTH: f64 = 4_000.0;
/// Lower bound of the fraction of bodies that draw.
pub const LEAST_SHARE: f32 = 1.0 / 64.0;
/// Further bodies, relative to that fraction, that are fading in or out.
pub const ENTERING: f32 = 0.25;

/// The path length up to which each of `drawn` bodies draws its own streak, in the unit of
/// `median_radius`.
pub fn own_length(median_radius: f64, drawn: usize) -> f64 {
    match drawn.checked_sub(FEW) {
        // Coincident bodies have no size to measure by.
        Some(more) if more > 0 && median_radius > 0.0 => MOST_LENGTH * median_radius / more as f64,
        _ => f64::INFINITY,
    }
}

/// A pseudo-random number in [0, 1), fixed for each body.
pub fn chance_of(body: u32) -> f32 {
    let mixed = body.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((mixed >> ((mixed >> 28) + 4)) ^ mixed).wrapping_mul(277_803_737);
    (((word >> 22) ^ word) >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Light of the streak that a body draws, as a multiple of its own, for a path of length `length`
/// if paths up to `most` are drawn by each body itself: 0 if others draw it, with mean 1 over all
/// bodies.
pub fn share_of(body: u32, length: f32, most: f32) -> f32 {
    let part = (most / length.max(1e-30)).max(LEAST_SHARE);
    if part >= 1.0 {
        return 1.0;
    }
    let range = ENTERING * part;
    let up_to = part + range;
    let beyond = (up_to - 1.0).max(0.0);
    let mean = part + (range * range - beyond * beyond) / (2.0 * range);
    ((up_to - chance_of(body)) / range).clamp(0.0, 1.0) / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subset_of_bodies_draws_total_streak_light() {
        const BODIES: u32 = 2_000_000;
        for length in [0.5, 1.0, 1.1, 1.3, 3.0, 10.0, 64.0, 1e9] {
            let shares = (0..BODIES).map(|body| share_of(body, length, 1.0));
            let light: f64 = shares.clone().map(f64::from).sum();
            assert!((light / f64::from(BODIES) - 1.0).abs() < 0.025, "length {length}: {light}");
            let drawn = shares.filter(|&share| share > 0.0).count() as f64 / f64::from(BODIES);
            let most = (1.0 / f64::from(length)).max(f64::from(LEAST_SHARE)) * 1.3;
            assert!(drawn <= most.min(1.0), "length {length}: {drawn} draw");
        }
    }

    #[test]
    fn few_bodies_draw_own_streaks_and_shares_change_continuously() {
        assert_eq!(own_length(0.0, 1_000_000), f64::INFINITY);
        assert_eq!([0, 3, FEW].map(|drawn| own_length(2.0, drawn)), [f64::INFINITY; 3]);
        assert_eq!(own_length(2.0, FEW + 100), MOST_LENGTH / 50.0);
        assert!((0..100).all(|body| share_of(body, 5.0, f32::MAX) == 1.0));
        for body in 0..1000 {
            let mut last = share_of(body, 0.9, 1.0);
            for step in 0..20_000 {
                let length = 0.9 * 1.0005_f32.powi(step);
                let share = share_of(body, length, 1.0);
                // Relative to its value where it is drawn in full.
                let change = (share - last) * (1.0 / length).clamp(LEAST_SHARE, 1.0);
                assert!(change.abs() < 0.005, "{body} at {length}: {last} to {share}");
                last = share;
            }
        }
    }
}
