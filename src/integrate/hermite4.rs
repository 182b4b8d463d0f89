//! Hermite scheme of order 4 (Makino and Aarseth 1992) with individual steps in blocks, as used by
//! GRAPE codes.

use super::blocks::{Accuracy, Scheme, SinkForces, Track, TrackChange, aarseth};
use super::{HostSide, Integrator};
use crate::forces::Order;

/// The registry's entry.
pub const HERMITE4: Integrator = Integrator {
    name: "hermite4",
    summary: "fourth order from accelerations and jerks, individual steps in powers of two",
    order: 4,
    reversible: false,
    host: HostSide::Blocks(&Hermite4),
    device: None,
};

struct Hermite4;

impl Scheme for Hermite4 {
    fn order(&self) -> Order {
        Order::Jerk
    }

    /// Belleman et al. (2008), equation 3.2.
    fn predict(&self, track: &Track, h: f64) -> TrackChange {
        let Track { velocity, acceleration, jerk, .. } = *track;
        TrackChange {
            position: (velocity + (acceleration + jerk * (h / 3.0)) * (h / 2.0)) * h,
            velocity: (acceleration + jerk * (h / 2.0)) * h,
            acceleration: acceleration + jerk * h,
        }
    }

    /// Equations 3.6 to 3.8 of the same paper: a cubic through accelerations and jerks at both
    /// ends.
    fn correct(
        &self,
        track: &Track,
        h: f64,
        pull: &SinkForces,
        accuracy: &Accuracy,
    ) -> (Track, f64) {
        let fall = track.acceleration - pull.acceleration;
        let snap = (-6.0 * fall - h * (4.0 * track.jerk + 2.0 * pull.jerk)) / (h * h);
        let crackle = (12.0 * fall + 6.0 * h * (track.jerk + pull.jerk)) / (h * h * h);
        let (h3, h4) = (h.powi(3), h.powi(4));
        let mut change = self.predict(track, h);
        change.position += (h4 / 24.0) * snap + (h4 * h / 120.0) * crackle;
        change.velocity += (h3 / 6.0) * snap + (h4 / 24.0) * crackle;
        let corrected = Track {
            acceleration: pull.acceleration,
            jerk: pull.jerk,
            snap: snap + h * crackle,
            crackle,
            ..track.moved(&change, h)
        };
        let least = accuracy.least_acceleration;
        // The noise of the forces as it enters the two derivatives above.
        let noise = accuracy.noise_over_step(pull, h);
        let criterion = accuracy.settled(h, |times| {
            let noise = [6.0 * times * noise / (h * h), 12.0 * times * noise / h3];
            accuracy.settings.eta.sqrt() * aarseth(&corrected, least, noise)
        });
        (corrected, criterion)
    }

    /// Half of what the criterion gives, because there is no previous step to take derivatives
    /// from.
    fn first_step(&self, track: &Track, accuracy: &Accuracy) -> f64 {
        0.5 * accuracy.settings.eta.sqrt() * aarseth(track, accuracy.least_acceleration, [0.0; 2])
    }

    fn shader(&self) -> Option<&'static str> {
        Some("blocks/hermite4.wgsl")
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::blocks::BlockSettings;
    use super::*;
    use crate::forces::Noise;

    /// For x = t^5 the corrector is exact, because the acceleration is a cubic; the predictor is
    /// not.
    #[test]
    fn quintic_orbit_is_exact() {
        let at = |t: f64| Track {
            position: DVec3::X * t.powi(5),
            velocity: DVec3::X * 5.0 * t.powi(4),
            acceleration: DVec3::X * 20.0 * t.powi(3),
            jerk: DVec3::X * 60.0 * t.powi(2),
            snap: DVec3::X * 120.0 * t,
            crackle: DVec3::X * 120.0,
            ..Track::default()
        };
        let (from, to) = (at(1.0), at(1.5));
        let predicted = from.after(&Hermite4.predict(&from, 0.5), 0.5);
        assert!((predicted.position - to.position).length() > 0.1);
        let pull = SinkForces { acceleration: to.acceleration, jerk: to.jerk, snap: DVec3::NAN };
        let settings = BlockSettings { eta: 0.04, ..BlockSettings::default() };
        let accuracy = Accuracy { settings, least_acceleration: 0.0, noise: Noise::default() };
        let (found, criterion) = Hermite4.correct(&from, 0.5, &pull, &accuracy);
        let off = |a: DVec3, b: DVec3| (a - b).length() / b.length();
        assert!(off(found.position, to.position) < 1e-14);
        assert!(off(found.velocity, to.velocity) < 1e-14);
        assert!(off(found.snap, to.snap) < 1e-13 && off(found.crackle, to.crackle) < 1e-13);
        // sqrt(0.04 (67.5 * 180 + 135^2) / (135 * 120 + 180^2))
        assert!((criterion - 0.2 * (30375.0f64 / 48600.0).sqrt()).abs() < 1e-12);
        // The series with all derivatives is exact if the derivatives are.
        assert!(off(from.at(0.5).position, to.position) < 1e-14);
        assert!(off(from.at(0.5).velocity, to.velocity) < 1e-14);
        assert!(off(from.at(0.5).acceleration, to.acceleration) < 1e-14);
    }
}
