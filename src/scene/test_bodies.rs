//! Bodies for checking and timing engines and kernels. Not a scene: they do not move physically.

use glam::DVec3;

use crate::bodies::Bodies;

/// The distribution of the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Evenly spread, of equal mass, turning slowly about the z axis. No two come close, so that a
    /// step is tested without close encounters that amplify rounding.
    Even,
    /// With a dense centre, unequal masses, at rest, and the first two bodies at one position: the
    /// cases that a force kernel must get right.
    Uneven,
}

/// `n` bodies of total mass 1 (about 1 if uneven) in a cube of side 1 (2.1 if uneven) about the
/// origin. All numbers are exact in f32 and the same on every machine.
pub fn test_bodies(n: usize, spread: Spread) -> Bodies {
    let narrow = |x: f64| f64::from(x as f32);
    let mut bodies = Bodies::with_capacity(n);
    for i in 0..n {
        let along = (i + 1) as f64;
        // The three-dimensional relative of the golden ratio spreads points evenly (R3 sequence, M.
        // Roberts 2018); the golden ratio and the square root of two are independent of it and of
        // each other.
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

    /// Smallest distance between any two bodies.
    fn least_distance(bodies: &Bodies) -> f64 {
        let apart = |i: usize, j: usize| (bodies.position[i] - bodies.position[j]).length();
        let pairs = (0..bodies.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.map(|(i, j)| apart(i, j)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn test_bodies_have_documented_properties() {
        let (even, uneven) = (test_bodies(500, Spread::Even), test_bodies(500, Spread::Uneven));
        for bodies in [&even, &uneven] {
            assert!((bodies.mass.iter().sum::<f64>() - 1.0).abs() < 0.01);
            let numbers = bodies.position.iter().chain(&bodies.velocity);
            assert!(numbers.clone().all(|v| v.as_vec3().as_dvec3() == *v && v.is_finite()));
            assert!(bodies.mass.iter().all(|m| f64::from(*m as f32) == *m && *m > 0.0));
        }
        // A cube of side 1 holds about 500 bodies a tenth apart.
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
