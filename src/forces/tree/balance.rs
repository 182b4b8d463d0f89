//! Conservation of momentum. In a tree, the force of A on B is not exactly opposite to that of B on
//! A, so the forces of a closed system do not add up to zero, and its centre of mass accelerates.
//! The remainder is shared among the bodies and subtracted.
//!
//! Each body's share is proportional to its acceleration, or to the mean one if its own is larger.
//! So no body's acceleration changes by a larger fraction than the remainder is of the whole, a few
//! 10^-5; and a close pair, whose mutual attraction is by far the largest, is not pushed as a
//! whole. `shaders/tree/balance.wgsl` does the same on the device.

use glam::DVec3;
use rayon::prelude::*;

/// The remainder, as a fraction of all forces, below which nothing is corrected: rounding alone
/// makes it this large if a close pair attracts itself a million times as strongly as everything
/// else.
pub const LEAST_REST: f64 = 1e-6;

/// Bodies summed in sequence, so that the order of sums does not depend on the number of threads.
const CHUNK: usize = 4096;

/// Sums over bodies.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Sum of forces.
    rest: DVec3,
    /// Sum of their magnitudes.
    force: f64,
    /// Sum of masses.
    mass: f64,
}

/// Subtracts the remainder of all forces from the accelerations of bodies with these masses, if it
/// exceeds [`LEAST_REST`] of sum m |a|. Bodies without a finite acceleration are ignored and
/// unchanged; massless ones are corrected like the others.
pub fn balance(acceleration: &mut [DVec3], mass: &[f64]) {
    let Sums { rest, force, mass: total } = sum(acceleration, mass, |sums: &mut Sums, a, m| {
        sums.rest += m * a;
        sums.force += m * a.length();
        sums.mass += m;
    })
    .into_iter()
    .fold(Sums::default(), |all, some| Sums {
        rest: all.rest + some.rest,
        force: all.force + some.force,
        mass: all.mass + some.mass,
    });
    if !(rest.length() > LEAST_REST * force && force.is_finite()) {
        return;
    }
    let mean = force / total;
    let share = |a: DVec3| a.length().min(mean);
    let shares: f64 =
        sum(acceleration, mass, |sum: &mut f64, a, m| *sum += m * share(a)).iter().sum();
    let each = rest / shares;
    acceleration.par_iter_mut().filter(|a| a.is_finite()).for_each(|a| *a -= each * share(*a));
}

/// The result of `add` for each chunk, over bodies with finite acceleration, in order.
fn sum<T: Default + Send>(
    acceleration: &[DVec3],
    mass: &[f64],
    add: impl Fn(&mut T, DVec3, f64) + Sync,
) -> Vec<T> {
    let chunks = acceleration.par_chunks(CHUNK).zip(mass.par_chunks(CHUNK));
    let of_chunk = |(acceleration, mass): (&[DVec3], &[f64])| {
        let mut sum = T::default();
        let finite = acceleration.iter().zip(mass).filter(|(a, _)| a.is_finite());
        finite.for_each(|(&a, &m)| add(&mut sum, a, m));
        sum
    };
    chunks.map(of_chunk).collect()
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
