//! Drawing a subset of the bodies with the light of all, for adapters on which drawing all takes
//! too long.

use super::look::Look;

impl Look {
    /// The look that draws one in `every` bodies, each as bright as `every` of them, and smooths as
    /// for that number: the same light and the same shapes, coarser. Streaks are drawn by all
    /// bodies or none: with streaks the look is unchanged.
    #[must_use]
    pub fn thinned(mut self, every: u32) -> Self {
        if every < 2 || self.style.streak_time > 0.0 {
            return self;
        }
        let brighter = every as f32;
        for component in &mut self.uniform.components {
            component.peak = component.peak.map(|channel| channel * brighter);
            component.white_peak *= brighter;
        }
        self.light /= f64::from(every);
        self.every *= every;
        self
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use crate::bodies::Bodies;
    use crate::render::{Look, Style};

    #[test]
    fn thinning_preserves_light_and_is_off_with_streaks() {
        let mut bodies = Bodies::with_capacity(1000);
        (0..1000).for_each(|i| bodies.push(1.0, DVec3::splat(f64::from(i)), DVec3::ONE, 0));
        let whole = Look::new(&Style::default(), &bodies, None).unwrap();
        let thin = whole.clone().thinned(5);
        let peak = |look: &Look| look.uniform.components[0].white_peak;
        assert_eq!((thin.every, peak(&thin)), (5, 5.0 * peak(&whole)));
        assert!((thin.light * 5.0 / whole.light - 1.0).abs() < 1e-12);
        assert_eq!(whole.clone().thinned(1).every, 1);
        let streaks = Style { streak_time: 1.0, ..Style::default() };
        assert_eq!(Look::new(&streaks, &bodies, None).unwrap().thinned(5).every, 1);
    }
}
