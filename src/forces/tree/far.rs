//! How an accepted cell acts on the sinks of a group: with its quadrupole on each of them, as a
//! point, or once for all of them, by an expansion about their middle.
//!
//! With y the place of a sink about the middle of the group's box, s the cell's and
//! f(s) = (s^2 + eps^2)^(-1/2), the cell adds to the potential -U(y),
//!
//! U(y) = sum over n = 0 to 4 of (-y)^n / n! . [m f^(n)(s) + Q f^(n+2)(s) / 2],
//!
//! without the terms of Q for n > 2. The pull is the gradient of U: exact up to y^3 for the mass
//! and up to y for the second moments Q. [`Expansion`] are the sums of the coefficients over all
//! cells of a group, so that a cell costs as much as for two sinks, not for 64.
//!
//! All tests compare an error with the allowance of the rule `acceleration`, alpha times the least
//! acceleration of the sinks. With other rules and with monopoles it is 0, and no cell passes. The
//! device has the same in `shaders/tree/accepted.wgsl` and `far.wgsl`.

use super::CellForce;

/// The part of the allowance below which a quadrupole is left out. Omissions of a flat or
/// contracting system have one sign and add up: with 0.1 the rms error of a disk rises from 3.8e-4
/// to 6.3e-4 and that of a cold collapse from 2.5e-4 to 9.5e-4; with 0.02 by 3 % at most.
pub const POINT: f32 = 0.02;

/// The part of the allowance that the truncation of an expansion may take.
pub const EXPANDED: f32 = 0.05;

/// The factor on alpha with expansions: total errors are then those of `alpha` without expansions.
pub const INNER: f64 = 0.85;

/// The largest alpha with which cells are expanded: with 0.013 the rms errors of a million bodies
/// rise by 7 %, with 0.03 those of a disk by 28 %.
pub const MOST_ALPHA: f64 = 0.015;

/// The fewest sinks for which a cell is expanded.
pub const FEWEST: usize = 16;

/// Number of sums of an [`Expansion`].
pub const TERMS: usize = 35;

/// A group of sinks as the tests need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinkGroup {
    /// The middle of the box.
    pub middle: [f32; 3],
    /// The square of the largest distance of a sink from there.
    pub extent_squared: f32,
    /// The error that a cell may cause.
    pub allowance: f32,
    /// The part of it that an expansion may cause; 0 disables expansions.
    pub lost: f32,
}

impl SinkGroup {
    /// Whether a cell at this distance from the box acts as a body at its centre of mass: if its
    /// quadrupole, at most 1.5 tr Q / d^4, is below `POINT` of the allowance. `trace` is
    /// 1.5 tr Q.
    #[inline(always)]
    pub fn is_point(&self, distance_squared: f32, trace: f32) -> bool {
        trace < POINT * self.allowance * distance_squared * distance_squared
    }

    /// Whether a cell is expanded: with d from the middle, softened, and R the extent, R < 0.7 d
    /// and 5 (m R^4 + 3 tr Q R^2) / d^6 is below what may be lost.
    #[inline(always)]
    pub fn is_expanded(
        &self,
        centre: [f32; 3],
        mass: f32,
        trace: f32,
        softening_squared: f32,
    ) -> bool {
        let s: [f32; 3] = std::array::from_fn(|axis| centre[axis] - self.middle[axis]);
        let d2 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + softening_squared;
        let r2 = self.extent_squared;
        (r2 < 0.49 * d2) & (5.0 * r2 * (mass * r2 + 2.0 * trace) < self.lost * d2 * d2 * d2)
    }
}

/// The sums over all expanded cells of a group, with lengths in multiples of `unit`.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// [`SinkGroup::middle`].
    pub middle: [f32; 3],
    /// The unit of length: with the extent of the group or more, no power leaves f32.
    pub unit: f32,
    /// U and its derivatives: one sum; x, y, z; xx, yy, zz; xy, yz, zx; xxx, yyy, zzz; xxy, yyz,
    /// zzx; xxz, yyx, zzy; xyz; xxxx, yyyy, zzzz; xxxy, yyyz, zzzx; xxxz, yyyx, zzzy; xxyy, yyzz,
    /// zzxx; xxyz, yyzx, zzxy.
    pub sums: [f64; TERMS],
}

impl Expansion {
    /// An expansion of no cells, about the middle of this group.
    pub fn new(near: &SinkGroup) -> Self {
        let unit = near.extent_squared.sqrt().max(f32::from_bits((127 - 60) << 23));
        Self { middle: near.middle, unit, sums: [0.0; TERMS] }
    }

    /// Adds a cell in f64, by the recurrence for the Taylor coefficients of f (Duan and Krasny
    /// 2001): slow, and independent of the formulae in the kernels.
    pub fn add(&mut self, cell: &CellForce, softening_squared: f64) {
        let unit = f64::from(self.unit);
        let along = |axis: usize| f64::from(cell.centre[axis]) - f64::from(self.middle[axis]);
        let s: [f64; 3] = std::array::from_fn(|axis| along(axis) / unit);
        let derivatives = FieldDerivatives::new(s, softening_squared / unit.powi(2));
        let [xx, yy, zz] = cell.diagonal.map(|q| f64::from(q) / 3.0);
        let [xy, xz, yz] = cell.off_diagonal.map(|q| f64::from(q) / 3.0);
        let second = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        for (sum, powers) in self.sums.iter_mut().zip(powers()) {
            let mut term = f64::from(cell.mass) * derivatives.of(powers);
            if powers.iter().sum::<usize>() <= 2 {
                for (a, row) in second.iter().enumerate() {
                    for (b, q) in row.iter().enumerate() {
                        let mut powers = powers;
                        powers[a] += 1;
                        powers[b] += 1;
                        term += 0.5 * q / unit.powi(2) * derivatives.of(powers);
                    }
                }
            }
            *sum += term / unit;
        }
    }

    /// Acceleration and potential at a place.
    #[inline(always)]
    pub fn at(&self, place: [f32; 3]) -> ([f64; 3], f64) {
        let unit = f64::from(self.unit);
        let mut y = place.map(f64::from);
        for (y, middle) in y.iter_mut().zip(self.middle) {
            *y = (*y - f64::from(middle)) / unit;
        }
        let sum = &self.sums;
        let three = |first: usize, axis: usize| sum[first + axis % 3];
        let product = y[0] * y[1] * y[2];
        let mut potential = sum[0];
        let mut pull = [0.0; 3];
        // A loop, since closures are not compiled with a caller's vector instructions.
        for (i, pull) in pull.iter_mut().enumerate() {
            // The other two axes, in the order of the cycle x, y, z.
            let (j, k) = (i + 1, i + 2);
            let (x, y, z) = (y[i], y[j % 3], y[k % 3]);
            let second = three(4, i) * x + three(7, i) * y + three(7, k) * z;
            let third = 0.5 * (three(10, i) * x * x + three(16, j) * y * y + three(13, k) * z * z)
                + x * (three(13, i) * y + three(16, i) * z)
                + sum[19] * y * z;
            let fourth = (three(20, i) * x * x * x
                + 3.0 * x * x * (three(23, i) * y + three(26, i) * z)
                + 3.0 * x * (three(29, i) * y * y + three(29, k) * z * z)
                + 6.0 * product * three(32, i)
                + three(26, j) * y * y * y
                + three(23, k) * z * z * z
                + 3.0 * y * z * (three(32, j) * y + three(32, k) * z))
                / 6.0;
            let first = sum[1 + i];
            potential += x * (first + second / 2.0 + third / 3.0 + fourth / 4.0);
            *pull = (first + second + third + fourth) / unit;
        }
        (pull, -potential)
    }
}

/// The order of the derivative by x, y and z of each sum.
fn powers() -> impl Iterator<Item = [usize; 3]> {
    let three = |[own, next, last]: [usize; 3]| {
        [[own, next, last], [last, own, next], [next, last, own]].into_iter()
    };
    let low = [[1, 0, 0], [2, 0, 0], [1, 1, 0], [3, 0, 0], [2, 1, 0], [2, 0, 1]];
    let high = [[4, 0, 0], [3, 1, 0], [3, 0, 1], [2, 2, 0], [2, 1, 1]];
    let low = [[0; 3]].into_iter().chain(low.into_iter().flat_map(three));
    low.chain([[1; 3]]).chain(high.into_iter().flat_map(three))
}

/// The derivatives of f(s - y) by y up to the fourth order.
struct FieldDerivatives([[[f64; 5]; 5]; 5]);

impl FieldDerivatives {
    /// With b the Taylor coefficients, n the order and r^2 = s^2 + eps^2,
    /// n r^2 b(k) = (2 n - 1) sum over axes of s b(k - 1) - (n - 1) sum of b(k - 2).
    fn new(s: [f64; 3], softening_squared: f64) -> Self {
        let r2 = s.iter().map(|s| s * s).sum::<f64>() + softening_squared;
        let mut b = [[[0.0; 5]; 5]; 5];
        b[0][0][0] = r2.sqrt().recip();
        for n in 1..=4 {
            for i in 0..=n {
                for j in 0..=n - i {
                    let powers = [i, j, n - i - j];
                    let lower = |axis: usize, by: usize| {
                        let mut powers: [usize; 3] = powers;
                        powers[axis].checked_sub(by).map_or(0.0, |less| {
                            powers[axis] = less;
                            b[powers[0]][powers[1]][powers[2]]
                        })
                    };
                    let [once, twice] = [1, 2].map(|by| {
                        (0..3).map(|a| if by == 1 { s[a] } else { 1.0 } * lower(a, by)).sum::<f64>()
                    });
                    let n = n as f64;
                    b[i][j][powers[2]] = ((2.0 * n - 1.0) * once - (n - 1.0) * twice) / (n * r2);
                }
            }
        }
        Self(b)
    }

    fn of(&self, powers: [usize; 3]) -> f64 {
        let factorial = |n: usize| (1..=n).product::<usize>() as f64;
        self.0[powers[0]][powers[1]][powers[2]] * powers.map(factorial).iter().product::<f64>()
    }
}
