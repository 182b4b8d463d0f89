//! What distinguishes Hermite schemes: their formulas for one body.

use glam::DVec3;

use super::BlockSettings;
use crate::forces::{Noise, Order};

/// The least acceleration that counts, as a fraction of the mean: far above rounding, and far below
/// anything that affects a body's step.
pub(super) const LEAST: f64 = 1e-8;

/// A shorter step requires a signal this many times above the noise. As in
/// `shaders/blocks/criterion.wgsl`.
const FAR_ABOVE: f64 = 16.0;

/// If there is noise, a step is at least this fraction of the last. As in the same shader.
const SHORTEST: f64 = 0.125;

/// A body's motion around its own time: a Taylor series. Position and velocity are sums of very
/// many small steps, so their rounding errors are stored in separate fields (Kahan 1965; Neumaier
/// 1974).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Track {
    /// x.
    pub position: DVec3,
    /// v.
    pub velocity: DVec3,
    /// The rounding error of x.
    pub position_low: DVec3,
    /// The rounding error of v.
    pub velocity_low: DVec3,
    /// a.
    pub acceleration: DVec3,
    /// a1, the acceleration's first derivative.
    pub jerk: DVec3,
    /// a2, the second.
    pub snap: DVec3,
    /// a3, the third.
    pub crackle: DVec3,
}

/// The change of a body's track over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrackChange {
    /// Change of x.
    pub position: DVec3,
    /// Change of v.
    pub velocity: DVec3,
    /// The acceleration at the end (not a change).
    pub acceleration: DVec3,
}

/// A body's predicted motion, as far as forces need it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// x.
    pub position: DVec3,
    /// v.
    pub velocity: DVec3,
    /// a; needed for forces with snaps.
    pub acceleration: DVec3,
}

/// The force on a body at the end of its step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SinkForces {
    /// a.
    pub acceleration: DVec3,
    /// a1.
    pub jerk: DVec3,
    /// a2, if the scheme's order needs it.
    pub snap: DVec3,
}

/// The quantities from which a step is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The user's settings.
    pub settings: BlockSettings,
    /// Smaller accelerations count as this one. Where forces cancel, in the centre of a symmetric
    /// system, all derivatives are rounding errors divided by powers of the step: without this
    /// floor the step would halve with every step.
    pub least_acceleration: f64,
    /// The fraction of the forces that may be error. Derivatives from differences of forces over a
    /// short step are noise below it, and noise must not make the next step shorter still.
    pub noise: Noise,
}

impl Accuracy {
    /// The possible error of a difference of forces over a step of `h`, as an acceleration. Errors
    /// do not cancel where forces do: a body's error is at least that of the mean acceleration.
    pub fn noise_over_step(&self, pull: &SinkForces, h: f64) -> f64 {
        let mean = self.least_acceleration / LEAST;
        self.noise.acceleration * pull.acceleration.length().max(mean)
            + self.noise.jerk * h * pull.jerk.length()
    }

    /// The next step after one of `h`; `criterion` leaves out this multiple of the noise. A shorter
    /// step requires a signal far above the noise: a body whose forces nearly cancel has more noise
    /// than others, and would halve its step again and again. With noise, a step becomes no shorter
    /// than an eighth of the last: steps grow by doubling only, and one outlier would outweigh many
    /// good forces. (A half is not enough for close encounters on coarse steps.)
    pub fn settled(&self, h: f64, criterion: impl Fn(f64) -> f64) -> f64 {
        let plain = criterion(1.0);
        if plain >= h {
            return plain;
        }
        let shortest = if self.noise == Noise::default() { 0.0 } else { SHORTEST * h };
        criterion(FAR_ABOVE).clamp(shortest, h)
    }
}

/// The formulas of a scheme. `h` is the time since the track's own time.
pub trait Scheme: Sync {
    /// The highest derivative of its forces.
    fn order(&self) -> Order;

    /// The predictor.
    fn predict(&self, track: &Track, h: f64) -> TrackChange;

    /// The corrector: returns the track at the end of a step of `h`, and the criterion's next step.
    fn correct(
        &self,
        track: &Track,
        h: f64,
        pull: &SinkForces,
        accuracy: &Accuracy,
    ) -> (Track, f64);

    /// The first step for a track that is known up to the crackle.
    fn first_step(&self, track: &Track, accuracy: &Accuracy) -> f64;

    /// Predictor and corrector for a device, as a file below `shaders/`, if there are any.
    fn shader(&self) -> Option<&'static str>;
}

impl Track {
    /// Position, velocity and acceleration after `h`, from all known derivatives: for output at a
    /// time between the body's own.
    pub fn at(&self, h: f64) -> Predicted {
        self.after(&self.taylor(h), h)
    }

    /// The change over `h` by the whole series.
    pub fn taylor(&self, h: f64) -> TrackChange {
        let Self { velocity, acceleration, jerk, snap, crackle, .. } = *self;
        let next = |low: DVec3, high: DVec3, k: f64| low + high * (h / k);
        let for_position = next(acceleration, next(jerk, next(snap, crackle, 5.0), 4.0), 3.0);
        let for_velocity = next(acceleration, next(jerk, next(snap, crackle, 4.0), 3.0), 2.0);
        TrackChange {
            position: next(velocity, for_position, 2.0) * h,
            velocity: for_velocity * h,
            acceleration: next(acceleration, next(jerk, next(snap, crackle, 3.0), 2.0), 1.0),
        }
    }

    /// The motion after a `change` over `h`, rounded once.
    pub fn after(&self, change: &TrackChange, h: f64) -> Predicted {
        let [position, velocity] = self.small(change, h);
        Predicted {
            position: self.position + position,
            velocity: self.velocity + velocity,
            acceleration: change.acceleration,
        }
    }

    /// The track moved by a change over `h`, keeping the rounding error. Its derivatives are
    /// unchanged.
    #[must_use]
    pub fn moved(&self, change: &TrackChange, h: f64) -> Self {
        let [position, velocity] = self.small(change, h);
        let (position, position_low) = two_sum(self.position, position);
        let (velocity, velocity_low) = two_sum(self.velocity, velocity);
        Self { position, velocity, position_low, velocity_low, ..*self }
    }

    /// The terms to add to x and v: the change, and the earlier rounding error.
    fn small(&self, change: &TrackChange, h: f64) -> [DVec3; 2] {
        let low = self.velocity_low;
        [change.position + (self.position_low + low * h), change.velocity + low]
    }
}

/// `a + b` rounded, and its rounding error (Knuth 1969, section 4.2.2, theorem B).
fn two_sum(a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Aarseth's criterion (2003, equation 2.13) without the factor sqrt(eta): sqrt((|a||a2| + |a1|^2)
/// / (|a1||a3| + |a2|^2)), a time; infinite if nothing changes. `least` is the floor of |a|;
/// `noise` is the part of a2 and of a3 that is error.
pub fn aarseth(track: &Track, least: f64, noise: [f64; 2]) -> f64 {
    let [a, a1, a2, a3] = [track.acceleration, track.jerk, track.snap, track.crackle]
        .map(|derivative| derivative.length());
    let [below_2, below_3] = [beyond(a2, noise[0]), beyond(a3, noise[1])];
    ratio(a.max(least) * a2 + a1 * a1, a1 * below_3 + below_2 * below_2).sqrt()
}

/// The part of a derivative's size that exceeds the noise.
pub fn beyond(size: f64, noise: f64) -> f64 {
    (size - noise).max(0.0)
}

/// `above / below`; infinite if `below` is 0.
pub fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::super::BlockSettings;
    use super::*;

    #[test]
    fn only_signal_far_above_noise_shortens_step() {
        let settings = BlockSettings::default();
        let noisy = Noise { acceleration: 1e-7, jerk: 4e-7 };
        let quiet = Accuracy { settings, least_acceleration: 0.0, noise: Noise::default() };
        let accuracy = Accuracy { noise: noisy, ..quiet };
        // Wanted steps as a function of the multiple of the noise that is left out.
        let only_noise = |times: f64| if times > 1.0 { f64::INFINITY } else { 1e-6 };
        assert_eq!(accuracy.settled(1.0, only_noise), 1.0);
        assert_eq!(accuracy.settled(1.0, |_| 0.3), 0.3);
        assert_eq!((accuracy.settled(1.0, |_| 1e-6), quiet.settled(1.0, |_| 1e-6)), (0.125, 1e-6));
        assert_eq!(accuracy.settled(1.0, |_| 7.0), 7.0);
    }

    #[test]
    fn shader_constants_match_host() {
        let text = include_str!("../../../shaders/blocks/criterion.wgsl");
        assert!(text.contains(&format!("const FAR_ABOVE: Real = Real({FAR_ABOVE:?});")));
        assert!(text.contains(&format!("const SHORTEST: f32 = {SHORTEST:?};")));
    }
}
