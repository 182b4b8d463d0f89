//! Compensated sums: the result does not lose small terms beside large ones.

use glam::DVec3;

/// A running sum after Neumaier (1974): exact to about one rounding of the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompensatedSum {
    total: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

/// The compensated sum of `terms`, in their order.
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = CompensatedSum::default();
    for term in terms {
        total.add(term);
    }
    total.value()
}

/// The compensated sum of vectors, component by component.
pub fn sum_vec(terms: impl IntoIterator<Item = DVec3>) -> DVec3 {
    let mut total = [CompensatedSum::default(); 3];
    for term in terms {
        for (axis, sum) in total.iter_mut().enumerate() {
            sum.add(term[axis]);
        }
    }
    DVec3::from_array(total.map(CompensatedSum::value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        let v = sum_vec([DVec3::splat(1e17), DVec3::ONE, DVec3::splat(-1e17)]);
        assert_eq!(v, DVec3::ONE);
    }
}
