//! Bodies at the same position: without softening no step is short enough for them.

use glam::DVec3;

use super::Attractors;
use crate::error::{Error, Result};

/// Checks that no two bodies are at the same position, unless eps > 0 or both are massless.
///
/// # Errors
/// [`crate::error::Error::Body`] with two such bodies.
pub(super) fn check_distinct_positions(position: &[DVec3], field: &Attractors) -> Result<()> {
    if field.softening > 0.0 {
        return Ok(());
    }
    let compare = |a: &u32, b: &u32| {
        let (p, q) = (position[*a as usize], position[*b as usize]);
        let axes = p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y)).then(p.z.total_cmp(&q.z));
        // Massive ones first, so that each is adjacent to any other at its position.
        let (m, l) = (field.mass[*a as usize], field.mass[*b as usize]);
        axes.then(l.total_cmp(&m)).then(a.cmp(b))
    };
    let mut order: Vec<u32> = (0..position.len() as u32).collect();
    order.sort_unstable_by(compare);
    for pair in order.windows(2) {
        let [i, k] = [pair[0] as usize, pair[1] as usize];
        if position[i] == position[k] && field.mass[i] > 0.0 {
            let (i, k) = (i.min(k), i.max(k));
            return Err(Error::Body {
                index: k,
                id: field.id[k],
                problem: format!(
                    "it is in the same place as body {i} (id {}), {}, which needs a softening greater than 0",
                    field.id[i], position[i]
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_massive_pair_without_softening_is_refused() {
        let mut position: Vec<DVec3> = (0..10).map(|k| DVec3::splat(f64::from(k))).collect();
        position[7] = position[2];
        let id: Vec<u64> = (100..110).collect();
        let check = |mass: &[f64], softening: f64| {
            check_distinct_positions(&position, &Attractors { mass, softening, id: &id })
        };
        let text = check(&[1.0; 10], 0.0).unwrap_err().to_string();
        assert!(text.contains("body 7 (id 107)") && text.contains("body 2 (id 102)"), "{text}");
        assert!(check(&[1.0; 10], 0.1).is_ok());
        assert!(check(&[0.0; 10], 0.0).is_ok());
        let mut one = [0.0; 10];
        one[7] = 1.0;
        assert!(check(&one, 0.0).is_err());
    }
}
