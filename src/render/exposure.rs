//! Automatic exposure: a histogram of intensities gives two levels, which are followed slowly.
//!
//! Levels are quantiles *by light*, not by pixels: `white` is the intensity above which 4 % of
//! the picture's light lies, `mid` the one above which 72 % lies. A smaller part than 4 % would
//! depend on how many bodies resolve a nucleus (of `disk-galaxy`, 1 % lies above 2.4 with 30,000
//! bodies and above 3.8 with two million, 4 % above 1.9 and 2.1), and on what half floats lose in
//! it. Empty sky has no light, so neither the aspect ratio nor the empty fraction of the picture
//! matters, and no threshold between sky and light is needed. Mirrors `exposure.wgsl`.
//!
//! Levels adapt as an eye does: exponentially, faster when the picture is too bright than when it
//! is too dark, at a limited speed, and hardly at all for imperceptible changes, so that counting
//! noise does not modulate the picture.

use super::bloom::bloom_weight;
use super::glow::{Smoothing, intensity};
use super::hdr_image::HdrImage;
use super::style::Exposure;

/// Number of histogram bins.
pub const BINS: usize = 256;
/// Bins for each factor of 2 in intensity.
pub const BINS_PER_OCTAVE: f32 = 8.0;
/// log2 of the least intensity that is counted.
pub const LEAST_LOG2: f32 = -18.0;
/// Fraction of the light that lies above the white level.
pub const LIGHT_ABOVE_WHITE: f32 = 0.04;
/// Fraction of the light that lies above the mid level.
pub const LIGHT_ABOVE_MID: f32 = 0.72;

/// Ratio of the adaptation speed towards bright to that towards dark.
pub const FASTER_TO_BRIGHT: f64 = 3.0;
/// Changes far below this, in powers of two, are invisible and not followed.
pub const UNSEEN_LOG2: f32 = 0.05;
/// Larger changes, in powers of two, are followed at the speed of this one.
pub const FAR_LOG2: f32 = 2.0;

/// The two levels that define a tone curve, as log2 of intensities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Shown as white.
    pub white_log2: f32,
    /// Shown at [`super::tone::MID_TONE`].
    pub mid_log2: f32,
}

impl Levels {
    /// The levels of a fixed exposure.
    pub fn fixed(white: f64, mid: f64) -> Self {
        Self { white_log2: libm::log2(white) as f32, mid_log2: libm::log2(mid) as f32 }
    }

    /// Moves towards `new` by the fractions that [`follow_steps`] returns.
    fn towards(self, new: Self, [to_dark, to_bright]: [f32; 2]) -> Self {
        // A picture brighter than its white level saturates; mid must move with white.
        let part = if new.white_log2 > self.white_log2 { to_bright } else { to_dark };
        Self {
            white_log2: self.white_log2 + followed(new.white_log2 - self.white_log2, part),
            mid_log2: self.mid_log2 + followed(new.mid_log2 - self.mid_log2, part),
        }
    }
}

/// Counts of pixels by intensity. The first bin holds dark pixels and counts as no light.
pub type Histogram = [u32; BINS];

/// Counts the mean intensities of a shrunk picture's pixels, mixed with the smooth picture (of the
/// same size) as in the tone map; without one, the largest ones, which alpha holds. Those are noise
/// where there are few bodies, and grow with the picture's size.
pub fn histogram(base: &HdrImage, glow: Option<(&HdrImage, &Smoothing)>) -> Histogram {
    let mut counts = [0; BINS];
    match glow {
        None => base.pixels().iter().for_each(|pixel| counts[bin_of(pixel[3])] += 1),
        Some((glow, smoothing)) => {
            for (pixel, &glow) in base.pixels().iter().zip(glow.pixels()) {
                let weight = bloom_weight(glow, smoothing);
                let sharp = intensity(*pixel);
                let level = sharp + (intensity(glow) - sharp) * weight;
                counts[bin_of(level * glow[3])] += 1;
            }
        }
    }
    counts
}

fn bin_of(intensity: f32) -> usize {
    let bin = (intensity.max(1e-30).log2() - LEAST_LOG2) * BINS_PER_OCTAVE;
    bin.max(0.0).min((BINS - 1) as f32) as usize
}

/// The levels of one picture; `None` if all is dark.
pub fn levels_of(counts: &Histogram) -> Option<Levels> {
    let light = |bin: usize| {
        counts[bin] as f32 * ((bin as f32 + 0.5) / BINS_PER_OCTAVE + LEAST_LOG2).exp2()
    };
    let mut total = 0.0;
    for bin in 1..BINS {
        total += light(bin);
    }
    if total <= 0.0 {
        return None;
    }
    let level = |part: f32| {
        let (wanted, mut above) = (part * total, 0.0);
        for bin in (1..BINS).rev() {
            let here = light(bin);
            if above + here >= wanted && here > 0.0 {
                // Within the bin the light is assumed to be evenly spread.
                let rest = (wanted - above) / here;
                return (bin as f32 + 1.0 - rest) / BINS_PER_OCTAVE + LEAST_LOG2;
            }
            above += here;
        }
        LEAST_LOG2
    };
    Some(Levels { white_log2: level(LIGHT_ABOVE_WHITE), mid_log2: level(LIGHT_ABOVE_MID) })
}

/// The amount by which to follow a change (in powers of two) at the rate `part`.
fn followed(change: f32, part: f32) -> f32 {
    if part >= 1.0 {
        return change;
    }
    let square = change * change;
    change.clamp(-FAR_LOG2, FAR_LOG2) * part * square / (square + UNSEEN_LOG2 * UNSEEN_LOG2)
}

/// Follows the levels of successive pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    followed: Option<Levels>,
}

impl Meter {
    /// Resets the state: the next picture is exposed without regard to earlier ones.
    pub fn reset(&mut self) {
        self.followed = None;
    }

    /// The levels for a picture with that histogram, `elapsed_secs` (>= 0) after the last one.
    pub fn expose(&mut self, exposure: Exposure, counts: &Histogram, elapsed_secs: f64) -> Levels {
        match exposure {
            Exposure::Fixed { white, mid } => Levels::fixed(white, mid),
            Exposure::Auto { adapt_secs } => {
                let steps = follow_steps(adapt_secs, elapsed_secs);
                match (self.followed, levels_of(counts)) {
                    (Some(old), Some(new)) => self.followed = Some(old.towards(new, steps)),
                    (None, new) => self.followed = new,
                    (Some(_), None) => {}
                }
                self.followed.unwrap_or(Levels { white_log2: 0.0, mid_log2: -3.0 })
            }
        }
    }
}

/// The fractions of a change to follow within `elapsed_secs`, 0 to 1: towards dark and towards
/// bright.
pub fn follow_steps(adapt_secs: f64, elapsed_secs: f64) -> [f32; 2] {
    if adapt_secs <= 0.0 {
        return [1.0; 2];
    }
    [1.0, FASTER_TO_BRIGHT]
        .map(|rate| (1.0 - libm::exp(-rate * elapsed_secs.max(0.0) / adapt_secs)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto() -> Exposure {
        Exposure::Auto { adapt_secs: 0.5 }
    }

    #[test]
    fn empty_sky_does_not_change_the_levels() {
        let mut counts = [0; BINS];
        counts[100..200].fill(50);
        let alone = levels_of(&counts).unwrap();
        counts[0] = 1_000_000;
        assert_eq!(levels_of(&counts).unwrap(), alone);
        assert!(alone.white_log2 > alone.mid_log2);
        assert_eq!(levels_of(&[0; BINS]), None);
    }

    #[test]
    fn single_intensity_gives_level_within_bin_width() {
        let mut counts = [0; BINS];
        counts[bin_of(3.0)] = 7;
        let levels = levels_of(&counts).unwrap();
        for level in [levels.white_log2, levels.mid_log2] {
            assert!((level - 3f32.log2()).abs() <= 1.0 / BINS_PER_OCTAVE, "{level}");
        }
    }

    #[test]
    fn exposure_converges_gradually_after_jump() {
        let (mut dim, mut bright) = ([0; BINS], [0; BINS]);
        (dim[80], bright[160]) = (10, 10);
        let mut meter = Meter::default();
        let first = meter.expose(auto(), &dim, 0.0).white_log2;
        let mut last = first;
        for _ in 0..300 {
            let next = meter.expose(auto(), &bright, 1.0 / 30.0).white_log2;
            assert!(next >= last && next - last < 0.4, "{last} to {next}");
            last = next;
        }
        assert!((last - first - 10.0).abs() < UNSEEN_LOG2);
        // A dark picture keeps the last levels; after a reset the next picture's own levels are
        // used.
        assert_eq!(meter.expose(auto(), &[0; BINS], 1.0).white_log2, last);
        meter.reset();
        assert_eq!(meter.expose(auto(), &dim, 0.0).white_log2, first);
    }

    /// Seconds until half of a change by four powers of two is followed.
    fn half_way(from: usize, to: usize) -> f32 {
        let (mut start, mut end) = ([0; BINS], [0; BINS]);
        (start[from], end[to]) = (10, 10);
        let mut meter = Meter::default();
        let first = meter.expose(auto(), &start, 0.0).white_log2;
        let goal = levels_of(&end).unwrap().white_log2;
        (1..1000)
            .find(|_| {
                let now = meter.expose(auto(), &end, 0.01).white_log2;
                (now - first) / (goal - first) > 0.5
            })
            .map_or(f32::INFINITY, |steps| 0.01 * steps as f32)
    }

    #[test]
    fn exposure_adapts_faster_to_bright_than_to_dark() {
        let (to_bright, to_dark) = (half_way(100, 132), half_way(132, 100));
        assert!(to_bright < 0.5 * to_dark, "{to_bright} s, {to_dark} s");
        assert!((0.2..1.0).contains(&to_dark), "{to_dark} s");
    }

    #[test]
    fn exposure_of_smooth_animation_has_no_jumps_or_noise() {
        // A cluster of 400 pixels that pulses by six powers of two in sixteen seconds, while the
        // few brightest pixels come and go, as sprites between pixels do.
        let frames = 30 * 32;
        let (mut meter, mut raw, mut levels) = (Meter::default(), vec![], vec![]);
        for frame in 0..frames {
            let secs = frame as f32 / 30.0;
            let pulse = 3.0 * libm::sinf(std::f32::consts::TAU * secs / 16.0);
            let mut counts = [0; BINS];
            for k in 0..400 {
                counts[bin_of((pulse - 0.02 * k as f32).exp2())] += 1;
            }
            let flicker = (frame as u32).wrapping_mul(2_654_435_761) >> 30;
            counts[bin_of((pulse + 0.75).exp2())] += flicker;
            raw.push(levels_of(&counts).unwrap().white_log2);
            levels.push(meter.expose(auto(), &counts, 1.0 / 30.0).white_log2);
        }
        let jump =
            |values: &[f32]| values.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0f32, f32::max);
        assert!(jump(&raw) > 0.5, "the sequence does not test much: {}", jump(&raw));
        assert!(jump(&levels) < 0.2, "{}", jump(&levels));
        // The levels do follow, with a short delay.
        let span = |values: &[f32]| {
            let (low, high) =
                values.iter().fold((f32::MAX, f32::MIN), |(a, b), &v| (a.min(v), b.max(v)));
            high - low
        };
        assert!(span(&levels[480..]) > 5.0, "{}", span(&levels[480..]));
    }

    #[test]
    fn invisible_noise_does_not_change_exposure() {
        let mut meter = Meter::default();
        let counts = |shift: u32| {
            let mut counts = [0; BINS];
            counts[120..160].fill(100);
            counts[159] += shift;
            counts
        };
        let (quiet, loud) = (levels_of(&counts(0)).unwrap(), levels_of(&counts(20)).unwrap());
        let noise = (loud.white_log2 - quiet.white_log2).abs();
        assert!(noise > 1e-3 && noise < UNSEEN_LOG2, "{noise}");
        let levels: Vec<f32> = (0..300)
            .map(|i| meter.expose(auto(), &counts(20 * (i % 2)), 1.0 / 30.0).white_log2)
            .collect();
        let moved = levels.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0f32, f32::max);
        assert!(moved < 0.1 * noise, "{moved} of {noise}");
    }
}
