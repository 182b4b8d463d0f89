//! What distinguishes one Hermite scheme from another: its formulas for one body.

use glam::DVec3;

use super::BlockSettings;
use crate::forces::{Noise, Order};

/// What counts as an acceleration at least, of the mean one: far above rounding, and so far below what
/// moves a body that its step hardly feels it.
pub(super) const LEAST: f64 = 1e-8;

/// A shorter step needs a sign that stands so far above the noise. As in `shaders/blocks/criterion.wgsl`.
const FAR_ABOVE: f64 = 16.0;

/// A step is not shortened to less than this part of the last, where there is noise. As there.
const SHORTEST: f64 = 0.125;

/// How a body moves around its own time: a Taylor series. Position and velocity are sums of very many
/// small steps: what of them does not fit into an f64 is kept beside it (Kahan 1965; Neumaier 1974).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Track {
    /// x.
    pub position: DVec3,
    /// v.
    pub velocity: DVec3,
    /// What of x is lost in its rounding.
    pub position_low: DVec3,
    /// What of v is.
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

/// How much a body's track changes in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// Of x.
    pub position: DVec3,
    /// Of v.
    pub velocity: DVec3,
    /// The acceleration at the end, whole.
    pub acceleration: DVec3,
}

/// Where a body will be, as far as the forces need it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// x.
    pub position: DVec3,
    /// v.
    pub velocity: DVec3,
    /// a; forces with snaps need it.
    pub acceleration: DVec3,
}

/// What acts on a body at the end of its step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pull {
    /// a.
    pub acceleration: DVec3,
    /// a1.
    pub jerk: DVec3,
    /// a2, if the scheme's order needs it.
    pub snap: DVec3,
}

/// What a step is chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// What the user chose.
    pub settings: BlockSettings,
    /// Accelerations below this one count as this one. Where forces cancel, in the middle of a symmetric
    /// system, all derivatives are rounding errors, divided by powers of the step: without this floor the
    /// step would halve with every step.
    pub least_acceleration: f64,
    /// What of the forces may be error. Derivatives that come from differences of forces over a short step
    /// are noise below it, and noise must not make the next step shorter still.
    pub noise: Noise,
}

impl Accuracy {
    /// What of a difference of forces over a step of `h` may be error: an acceleration. Where forces cancel
    /// their errors do not: a body's error is one of the mean acceleration at least.
    pub fn noise_over_step(&self, pull: &Pull, h: f64) -> f64 {
        let mean = self.least_acceleration / LEAST;
        self.noise.acceleration * pull.acceleration.length().max(mean)
            + self.noise.jerk * h * pull.jerk.length()
    }
}

impl Accuracy {
    /// The next step after one of `h`, from what the criterion says with that multiple of the noise left out. A
    /// shorter step needs a sign that stands far above the noise: a body whose forces nearly cancel has more
    /// of it than others, and would halve its step again and again. Where there is noise, a step becomes no
    /// shorter than an eighth of the last: steps only double as they grow, and one stray force would outweigh
    /// many good ones. (A half is too little for close encounters on coarse steps.)
    pub fn settled(&self, h: f64, wanted: impl Fn(f64) -> f64) -> f64 {
        let plain = wanted(1.0);
        if plain >= h {
            return plain;
        }
        let shortest = if self.noise == Noise::default() { 0.0 } else { SHORTEST * h };
        wanted(FAR_ABOVE).clamp(shortest, h)
    }
}

/// The formulas of a scheme. `h` is the time since the track's own time.
pub trait Scheme: Sync {
    /// Up to which derivative its forces go.
    fn order(&self) -> Order;

    /// The predictor.
    fn predict(&self, track: &Track, h: f64) -> Change;

    /// The corrector: the track at the end of a step of `h`, and the step that it would like to take next.
    fn correct(&self, track: &Track, h: f64, pull: &Pull, accuracy: &Accuracy) -> (Track, f64);

    /// The first step, from a track that is known up to the crackle.
    fn first_step(&self, track: &Track, accuracy: &Accuracy) -> f64;

    /// Predictor and corrector for a device: a file below `shaders/`, if there is one.
    fn shader(&self) -> Option<&'static str> {
        None
    }
}

impl Track {
    /// Position, velocity and acceleration `h` later, with all that is known: for output at a time
    /// between the body's own.
    pub fn at(&self, h: f64) -> Predicted {
        self.after(&self.taylor(h), h)
    }

    /// What the whole series changes in `h`.
    pub fn taylor(&self, h: f64) -> Change {
        let Self { velocity, acceleration, jerk, snap, crackle, .. } = *self;
        let next = |low: DVec3, high: DVec3, k: f64| low + high * (h / k);
        let for_position = next(acceleration, next(jerk, next(snap, crackle, 5.0), 4.0), 3.0);
        let for_velocity = next(acceleration, next(jerk, next(snap, crackle, 4.0), 3.0), 2.0);
        Change {
            position: next(velocity, for_position, 2.0) * h,
            velocity: for_velocity * h,
            acceleration: next(acceleration, next(jerk, next(snap, crackle, 3.0), 2.0), 1.0),
        }
    }

    /// Where it is after a `change` in `h`, rounded once.
    pub fn after(&self, change: &Change, h: f64) -> Predicted {
        let [position, velocity] = self.small(change, h);
        Predicted {
            position: self.position + position,
            velocity: self.velocity + velocity,
            acceleration: change.acceleration,
        }
    }

    /// Moves the track by a change, keeping what is lost in the rounding. Its derivatives stay as they are.
    #[must_use]
    pub fn moved(&self, change: &Change, h: f64) -> Self {
        let [position, velocity] = self.small(change, h);
        let (position, position_low) = two_sum(self.position, position);
        let (velocity, velocity_low) = two_sum(self.velocity, velocity);
        Self { position, velocity, position_low, velocity_low, ..*self }
    }

    /// What is to be added to x and v: the change, and what was lost before.
    fn small(&self, change: &Change, h: f64) -> [DVec3; 2] {
        let low = self.velocity_low;
        [change.position + (self.position_low + low * h), change.velocity + low]
    }
}

/// `a + b` rounded, and what was lost (Knuth 1969, section 4.2.2, theorem B).
fn two_sum(a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Aarseth's criterion (2003, equation 2.13) without its eta's root: sqrt((|a||a2| + |a1|^2) / (|a1||a3| +
/// |a2|^2)), a time; infinite where nothing changes. `least` is the least that counts as |a|; `noise` is
/// what of a2 and of a3 is error.
pub fn aarseth(track: &Track, least: f64, noise: [f64; 2]) -> f64 {
    let [a, a1, a2, a3] = [track.acceleration, track.jerk, track.snap, track.crackle]
        .map(|derivative| derivative.length());
    let [below_2, below_3] = [beyond(a2, noise[0]), beyond(a3, noise[1])];
    ratio(a.max(least) * a2 + a1 * a1, a1 * below_3 + below_2 * below_2).sqrt()
}

/// What of a derivative's size is no noise.
pub fn beyond(size: f64, noise: f64) -> f64 {
    (size - noise).max(0.0)
}

/// `above / below`; infinite where `below` is 0.
pub fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::super::BlockSettings;
    use super::*;

    #[test]
    fn a_step_is_shortened_by_what_stands_far_above_the_noise() {
        let settings = BlockSettings::default();
        let noisy = Noise { acceleration: 1e-7, jerk: 4e-7 };
        let quiet = Accuracy { settings, least_acceleration: 0.0, noise: Noise::default() };
        let accuracy = Accuracy { noise: noisy, ..quiet };
        // Wishes by the multiple of the noise that is left out.
        let only_noise = |times: f64| if times > 1.0 { f64::INFINITY } else { 1e-6 };
        assert_eq!(accuracy.settled(1.0, only_noise), 1.0);
        assert_eq!(accuracy.settled(1.0, |_| 0.3), 0.3);
        assert_eq!((accuracy.settled(1.0, |_| 1e-6), quiet.settled(1.0, |_| 1e-6)), (0.125, 1e-6));
        assert_eq!(accuracy.settled(1.0, |_| 7.0), 7.0);
    }

    #[test]
    fn the_device_has_the_same_limits() {
        let text = include_str!("../../../shaders/blocks/criterion.wgsl");
        assert!(text.contains(&format!("const FAR_ABOVE: Real = Real({FAR_ABOVE:?});")));
        assert!(text.contains(&format!("const SHORTEST: f32 = {SHORTEST:?};")));
    }
}
