//! The softened attraction of a ring, the piece that a disk is made of.

use std::f64::consts::PI;

/// Complete elliptic integrals K and E of parameter m = k^2 < 1, by the arithmetic-geometric mean
/// (Abramowitz & Stegun 17.6): square roots only, so the same bits everywhere.
fn elliptic(m: f64) -> (f64, f64) {
    let (mut a, mut b) = (1.0, (1.0 - m).sqrt());
    let mut sum = 0.5 * m;
    let mut weight = 0.5;
    for _ in 0..40 {
        let c = 0.5 * (a - b);
        if c < 1e-16 * a {
            break;
        }
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
        weight *= 2.0;
        sum += weight * c * c;
    }
    let k = PI / (2.0 * a);
    (k, k * (1.0 - sum))
}

/// The inward pull, per unit mass, of a ring of radius `ring` on a point at radius `r` whose squared
/// distance from the ring's plane, plus the squared softening, is `height_squared` > 0.
pub(crate) fn inward_pull(r: f64, ring: f64, height_squared: f64) -> f64 {
    let distance_squared = (r + ring) * (r + ring) + height_squared;
    let m = 4.0 * r * ring / distance_squared;
    let (k, e) = elliptic(m);
    let distance = distance_squared.sqrt();
    // phi = -(2 / pi) K(m) / D; its derivative by r, with dK/dm = (E - (1 - m) K) / (2 m (1 - m)).
    let by_m = (e - (1.0 - m) * k) / (2.0 * m * (1.0 - m));
    let m_by_r = m / r - 2.0 * m * (r + ring) / distance_squared;
    let slope = by_m * m_by_r / distance - k * (r + ring) / (distance_squared * distance);
    -2.0 / PI * slope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elliptic_integrals_at_known_values() {
        let (k, e) = elliptic(0.5);
        assert!((k - 1.854_074_677_301_372).abs() < 1e-14, "{k}");
        assert!((e - 1.350_643_881_047_675_5).abs() < 1e-14, "{e}");
    }

    #[test]
    fn the_pull_is_that_of_many_points() {
        for (r, ring, height_squared) in [(0.3, 1.0, 0.04), (1.0, 1.0, 0.01), (5.0, 1.0, 0.0)] {
            let points = 20_000;
            let mut pull = 0.0;
            for point in 0..points {
                let angle = 2.0 * PI * (f64::from(point) + 0.5) / f64::from(points);
                let (dx, dy) = (ring * angle.cos() - r, ring * angle.sin());
                let square: f64 = dx * dx + dy * dy + height_squared;
                pull -= dx / (square * square.sqrt()) / f64::from(points);
            }
            let made = inward_pull(r, ring, height_squared);
            assert!((made - pull).abs() < 1e-9 * pull.abs().max(1.0), "{made} for {pull}");
        }
    }
}
