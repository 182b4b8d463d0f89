//! Hermite scheme of order 6 (Nitadori and Makino 2008) with individual steps in blocks.

use super::blocks::{Accuracy, Scheme, SinkForces, Track, TrackChange, aarseth, beyond, ratio};
use super::{HostSide, Integrator};
use crate::forces::Order;

/// The registry's entry.
pub const HERMITE6: Integrator = Integrator {
    name: "hermite6",
    summary: "sixth order from accelerations, jerks and snaps, individual steps in powers of two",
    order: 6,
    reversible: false,
    host: HostSide::Blocks(&Hermite6),
    device: None,
};

struct Hermite6;

impl Scheme for Hermite6 {
    fn order(&self) -> Order {
        Order::Snap
    }

    /// Uses all known derivatives, including the crackle of the last step.
    fn predict(&self, track: &Track, h: f64) -> TrackChange {
        track.taylor(h)
    }

    /// The trapezoidal rule with two corrections (Nitadori and Makino 2008, section 2); higher
    /// derivatives from the quintic through acceleration, jerk and snap at both ends.
    fn correct(
        &self,
        track: &Track,
        h: f64,
        pull: &SinkForces,
        accuracy: &Accuracy,
    ) -> (Track, f64) {
        let (h2, h3) = (h * h, h * h * h);
        let velocity = (h / 2.0) * (track.acceleration + pull.acceleration)
            - (h2 / 10.0) * (pull.jerk - track.jerk)
            + (h3 / 120.0) * (track.snap + pull.snap);
        // The first velocity plus half its change is the mean of the two velocities.
        let position = h * track.velocity
            + ((h / 2.0) * velocity - (h2 / 10.0) * (pull.acceleration - track.acceleration)
                + (h3 / 120.0) * (track.jerk + pull.jerk));

        // In u = (t - middle) / k, from -1 to 1: a = c0 + c1 u + ... + c5 u^5.
        let k = h / 2.0;
        let rise = pull.acceleration - track.acceleration;
        let (jerks, bend) = ((pull.jerk + track.jerk) * k, (pull.jerk - track.jerk) * k);
        let (snaps, twist) =
            ((pull.snap + track.snap) * (k * k), (pull.snap - track.snap) * (k * k));
        let c4 = (snaps - bend) / 16.0;
        let c5 = (twist - 3.0 * (jerks - rise)) / 16.0;
        let c3 = (jerks - rise) / 4.0 - 2.0 * c5;
        // Derivatives at u = 1.
        let crackle = (6.0 * c3 + 24.0 * c4 + 60.0 * c5) / k.powi(3);
        let fourth = (24.0 * c4 + 120.0 * c5) / k.powi(4);
        let fifth = 120.0 * c5 / k.powi(5);

        let SinkForces { acceleration, jerk, snap } = *pull;
        let moved = track.moved(&TrackChange { position, velocity, acceleration }, h);
        let corrected = Track { acceleration, jerk, snap, crackle, ..moved };
        let least = accuracy.least_acceleration;
        let [a, a1, a2, a3, a4, a5] = [acceleration, jerk, snap, crackle, fourth, fifth]
            .map(|derivative| derivative.length());
        // Nitadori and Makino (2008): eta (A1 / A4)^(1/3), A_k^2 = |a_(k-1)||a_(k+1)| + |a_k|^2.
        // The noise of the forces as it enters the quintic's derivatives at the end of the step.
        let noise = accuracy.noise_over_step(pull, h);
        let criterion = accuracy.settled(h, |times| {
            let noise = times * noise;
            let noise_3 = 60.0 * noise / h3;
            let [far_3, far_4, far_5] = [
                beyond(a3, noise_3),
                beyond(a4, 360.0 * noise / (h2 * h2)),
                beyond(a5, 720.0 * noise / (h2 * h3)),
            ];
            let above = a.max(least) * a2 + a1 * a1;
            let sixth = accuracy.settings.eta6
                * ratio(above, far_3 * far_5 + far_4 * far_4).powf(1.0 / 6.0);
            let fourth = accuracy.settings.eta.sqrt() * aarseth(&corrected, least, [0.0, noise_3]);
            0.5 * (fourth + sixth)
        });
        (corrected, criterion)
    }

    /// A quarter of what the criterion gives, with higher derivatives guessed from the lower: there
    /// is no previous step to take them from.
    fn first_step(&self, track: &Track, accuracy: &Accuracy) -> f64 {
        let natural = aarseth(track, accuracy.least_acceleration, [0.0; 2]);
        0.125 * (accuracy.settings.eta.sqrt() + accuracy.settings.eta6) * natural
    }

    fn shader(&self) -> Option<&'static str> {
        Some("blocks/hermite6.wgsl")
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::blocks::BlockSettings;
    use super::*;
    use crate::forces::Noise;

    /// x = t^power.
    fn at(power: i32, t: f64) -> Track {
        let mut factor = 1.0;
        let mut next = power;
        let mut derivative = || {
            let value = DVec3::Y * (factor * t.powi(next));
            factor *= f64::from(next);
            next -= 1;
            value
        };
        Track {
            position: derivative(),
            velocity: derivative(),
            acceleration: derivative(),
            jerk: derivative(),
            snap: derivative(),
            crackle: derivative(),
            ..Track::default()
        }
    }

    /// For x = t^7 the velocity is exact, because the acceleration is a quintic; for x = t^6 the
    /// position is exact, because the velocity is one.
    #[test]
    fn orbits_of_sixth_and_seventh_degree_are_exact() {
        let settings = BlockSettings { eta: 0.04, eta6: 0.3, ..BlockSettings::default() };
        let accuracy = Accuracy { settings, least_acceleration: 0.0, noise: Noise::default() };
        let off = |a: DVec3, b: DVec3| (a - b).length() / b.length();
        for power in [6, 7] {
            let (from, to) = (at(power, 1.0), at(power, 1.5));
            let predicted = from.after(&Hermite6.predict(&from, 0.5), 0.5);
            assert!((predicted.position - to.position).length() > 0.01);
            let pull = SinkForces { acceleration: to.acceleration, jerk: to.jerk, snap: to.snap };
            let (found, criterion) = Hermite6.correct(&from, 0.5, &pull, &accuracy);
            assert!(off(found.velocity, to.velocity) < 1e-14);
            assert!(off(found.crackle, to.crackle) < 1e-12, "{} {}", found.crackle, to.crackle);
            if power == 6 {
                assert!(off(found.position, to.position) < 1e-14);
                continue;
            }
            // By hand: the fourth derivative is 5040 t, the fifth 5040.
            let a1 = to.acceleration.y * to.snap.y + to.jerk.y.powi(2);
            let a4 = to.crackle.y * 5040.0 + 7560f64.powi(2);
            let fourth = 0.2 * (a1 / (to.jerk.y * to.crackle.y + to.snap.y.powi(2))).sqrt();
            let right = 0.5 * (fourth + 0.3 * (a1 / a4).powf(1.0 / 6.0));
            assert!((criterion - right).abs() < 1e-11 * right, "{criterion} {right}");
        }
    }
}
