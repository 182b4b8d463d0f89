//! Adapts a colour scale to the bodies over time: with a fixed one a collapse would reach the end
//! of the scale.

/// Time constant in seconds of film for following a change (63 %): a sphere at rest may collapse
/// within two.
const FOLLOWING_SECS: f64 = 0.4;
/// The scale counts as arrived within a thousandth of its target.
const ARRIVED: f64 = 1e-3;
/// The scale while no body has a value other than 0.
const UNKNOWN: [f64; 2] = [1e-3, 1e3];

/// The values towards which a colour scale's ends move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following {
    /// The scale that fits the bodies, if it differs from the current one.
    aim: Option<[f64; 2]>,
    /// Seconds since bodies that were all at rest first had values; `None` if they had some from
    /// the start.
    known_secs: Option<f64>,
    /// Whether no body has had a value so far.
    is_unknown: bool,
}

impl Following {
    /// Starts with the scale `found` for the bodies, `None` if they have no values yet; also
    /// returns the initial scale.
    pub(super) fn begin(found: Option<[f64; 2]>) -> (Self, [f64; 2]) {
        (Self { is_unknown: found.is_none(), ..Self::default() }, found.unwrap_or(UNKNOWN))
    }

    /// Sets `found` as the new target. Returns a scale to apply at once: the first one of bodies
    /// that were all at rest until now.
    pub(super) fn aim(&mut self, found: [f64; 2]) -> Option<[f64; 2]> {
        if std::mem::take(&mut self.is_unknown) {
            (self.aim, self.known_secs) = (None, Some(0.0));
            return Some(found);
        }
        self.aim = Some(found);
        None
    }

    /// The scale `elapsed_secs` after `now`, or `None` if it has arrived.
    pub(super) fn approach(&mut self, now: [f64; 2], elapsed_secs: f64) -> Option<[f64; 2]> {
        let secs = elapsed_secs.max(0.0);
        // Speeds of bodies released from rest double quickly: a young scale follows as fast.
        let known_secs = self.known_secs.get_or_insert(FOLLOWING_SECS);
        *known_secs = (*known_secs + secs).min(FOLLOWING_SECS);
        let lag = known_secs.max(f64::MIN_POSITIVE);
        let aim = self.aim?;
        let part = 1.0 - libm::exp(-secs / lag);
        let next = [0, 1].map(|end| now[end] * libm::pow(aim[end] / now[end], part));
        let is_close = |end: usize| (next[end] / aim[end] - 1.0).abs() < ARRIVED;
        let has_arrived = is_close(0) && is_close(1);
        self.aim = (!has_arrived).then_some(aim);
        Some(if has_arrived { aim } else { next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_scale_reaches_target_and_stays() {
        let (mut following, mut scale) = Following::begin(Some([1.0, 10.0]));
        assert_eq!(following.approach(scale, 1.0), None, "nothing has said where to");
        assert_eq!(following.aim([4.0, 80.0]), None, "not before time passes");
        scale = following.approach(scale, FOLLOWING_SECS).unwrap();
        let octaves = libm::log2(scale[1] / 10.0);
        assert!((octaves / 3.0 - 0.632).abs() < 0.01, "{octaves}");
        let mut frames = 0;
        while let Some(next) = following.approach(scale, 0.1) {
            (scale, frames) = (next, frames + 1);
        }
        assert!((20..40).contains(&frames), "{frames}");
        assert_eq!(scale, [4.0, 80.0]);
    }

    #[test]
    fn first_scale_after_rest_applies_immediately() {
        let (mut following, scale) = Following::begin(None);
        assert_eq!(scale, UNKNOWN);
        assert_eq!(following.aim([1e-6, 1e-5]), Some([1e-6, 1e-5]));
        // A tenth of a second later all speeds have doubled, and the scale has too.
        assert_eq!(following.aim([2e-6, 2e-5]), None);
        let next = following.approach([1e-6, 1e-5], 0.1).unwrap();
        assert!(next[1] > 1.5e-5, "{next:?}");
    }
}
