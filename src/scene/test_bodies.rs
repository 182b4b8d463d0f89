//! The bodies that engines and kernels are checked and timed on. No scene: nothing moves as in nature.

use glam::DVec3;

use crate::bodies::Bodies;

/// How the bodies of a test cloud lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Evenly, alike in mass, turning slowly about the z axis. No two come close, so that a step is what
    /// is tested and not what close encounters do to rounding.
    Even,
    /// With a dense middle, unequal in mass, at rest, and the first two in one place: what a force
    /// kernel must get right.
    Uneven,
}

/// `n` bodies of total mass 1 (about 1 where uneven) in a cube of side 1 (2.1 where uneven) about the
/// origin. All numbers are exact in f32, and the same on every machine.
pub fn test_bodies(n: usize, spread: Spread) -> Bodies {
    let narrow = |x: f64| f64::from(x as f32);
    let mut bodies = Bodies::with_capacity(n);
    for i in 0..n {
        let along = (i + 1) as f64;
        // The golden ratio's relative in three dimensions spreads points evenly (R3 sequence, M. Roberts
        // 2018); the golden ratio and the root of two are strangers to it and to each other.
        let [x, y, z, far, heavy] = [
            0.819_172_513_4,
            0.671_043_606_7,
            0.549_700_477_9,
            0.618_033_988_7,
            std::f64::consts::SQRT_2,
        ]
        .map(|step| (along * step).fract());
        let point = DVec3::new(x - 0.5, y - 0.5, z - 0.5);
        let (position, mass, velocity) = match spread {
            Spread::Even => (point, 1.0, DVec3::new(-point.y, point.x, 0.25)),
            Spread::Uneven => (point * (0.1 + 2.0 * far), 0.5 + heavy, DVec3::ZERO),
        };
        let position = if spread == Spread::Uneven && i == 1 && n > 2 {
            bodies.position[0]
        } else {
            position.as_vec3().as_dvec3()
        };
        bodies.push(narrow(mass / n as f64), position, velocity.as_vec3().as_dvec3(), 0);
    }
    bodies
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance of the nearest other body, over all of them.
    fn least_distance(bodies: &Bodies) -> f64 {
        let apart = |i: usize, j: usize| (bodies.position[i] - bodies.position[j]).length();
        let pairs = (0..bodies.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.map(|(i, j)| apart(i, j)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn each_cloud_is_what_it_says() {
        let (even, uneven) = (test_bodies(500, Spread::Even), test_bodies(500, Spread::Uneven));
        for bodies in [&even, &uneven] {
            assert!((bodies.mass.iter().sum::<f64>() - 1.0).abs() < 0.01);
            let numbers = bodies.position.iter().chain(&bodies.velocity);
            assert!(numbers.clone().all(|v| v.as_vec3().as_dvec3() == *v && v.is_finite()));
            assert!(bodies.mass.iter().all(|m| f64::from(*m as f32) == *m && *m > 0.0));
        }
        // A cube of side 1 has room for 500 bodies a tenth apart, about.
        assert!(least_distance(&even) > 0.03, "{}", least_distance(&even));
        assert_eq!(least_distance(&uneven), 0.0);
        let within = |bodies: &Bodies, radius: f64| {
            bodies.position.iter().filter(|p| p.length() < radius).count()
        };
        assert!(within(&uneven, 0.2) > 3 * within(&even, 0.2));
        assert_eq!(
            (test_bodies(0, Spread::Even).len(), test_bodies(1, Spread::Uneven).len()),
            (0, 1)
        );
    }
}
