//! The "age" shown by colours: one number per body, 0 for the youngest light, 1 for the oldest.
//! Scales run from blue to gold or from dark to light, so young light is blue, as that of young
//! stars is.
//!
//! If a snapshot has formation times (tipsy's `tform`, GADGET's `AGE`, which is also a time of
//! formation), the colour follows them. Scenes have no such times. For them the number is a radial
//! rank: the fraction of the component's bodies that started nearer to the component's centre. In a
//! disk galaxy the middle is the oldest, so the order is right, and it shows what a collision mixes
//! and what it leaves in place; but it is an origin, not a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use glam::DVec3;

use super::framing::{median, quantile};
use crate::bodies::Bodies;
use crate::error::Error;
use crate::snapshot::Column;

/// One number from 0 (youngest, outermost) to 1 (oldest, innermost) per body, behind an `Arc`.
pub type Ages = Arc<[f32]>;

/// Ages of `bodies`, which should be those at the start of a run: radial ranks cannot be recovered
/// later.
///
/// `formed` holds a time of formation for each body, NaN where it has none (dark matter, gas), as
/// the column `tform` of [`crate::snapshot::Snapshot::extra`] does. The scale spans their 2nd to
/// 98th percentile; bodies without one count as oldest. If there are fewer values than bodies, or
/// all are equal, radial ranks are used.
pub fn ages(bodies: &Bodies, formed: Option<&[f64]>) -> Ages {
    match formed.filter(|formed| formed.len() == bodies.len()).and_then(by_formation) {
        Some(ages) => ages,
        None => by_origin(bodies),
    }
}

/// The times of formation among a snapshot's further columns: `tform` (tipsy) or `AGE` (GADGET).
pub fn times_of_formation(extra: &BTreeMap<String, Column>) -> Option<Cow<'_, [f64]>> {
    ["tform", "AGE"].iter().find_map(|name| extra.get(*name)).map(Column::to_f64)
}

fn by_formation(formed: &[f64]) -> Option<Ages> {
    let mut known: Vec<f64> = formed.iter().copied().filter(|time| time.is_finite()).collect();
    if known.is_empty() {
        return None;
    }
    let [first, last] = [0.02, 0.98].map(|part| quantile(&mut known, part));
    // Initial conditions often have 0 for all bodies.
    if !(last > first) {
        return None;
    }
    let age = |&time: &f64| ((last - time) / (last - first)).clamp(0.0, 1.0) as f32;
    Some(formed.iter().map(|time| if time.is_finite() { age(time) } else { 1.0 }).collect())
}

fn by_origin(bodies: &Bodies) -> Ages {
    let mut ages = vec![1.0; bodies.len()];
    for component in 0..bodies.components.len().min(256) {
        let members: Vec<usize> = bodies.of_component(component as u8).collect();
        let places: Vec<DVec3> = members.iter().map(|&i| bodies.position[i]).collect();
        let centre = median(&places);
        // A body with a NaN position counts as outermost: total_cmp puts NaN last.
        let mut by_radius: Vec<(f64, usize)> =
            members.iter().map(|&i| (bodies.position[i].distance(centre), i)).collect();
        by_radius.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let last = by_radius.len().saturating_sub(1).max(1) as f32;
        for (rank, &(_, i)) in by_radius.iter().enumerate() {
            ages[i] = 1.0 - rank as f32 / last;
        }
    }
    ages.into()
}

/// The error for a look that lacks the ages its style needs.
pub(crate) fn missing_ages() -> Error {
    Error::value("the colouring", "age", "component or speed for a look that has no ages")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::{Component, Role};

    fn two_rows() -> Bodies {
        let mut bodies = Bodies::with_capacity(10);
        bodies.components.push(Component::new("second", Role::Disk));
        for i in 0..5 {
            let x = DVec3::X * f64::from(i);
            bodies.push(1.0, x, DVec3::ZERO, 0);
            bodies.push(1.0, DVec3::Y * 100.0 - 3.0 * x, DVec3::ZERO, 1);
        }
        bodies
    }

    #[test]
    fn ages_without_formation_times_rank_radii_per_component() {
        let mut bodies = two_rows();
        // The middle of each component is the third body of each row.
        let ages = ages(&bodies, None);
        assert_eq!((ages[4], ages[5]), (1.0, 1.0));
        for ends in [[0, 8], [1, 9]] {
            let mut found = ends.map(|i| ages[i]);
            found.sort_by(f32::total_cmp);
            assert_eq!(found, [0.0, 0.25]);
        }
        bodies.position[0] = DVec3::NAN;
        assert_eq!(super::ages(&bodies, None)[0], 0.0);
        assert!(super::ages(&Bodies::with_capacity(0), None).is_empty());
    }

    #[test]
    fn ages_use_formation_times_if_present() {
        let bodies = two_rows();
        let mut formed: Vec<f64> = (0..10).map(f64::from).collect();
        formed[3] = f64::NAN;
        let ages = ages(&bodies, Some(&formed));
        assert_eq!((ages[0], ages[9], ages[3]), (1.0, 0.0, 1.0));
        assert!(ages[1] > ages[2] && ages[2] > ages[4]);
        let origins = super::ages(&bodies, None);
        assert_eq!(super::ages(&bodies, Some(&[f64::NAN; 10])), origins);
        assert_eq!(super::ages(&bodies, Some(&[1.0; 3])), origins);
        assert_eq!(super::ages(&bodies, Some(&[7.0; 10])), origins);
        let mut extra = BTreeMap::from([("phi".to_owned(), Column::from(vec![1.0]))]);
        assert_eq!(times_of_formation(&extra), None);
        extra.insert("AGE".into(), vec![3.0_f32].into());
        assert_eq!(times_of_formation(&extra).as_deref(), Some(&[3.0][..]));
    }
}
