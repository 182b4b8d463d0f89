//! The colour scale of a look, and how it follows the bodies: in a collapse all would else soon have the colour of
//! its end.

use glam::DVec3;

use super::look::Look;
use super::part::percentiles;
use super::scale::Scale;
use super::style::ColourBy;
use crate::bodies::Bodies;

/// Seconds of film in which a colour scale follows 63 % of a change: a sphere at rest may collapse within two.
const FOLLOWING_SECS: f64 = 0.4;
/// A scale has arrived where what is left is a thousandth of a value.
const ARRIVED: f64 = 1e-3;
/// Where no body has a value other than 0.
const UNKNOWN: [f64; 2] = [1e-3, 1e3];

/// Where a colour scale is going.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following {
    /// What suits the bodies, if that is elsewhere.
    aim: Option<[f64; 2]>,
    /// Seconds since bodies that were all at rest have had values; `None` where they had some from the beginning.
    known_secs: Option<f64>,
    /// No body has had a value yet.
    is_unknown: bool,
}

impl Look {
    /// Whether the colour scale has numbers, and they are those of the bodies.
    pub fn follows_values(&self) -> bool {
        let has_numbers = !matches!(self.style.colour_by, ColourBy::Component | ColourBy::Age);
        has_numbers && self.style.value_range.is_none()
    }

    /// The scale that was set, or what suits the bodies.
    pub(super) fn begin_values(&mut self, bodies: &Bodies, acceleration: Option<&[DVec3]>) {
        if let Some(range) = self.style.value_range {
            self.span(range);
        } else if self.follows_values() {
            let found = self.values_of(bodies, acceleration);
            self.following.is_unknown = found.is_none();
            self.span(found.unwrap_or(UNKNOWN));
        }
    }

    /// Finds out which colour scale suits the bodies as they are now, for [`Look::approach_values`]: some milliseconds. The
    /// first one of bodies that were all at rest holds at once. A scale that was set stays.
    pub fn aim_values(&mut self, bodies: &Bodies, acceleration: Option<&[DVec3]>) {
        if !self.follows_values() {
            return;
        }
        let Some(found) = self.values_of(bodies, acceleration) else { return };
        self.following.aim = Some(found);
        if std::mem::take(&mut self.following.is_unknown) {
            self.approach_values(f64::INFINITY);
            self.following.known_secs = Some(0.0);
        }
    }

    /// Takes the colour scale towards what was found to suit the bodies, `elapsed_secs` of film later; whether it was
    /// elsewhere.
    pub fn approach_values(&mut self, elapsed_secs: f64) -> bool {
        let secs = elapsed_secs.max(0.0);
        // What begins to move is soon twice as fast: a scale that is as old as that is no slower.
        let known_secs = self.following.known_secs.get_or_insert(FOLLOWING_SECS);
        *known_secs = (*known_secs + secs).min(FOLLOWING_SECS);
        let lag = known_secs.max(f64::MIN_POSITIVE);
        let Some(aim) = self.following.aim else { return false };
        let part = 1.0 - libm::exp(-secs / lag);
        let now = [self.least_value, self.most_value];
        let next = [0, 1].map(|end| now[end] * libm::pow(aim[end] / now[end], part));
        let is_there = |end: usize| (next[end] / aim[end] - 1.0).abs() < ARRIVED;
        let has_arrived = is_there(0) && is_there(1);
        self.span(if has_arrived { aim } else { next });
        self.following.aim = (!has_arrived).then_some(aim);
        now != [self.least_value, self.most_value]
    }

    /// Both: takes the colour scale towards what suits the bodies as they are now, `elapsed_secs` of film later.
    pub fn follow_values(
        &mut self,
        bodies: &Bodies,
        acceleration: Option<&[DVec3]>,
        elapsed_secs: f64,
    ) {
        self.aim_values(bodies, acceleration);
        self.approach_values(elapsed_secs);
    }

    /// 2nd and 98th percentile of what the colours of the bodies drawn show; `None` where that is no number, and where all
    /// have none but 0.
    fn values_of(&self, bodies: &Bodies, acceleration: Option<&[DVec3]>) -> Option<[f64; 2]> {
        let is_drawn = |&i: &usize| {
            let component = bodies.component.get(i).copied().unwrap_or_default();
            self.uniform.components[usize::from(component)].white_peak > 0.0
        };
        let of = |vectors: &[DVec3], drift: DVec3| {
            let stride = vectors.len().div_ceil(16_384).max(1);
            let sampled = (0..vectors.len()).step_by(stride).filter(is_drawn);
            percentiles(sampled.map(|i| (vectors[i] - drift).length()))
        };
        match self.style.colour_by {
            ColourBy::Component | ColourBy::Age => None,
            ColourBy::Speed => of(&bodies.velocity, self.drift),
            ColourBy::Acceleration => of(acceleration.unwrap_or_default(), DVec3::ZERO),
            ColourBy::Density => {
                let plan = self.medium.as_ref()?;
                let octaves = plan.sampled(bodies, &self.uniform, false);
                percentiles(octaves.into_iter().map(|y| libm::exp2(y) * plan.unit()))
            }
        }
    }

    /// Spans the colour scale between two values.
    fn span(&mut self, [least, most]: [f64; 2]) {
        (self.least_value, self.most_value) = (least, most);
        let unit = self.value_unit(&Scale::PLAIN);
        self.uniform.scale_from = (libm::log2(least) - libm::log2(unit)) as f32;
        let octaves = (libm::log2(most) - libm::log2(least)).max(1e-3);
        self.uniform.scale_factor = (1.0 / octaves) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Style;
    use crate::scene::{Spread, test_bodies};

    fn by_speed(bodies: &Bodies) -> Look {
        let style = Style { colour_by: ColourBy::Speed, ..Style::default() };
        Look::new(&style, bodies, None).unwrap()
    }

    fn moving(speed: f64) -> Bodies {
        let mut bodies = test_bodies(100, Spread::Even);
        let mean = bodies.velocity.iter().sum::<DVec3>() / 100.0;
        bodies.velocity.iter_mut().for_each(|v| *v = (*v - mean) * speed);
        bodies
    }

    #[test]
    fn a_scale_arrives_where_it_was_going_and_rests_there() {
        let mut look = by_speed(&moving(1.0));
        let begun = look.most_value;
        assert!(!look.approach_values(1.0), "nothing has said where to");
        look.aim_values(&moving(8.0), None);
        assert_eq!(look.most_value, begun, "not before time passes");
        assert!(look.approach_values(FOLLOWING_SECS));
        let octaves = libm::log2(look.most_value / begun);
        assert!((octaves / 3.0 - 0.632).abs() < 0.01, "{octaves}");
        let frames = (0..1000).take_while(|_| look.approach_values(0.1)).count();
        assert!((20..40).contains(&frames), "{frames}");
        assert!((look.most_value / begun / 8.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bodies_at_rest_have_the_first_scale_that_there_is_at_once() {
        let mut look = by_speed(&moving(0.0));
        assert_eq!([look.least_value, look.most_value], UNKNOWN);
        look.aim_values(&moving(0.0), None);
        assert_eq!([look.least_value, look.most_value], UNKNOWN);
        look.aim_values(&moving(1e-5), None);
        let right = by_speed(&moving(1e-5));
        assert!((look.most_value / right.most_value - 1.0).abs() < 1e-6);
        assert!((look.uniform.scale_from - right.uniform.scale_from).abs() < 1e-4);
    }
}
