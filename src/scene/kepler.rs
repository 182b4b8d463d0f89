//! Kepler's equation, for ellipses and hyperbolas.

/// Enough for bisection alone to reach neighbouring numbers.
const MOST_TURNS: usize = 1100;

/// The eccentric anomaly E, radians, of an ellipse of eccentricity 0 <= e < 1:
/// M = E - e sin(E), with -pi <= M <= pi.
pub(super) fn eccentric(e: f64, mean: f64) -> f64 {
    let value = |x: f64| (x - e * libm::sin(x), 1.0 - e * libm::cos(x));
    root(mean, [mean - e, mean + e], value)
}

/// The hyperbolic anomaly H of a hyperbola of eccentricity e > 1: M = e sinh(H) - H.
pub(super) fn hyperbolic(e: f64, mean: f64) -> f64 {
    let value = |x: f64| (e * libm::sinh(x) - x, e * libm::cosh(x) - 1.0);
    // (e - 1) sinh(H) <= M <= e sinh(H) for H >= 0.
    let ends = [e, e - 1.0].map(|factor| libm::asinh(mean.abs() / factor));
    root(mean.abs(), ends, value).copysign(mean)
}

/// Where a rising function is `target`, between two ends: Newton's steps, or halves if those leave
/// the interval. `value` gives the function and its derivative.
fn root(target: f64, [mut low, mut high]: [f64; 2], value: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut x = 0.5 * (low + high);
    for _ in 0..MOST_TURNS {
        let (at, slope) = value(x);
        if at < target {
            low = x;
        } else {
            high = x;
        }
        let newton = x - (at - target) / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= 1e-16 * x.abs() || !(low < next && next < high) {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anomalies_satisfy_keplers_equation() {
        for e in [0.0, 1e-9, 0.3, 0.9, 0.999_999, 1.0 - 1e-12] {
            for k in -20..=20 {
                let mean = std::f64::consts::PI * f64::from(k) / 20.0;
                let x = eccentric(e, mean);
                assert!((x - e * x.sin() - mean).abs() < 1e-15 * 8.0, "e {e}, M {mean}: {x}");
            }
            let x = eccentric(e, 1e-8);
            assert!((x - e * x.sin() - 1e-8).abs() < 1e-17, "e {e}: {x}");
        }
        for e in [1.0 + 1e-9, 1.5, 30.0, 1e6] {
            for mean in [0.0, 1e-9, 0.1, 1.0, 50.0, 1e9, 1e200] {
                for mean in [mean, -mean] {
                    let x = hyperbolic(e, mean);
                    let made = e * x.sinh() - x;
                    // One unit in the last place of H changes M by up to cosh(H) H of them.
                    let noise = 1e-15 * (1.0 + mean.abs() * (1.0 + x.abs()));
                    assert!((made - mean).abs() <= noise, "e {e}, M {mean}: {x} gives {made}");
                }
            }
        }
    }
}
