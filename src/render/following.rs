//! How a colour scale follows the bodies: otherwise, in a collapse, all would soon have the colour of its end.

/// Seconds of film in which a colour scale follows 63 % of a change: a sphere at rest may collapse within two.
const FOLLOWING_SECS: f64 = 0.4;
/// A scale has arrived when it is within a thousandth of a value.
const ARRIVED: f64 = 1e-3;
/// The scale while no body has a value other than 0.
const UNKNOWN: [f64; 2] = [1e-3, 1e3];

/// The values towards which a colour scale's ends move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following {
    /// The scale that suits the bodies, if it is another one.
    aim: Option<[f64; 2]>,
    /// Seconds since bodies that were all at rest first had values; `None` if they had some from the start.
    known_secs: Option<f64>,
    /// Whether no body has had a value yet.
    is_unknown: bool,
}

impl Following {
    /// Begins with what was found for the bodies, `None` if they have no values yet; also returns the first scale.
    pub(super) fn begin(found: Option<[f64; 2]>) -> (Self, [f64; 2]) {
        (Self { is_unknown: found.is_none(), ..Self::default() }, found.unwrap_or(UNKNOWN))
    }

    /// Aims for what was `found` to suit the bodies. Returns a scale that holds at once: the first one, if the bodies were
    /// all at rest until now.
    pub(super) fn aim(&mut self, found: [f64; 2]) -> Option<[f64; 2]> {
        if std::mem::take(&mut self.is_unknown) {
            (self.aim, self.known_secs) = (None, Some(0.0));
            return Some(found);
        }
        self.aim = Some(found);
        None
    }

    /// The scale `elapsed_secs` after `now`, if it has not arrived yet.
    pub(super) fn approach(&mut self, now: [f64; 2], elapsed_secs: f64) -> Option<[f64; 2]> {
        let secs = elapsed_secs.max(0.0);
        // Bodies that have just begun to move are soon twice as fast: a young scale follows as fast.
        let known_secs = self.known_secs.get_or_insert(FOLLOWING_SECS);
        *known_secs = (*known_secs + secs).min(FOLLOWING_SECS);
        let lag = known_secs.max(f64::MIN_POSITIVE);
        let aim = self.aim?;
        let part = 1.0 - libm::exp(-secs / lag);
        let next = [0, 1].map(|end| now[end] * libm::pow(aim[end] / now[end], part));
        let is_there = |end: usize| (next[end] / aim[end] - 1.0).abs() < ARRIVED;
        let has_arrived = is_there(0) && is_there(1);
        self.aim = (!has_arrived).then_some(aim);
        Some(if has_arrived { aim } else { next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_arrives_where_it_was_going_and_rests_there() {
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
    fn bodies_at_rest_have_the_first_scale_that_there_is_at_once() {
        let (mut following, scale) = Following::begin(None);
        assert_eq!(scale, UNKNOWN);
        assert_eq!(following.aim([1e-6, 1e-5]), Some([1e-6, 1e-5]));
        // A tenth of a second later all are twice as fast, and so is the scale.
        assert_eq!(following.aim([2e-6, 2e-5]), None);
        let next = following.approach([1e-6, 1e-5], 0.1).unwrap();
        assert!(next[1] > 1.5e-5, "{next:?}");
    }
}
