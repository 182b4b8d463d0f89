//! Accelerations and potentials of each law, at an offset from its centre.
//!
//! Accelerations are written for any [`Number`]. Where a formula cancels near the centre there is a
//! series of positive terms instead.

use super::jet::Number;
use super::{Potential, PotentialLaw};

/// Below this square of a distance its root is inexact or 0: the distance counts as 0.
const LEAST_SQUARE: f64 = f64::MIN_POSITIVE;

impl Potential {
    /// The acceleration at `offset`.
    pub(super) fn acceleration_at<N: Number>(&self, offset: [N; 3]) -> [N; 3] {
        let [x, y, z] = offset;
        let values = self.values.map(N::of);
        let [first, second, third, ..] = values;
        let square = x * x + y * y + z * z;
        // Every law but the tide vanishes where the square overflows.
        if square.value() == f64::INFINITY && self.law != PotentialLaw::Tidal {
            return [N::of(0.0); 3];
        }
        // Towards the centre with the strength `pull` times the distance.
        let central = |pull: N| offset.map(|x| x * (N::of(0.0) - pull));
        // Towards the centre with this strength, which is not 0 at the centre.
        let cusp = |strength: &dyn Fn(N) -> N| {
            if square.value() < LEAST_SQUARE {
                return [N::of(0.0); 3];
            }
            let distance = square.sqrt();
            let strength = strength(distance);
            offset.map(|x| x / distance * (N::of(0.0) - strength))
        };
        match self.law {
            PotentialLaw::Point if self.values[1] == 0.0 => cusp(&|_| first / square),
            PotentialLaw::Point | PotentialLaw::Plummer => {
                let softened = square + second * second;
                central(first / softened / softened.sqrt())
            }
            PotentialLaw::Hernquist => cusp(&|r| {
                let reach = r + second;
                first / (reach * reach)
            }),
            PotentialLaw::Nfw => cusp(&|r| first / (second * second) * nfw_strength(r / second)),
            PotentialLaw::Isothermal => {
                let speed = first / second;
                central(speed * speed * isothermal_pull(square / (second * second)))
            }
            PotentialLaw::Logarithmic => {
                let thinner = z / (third * third);
                let sum = second * second + x * x + y * y + z * thinner;
                [x, y, thinner].map(|x| x * (N::of(0.0) - first * first / sum))
            }
            PotentialLaw::MiyamotoNagai => {
                let thick = (z * z + third * third).sqrt();
                let height = second + thick;
                let sum = x * x + y * y + height * height;
                let pull = N::of(0.0) - first / sum / sum.sqrt();
                [x * pull, y * pull, z / thick * height * pull]
            }
            PotentialLaw::Tidal => {
                let [xx, yy, zz, xy, xz, yz] = values;
                [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z]
            }
        }
    }

    /// The potential at `offset`.
    pub(super) fn potential_at(&self, offset: [f64; 3]) -> f64 {
        let [x, y, z] = offset;
        let [first, second, third, ..] = self.values;
        let square = x * x + y * y + z * z;
        let distance = square.sqrt();
        match self.law {
            PotentialLaw::Point if second == 0.0 && square < LEAST_SQUARE => 0.0,
            PotentialLaw::Point | PotentialLaw::Plummer => {
                -first / (square + second * second).sqrt()
            }
            PotentialLaw::Hernquist => -first / (distance + second),
            PotentialLaw::Nfw if square < LEAST_SQUARE => -first / second,
            PotentialLaw::Nfw if square == f64::INFINITY => 0.0,
            PotentialLaw::Nfw => -first * libm::log1p(distance / second) / distance,
            PotentialLaw::Isothermal => {
                let u = square / (second * second);
                let x = distance / second;
                // 1 - arctan(x)/x.
                let lack = if u > 0.5 { 1.0 - libm::atan(x) / x } else { u * isothermal_pull(u) };
                first * first * (0.5 * libm::log1p(u) - lack)
            }
            PotentialLaw::Logarithmic => {
                let sum = x * x + y * y + z * z / (third * third);
                0.5 * first * first * libm::log1p(sum / (second * second))
            }
            PotentialLaw::MiyamotoNagai => {
                let height = second + (z * z + third * third).sqrt();
                -first / (x * x + y * y + height * height).sqrt()
            }
            PotentialLaw::Tidal => {
                let found = self.acceleration_at(offset);
                -0.5 * (x * found[0] + y * found[1] + z * found[2])
            }
        }
    }
}

/// (ln(1 + x) - x/(1 + x)) / x^2 for x > 0: from 1/2 at the centre of an NFW profile.
fn nfw_strength<N: Number>(x: N) -> N {
    let one = N::of(1.0);
    if x.value() > 0.1 {
        return (x.ln_1p() - x / (one + x)) / (x * x);
    }
    // ln(1 + x) = 2 (s + s^3/3 + ..) and x = 2s/(1 - s). s < 0.048: terms up to s^13 reach 1e-17.
    let s = x / (x + N::of(2.0));
    let square = s * s;
    let mut series = N::of(0.0);
    for k in (1..7).rev() {
        series = series * square + N::of(1.0 / f64::from(2 * k + 1));
    }
    let rest = one - s;
    N::of(0.5) * rest * rest * (one / (one + s) + s * series)
}

/// (1 - arctan(x)/x) / x^2 for u = x^2: from 1/3 at the centre of an isothermal core.
fn isothermal_pull<N: Number>(u: N) -> N {
    let one = N::of(1.0);
    if u.value() > 0.5 {
        let x = u.sqrt();
        return (one - x.atan() / x) / u;
    }
    // Euler's series for the arctangent: with w = u/(1 + u), 1 - arctan(x)/x is the sum of
    // c_(n-1) w^n / (2n + 1), c_n = c_(n-1) 2n/(2n + 1), c_0 = 1. w < 1/3: 32 terms reach 1e-17.
    let w = u / (one + u);
    let (mut sum, mut power, mut c) = (N::of(0.0), one, 1.0);
    for n in 1..33 {
        let odd = f64::from(2 * n + 1);
        sum = sum + power * N::of(c / odd);
        power = power * w;
        c *= (odd - 1.0) / odd;
    }
    sum / (one + u)
}
