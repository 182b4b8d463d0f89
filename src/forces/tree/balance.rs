//! Conservation of momentum. In a tree, the force of A on B is not exactly opposite to that of B on
//! A, so the forces of a closed system do not add up to zero, and its centre of mass accelerates.
//! The remainder is shared among the bodies and subtracted.
//!
//! A body's correction is proportional to min(|a|, mean), with the mean of |a| weighted by mass, of
//! whose sums only the three leading bits count: the mean is exact to within a quarter, and hardly
//! ever changes from one step to the next.
//! Its relative change is at most R / S, where R is the remainder and S the sum of m min(|a|,
//! mean): typically a few 10^-5, but 10^-3 was measured next to a body with nearly all of the mass.
//! The upper limit keeps a close pair, whose mutual attraction is by far the largest, from being
//! pushed as a whole. Sums are of integers, so that they do not depend on how bodies are divided
//! among threads and ranks. `shaders/tree/balance.wgsl` is the implementation for devices.

use glam::DVec3;
use rayon::prelude::*;

use crate::error::Result;
use crate::frame::power_below;
use crate::math::length;

/// The remainder, as a fraction of all forces, below which nothing is corrected: rounding alone
/// makes it this large if a close pair attracts itself a million times as strongly as everything
/// else.
pub const LEAST_REST: f64 = 1e-6;

/// Reductions over the ranks that share the bodies. Sums are of integers: independent of the order.
pub(super) trait Totals {
    /// Replaces each value by its maximum over all ranks.
    fn greatest(&mut self, values: &mut [f64]) -> Result<()>;

    /// Replaces each value by its sum over all ranks.
    fn sum(&mut self, values: &mut [i128]) -> Result<()>;
}

/// The reductions of a single process: values stay as they are.
struct Here;

impl Totals for Here {
    fn greatest(&mut self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }

    fn sum(&mut self, _: &mut [i128]) -> Result<()> {
        Ok(())
    }
}

/// Subtracts the remainder of all forces from the accelerations of bodies with these masses, if it
/// exceeds [`LEAST_REST`] of sum m |a|. Bodies without a finite acceleration are ignored and
/// unchanged; massless ones are corrected like the others.
pub fn balance(acceleration: &mut [DVec3], mass: &[f64]) {
    // `Here` returns no errors.
    let _ = balance_over(acceleration, mass, &mut Here);
}

/// [`balance`] of bodies that are distributed over ranks, with reductions by `totals`.
///
/// # Errors
/// Those of `totals`.
pub(super) fn balance_over(
    acceleration: &mut [DVec3],
    mass: &[f64],
    totals: &mut impl Totals,
) -> Result<()> {
    let bodies = || {
        let all = acceleration.par_iter().zip(mass).map(|(a, m)| (*a, *m));
        all.filter(|(a, _)| a.is_finite())
    };
    let greater = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].max(b[1])];
    let mut greatest = bodies().map(|(a, m)| [m * length(a), m]).reduce(|| [0.0; 2], greater);
    totals.greatest(&mut greatest)?;
    let [force_unit, mass_unit] = greatest.map(unit_for);
    let mut sums = bodies()
        .map(|(a, m)| {
            let force = m * a;
            let [x, y, z] = force.to_array().map(|f| whole(f, force_unit));
            [x, y, z, whole(m * length(a), force_unit), whole(m, mass_unit)]
        })
        .reduce(|| [0; 5], |a, b| std::array::from_fn(|k| a[k] + b[k]));
    totals.sum(&mut sums)?;
    let [x, y, z, force] = [0, 1, 2, 3].map(|k| sums[k] as f64 * force_unit);
    let rest = DVec3::new(x, y, z);
    let mean = leading(sums[3]) as f64 * force_unit / (leading(sums[4]) as f64 * mass_unit);
    let is_needed = rest.length() > LEAST_REST * force && force.is_finite();
    let share = |a: DVec3| length(a).min(mean);
    let mut shares =
        [bodies().map(|(a, m)| whole(m * share(a), force_unit)).reduce(|| 0, |a, b| a + b)];
    totals.sum(&mut shares)?;
    let each = rest / (shares[0] as f64 * force_unit);
    if is_needed {
        acceleration.par_iter_mut().filter(|a| a.is_finite()).for_each(|a| *a -= each * share(*a));
    }
    Ok(())
}

/// The value of 1 in sums of numbers up to `greatest`: a power of two with which that is 2^61 to
/// 2^62, so that 2^64 of them can be added.
fn unit_for(greatest: f64) -> f64 {
    power_below(greatest) * f64::powi(0.5, 61)
}

/// The three leading bits of a positive sum.
fn leading(sum: i128) -> i128 {
    let low = 125u32.saturating_sub(sum.leading_zeros());
    sum >> low << low
}

/// A number as a multiple of `unit`, without its fraction.
fn whole(x: f64, unit: f64) -> i128 {
    i128::from((x / unit) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(acceleration: &[DVec3], mass: &[f64]) -> f64 {
        let finite = || acceleration.iter().zip(mass).filter(|(a, _)| a.is_finite());
        let force: f64 = finite().map(|(a, m)| m * a.length()).sum();
        finite().map(|(a, m)| *m * *a).sum::<DVec3>().length() / force
    }

    /// Bodies on a spiral, with accelerations that do not balance.
    fn some(n: usize) -> (Vec<DVec3>, Vec<f64>) {
        let acceleration = |i: usize| {
            let (angle, size) = (i as f64 * 2.4, 1.0 / (1.0 + i as f64 * 0.01));
            size * DVec3::new(angle.cos(), angle.sin(), (angle * 1.3).sin())
                + 1e-4 * size * DVec3::X
        };
        ((0..n).map(acceleration).collect(), (0..n).map(|i| 1.0 + (i % 3) as f64).collect())
    }

    #[test]
    fn balance_removes_remainder_with_bounded_shares() {
        let (mut a, mass) = some(10_000);
        let before = a.clone();
        let left = rest(&a, &mass);
        assert!(left > 1e-5, "{left}");
        balance(&mut a, &mass);
        assert!(rest(&a, &mass) < 1e-12, "{}", rest(&a, &mass));
        for (a, b) in a.iter().zip(&before) {
            assert!((*a - *b).length() < 2.0 * left * b.length(), "{a} {b}");
        }
    }

    #[test]
    fn balancing_does_not_push_close_pair() {
        let (mut a, mut mass) = some(10_000);
        a.extend([DVec3::Y * 1e4, DVec3::Y * -1e4]);
        mass.extend([1.0, 1.0]);
        balance(&mut a, &mass);
        assert!(rest(&a, &mass) < 1e-12);
        // It would be 0.9, twenty times what others feel, if shares were simply proportional to
        // accelerations.
        let pushed = (a[10_000] + a[10_001]).length() / 2.0;
        assert!(pushed < 3e-3, "{pushed}");
        // With one body far above all others, the remainder is mere rounding and is not corrected.
        a[10_000] *= 1e9;
        a[10_001] *= 1e9;
        let before = a.clone();
        balance(&mut a, &mass);
        assert_eq!(a, before);
    }

    #[test]
    fn bodies_with_nan_acceleration_are_ignored() {
        let (mut a, mut mass) = some(5000);
        a.push(DVec3::NAN);
        mass.push(1.0);
        balance(&mut a, &mass);
        assert!(a[5000].is_nan() && rest(&a, &mass) < 1e-12);
        // No bodies, no masses, no forces.
        balance(&mut [], &[]);
        let mut still = [DVec3::ZERO, DVec3::X];
        balance(&mut still, &[0.0, 0.0]);
        assert_eq!(still, [DVec3::ZERO, DVec3::X]);
    }
}
