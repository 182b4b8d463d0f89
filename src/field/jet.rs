//! Numbers in which the laws of force are written once: f64, and Taylor polynomials in time, which
//! give the time derivatives of a force along a motion.

use std::ops::{Add, Div, Mul, Sub};

/// The arithmetic that a law of force uses.
pub(super) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn of(value: f64) -> Self;
    /// The value, without derivatives.
    fn value(self) -> f64;
    fn sqrt(self) -> Self;
    fn ln_1p(self) -> Self;
    fn atan(self) -> Self;
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn ln_1p(self) -> Self {
        libm::log1p(self)
    }

    fn atan(self) -> Self {
        libm::atan(self)
    }
}

/// c0 + c1 t + c2 t^2; higher powers are dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jet(pub [f64; 3]);

impl Jet {
    /// f(self), from f and its first two derivatives at c0: Faa di Bruno's formula.
    fn composed(self, [f, df, ddf]: [f64; 3]) -> Self {
        let [_, b, c] = self.0;
        Self([f, df * b, df * c + 0.5 * ddf * b * b])
    }
}

impl Add for Jet {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Sub for Jet {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] - other.0[k]))
    }
}

impl Mul for Jet {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let ([a, b, c], [u, v, w]) = (self.0, other.0);
        Self([a * u, a * v + b * u, a * w + b * v + c * u])
    }
}

impl Div for Jet {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let ([a, b, c], [u, v, w]) = (self.0, other.0);
        let first = a / u;
        let second = (b - first * v) / u;
        Self([first, second, (c - second * v - first * w) / u])
    }
}

impl Number for Jet {
    fn of(value: f64) -> Self {
        Self([value, 0.0, 0.0])
    }

    fn value(self) -> f64 {
        self.0[0]
    }

    fn sqrt(self) -> Self {
        let root = self.0[0].sqrt();
        self.composed([root, 0.5 / root, -0.25 / (root * self.0[0])])
    }

    fn ln_1p(self) -> Self {
        let x = self.0[0];
        let slope = 1.0 / (1.0 + x);
        self.composed([libm::log1p(x), slope, -slope * slope])
    }

    fn atan(self) -> Self {
        let x = self.0[0];
        let slope = 1.0 / (1.0 + x * x);
        self.composed([libm::atan(x), slope, -2.0 * x * slope * slope])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of `f` along x(t) = 0.7 + 0.3 t - 0.2 t^2.
    fn check(f: impl Fn(Jet) -> Jet, exact: impl Fn(f64) -> f64) {
        let Jet([value, first, second]) = f(Jet([0.7, 0.3, -0.2]));
        let at = |t: f64| exact(0.7 + 0.3 * t - 0.2 * t * t);
        let h = 1e-3;
        assert!((value - at(0.0)).abs() < 1e-15);
        assert!((first - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-6, "{first}");
        let curvature = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
        assert!((2.0 * second - curvature).abs() < 1e-5, "{second}");
    }

    #[test]
    fn jets_agree_with_differences() {
        check(|x| x * x + Jet::of(2.0), |x| x * x + 2.0);
        check(|x| Jet::of(1.0) / (x - Jet::of(3.0)), |x| 1.0 / (x - 3.0));
        check(Number::sqrt, f64::sqrt);
        check(Number::ln_1p, f64::ln_1p);
        check(Number::atan, f64::atan);
    }
}
