//! How far massive bodies are concentrated.

use glam::DVec3;

use super::GroupMembers;

/// One body in this number counts as massive.
const TENTH: usize = 10;

impl GroupMembers<'_> {
    /// The median distance from `centre` over that of the massive bodies: a tenth of all, and those
    /// as massive as the lightest of these. So it is 1 for equal masses. NaN if both are 0.
    pub(super) fn segregation(&self, centre: DVec3) -> f64 {
        let mass = |i: &usize| self.bodies.mass[*i];
        let mut masses: Vec<f64> = self.list.iter().map(mass).collect();
        let count = masses.len().div_ceil(TENTH);
        let lightest = *masses.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1;
        let median = |least: f64| {
            let massive = self.list.iter().filter(|i| mass(i) >= least);
            let distance = |i: &usize| self.bodies.position[*i].distance(centre);
            let mut distances: Vec<f64> = massive.map(distance).collect();
            let middle = (distances.len() - 1) / 2;
            *distances.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        median(0.0) / median(lightest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;

    /// 100 bodies at the distances 1 to 100 from a centre.
    fn segregation(mass: fn(usize) -> f64) -> f64 {
        let centre = DVec3::new(5.0, -3.0, 2.0);
        let mut bodies = Bodies::with_capacity(100);
        for k in 1..=100 {
            bodies.push(mass(k), centre + DVec3::Y * k as f64, DVec3::ZERO, 0);
        }
        GroupMembers::of(&bodies, None).segregation(centre)
    }

    #[test]
    fn massive_bodies_are_compared_with_all() {
        assert_eq!(segregation(|_| 0.25), 1.0);
        assert_eq!(segregation(|_| 0.0), 1.0);
        // The medians of 1 to 100, 1 to 10 and 91 to 100.
        assert_eq!(segregation(|k| 1.0 / k as f64), 10.0);
        assert_eq!(segregation(|k| k as f64), 50.0 / 95.0);
        // Of 20 bodies as massive as each other, none is left out.
        assert_eq!(segregation(|k| if k <= 20 { 2.0 } else { 1.0 }), 5.0);
        let mut alone = Bodies::with_capacity(1);
        alone.push(1.0, DVec3::X, DVec3::ZERO, 0);
        assert!(GroupMembers::of(&alone, None).segregation(DVec3::X).is_nan());
    }
}
