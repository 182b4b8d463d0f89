//! Momentum. The pull of A on B is not exactly that of B on A by a tree, so the forces of a closed system do not add up to
//! nothing, and its centre of mass is accelerated. What is left over is shared out and taken off again.
//!
//! Each body gives a part that is as large as its acceleration, or as the mean one where it has more. So no body's acceleration
//! changes by more of itself than the whole had left over, a few 10^-5; and a close pair, which attracts itself by far the most, is not
//! pushed as a whole. On the device `shaders/tree/balance.wgsl` does the same.

use glam::DVec3;
use rayon::prelude::*;

/// A rest of momentum, as a part of all forces, that is left as it is: so much comes of rounding where a close pair attracts itself a
/// million times as much as anything else does.
pub const LEAST_REST: f64 = 1e-6;

/// Bodies whose sums are made one after the other: the order of sums does not depend on the number of threads.
const CHUNK: usize = 4096;

/// Sums over bodies.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Of forces.
    rest: DVec3,
    /// Of their sizes.
    force: f64,
    /// Of masses.
    mass: f64,
}

/// Takes off what the accelerations of bodies with these masses leave over, if it is more than [`LEAST_REST`] of sum m |a|. Bodies
/// without a finite acceleration count for nothing and stay as they are; those without mass are corrected like the others.
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

/// What `add` makes of each chunk of bodies whose acceleration is finite, in their order.
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

    /// Bodies on a spiral, whose accelerations are some way off balance.
    fn some(n: usize) -> (Vec<DVec3>, Vec<f64>) {
        let acceleration = |i: usize| {
            let (angle, size) = (i as f64 * 2.4, 1.0 / (1.0 + i as f64 * 0.01));
            size * DVec3::new(angle.cos(), angle.sin(), (angle * 1.3).sin())
                + 1e-4 * size * DVec3::X
        };
        ((0..n).map(acceleration).collect(), (0..n).map(|i| 1.0 + (i % 3) as f64).collect())
    }

    #[test]
    fn nothing_is_left_over_and_nobody_gives_more_than_its_part() {
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
    fn a_close_pair_is_not_pushed() {
        let (mut a, mut mass) = some(10_000);
        a.extend([DVec3::Y * 1e4, DVec3::Y * -1e4]);
        mass.extend([1.0, 1.0]);
        balance(&mut a, &mass);
        assert!(rest(&a, &mass) < 1e-12);
        // 0.9, twenty times what others feel, if bodies gave by their accelerations alone.
        let pushed = (a[10_000] + a[10_001]).length() / 2.0;
        assert!(pushed < 3e-3, "{pushed}");
        // One that outdoes all others leaves no more than rounding: nothing is corrected by that.
        a[10_000] *= 1e9;
        a[10_001] *= 1e9;
        let before = a.clone();
        balance(&mut a, &mass);
        assert_eq!(a, before);
    }

    #[test]
    fn bodies_that_are_nowhere_count_for_nothing() {
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
