//! The softened attraction of a ring, the element from which disks are summed.

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

/// The attraction per unit mass of a ring of radius `ring` about the z axis, on a point at distance
/// `r` from the axis and `height` above the ring: the components inwards and down to its plane. The
/// potential is -(2 / pi) K(m) / D with D^2 = (r + ring)^2 + height^2 + softening^2 and m = 4 r
/// ring / D^2. `height` and the softening must not both be 0 if r = ring.
pub(crate) fn pull(r: f64, ring: f64, height: f64, softening_squared: f64) -> (f64, f64) {
    let square = (r + ring) * (r + ring) + height * height + softening_squared;
    let m = 4.0 * r * ring / square;
    let (k, e) = elliptic(m);
    let cube = square * square.sqrt();
    // dK/dm = (E - (1 - m) K) / (2 m (1 - m)), here times m.
    let m_dk = (e - (1.0 - m) * k) / (2.0 * (1.0 - m));
    let by_distance = k + 2.0 * m_dk;
    (
        2.0 / PI * ((r + ring) * by_distance - m_dk * square / r) / cube,
        2.0 / PI * height * by_distance / cube,
    )
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
    fn ring_attraction_matches_sum_over_points() {
        for (r, height, softening) in
            [(0.3, 0.2, 0.0), (1.0, 0.0, 0.1), (1.1, -0.1, 0.1), (5.0, 1.0, 0.0)]
        {
            let points = 20_000;
            let (mut inward, mut down) = (0.0, 0.0);
            for point in 0..points {
                let angle = 2.0 * PI * (f64::from(point) + 0.5) / f64::from(points);
                let (dx, dy) = (angle.cos() - r, angle.sin());
                let square: f64 = dx * dx + dy * dy + height * height + softening * softening;
                inward -= dx / (square * square.sqrt()) / f64::from(points);
                down += height / (square * square.sqrt()) / f64::from(points);
            }
            let made = pull(r, 1.0, height, softening * softening);
            assert!((made.0 - inward).abs() < 1e-9, "{made:?} for {inward}");
            assert!((made.1 - down).abs() < 1e-9, "{made:?} for {down}");
        }
    }
}
