//! Exact sums: the f64 next to the sum of all terms, whatever their order, so that sums of parts
//! can be taken by any number of cores or processes.

use glam::DVec3;
use rayon::prelude::*;

/// The sum of finite f64 as one integer, in units of the smallest positive f64, 2^-1074: R. Neal,
/// "Fast exact summation using small and large superaccumulators" (2015), section 2.
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// Digits of 32 bits, from the lowest. Between two calls of [`ExactSum::carry`] a digit may
    /// have any value of 64 bits.
    digits: [i64; DIGITS],
    /// Terms that may be added before the next carry.
    room: u32,
    /// The sum of terms that are infinite or no numbers.
    strange: f64,
}

/// 2^-1074 to 2^1024 in digits of 32 bits, and one for the sign and sums beyond.
const DIGITS: usize = 67;
/// A term adds less than 2^53 to a digit, which has 63 bits.
const ROOM: u32 = 1 << 9;

impl Default for ExactSum {
    fn default() -> Self {
        Self { digits: [0; DIGITS], room: ROOM, strange: 0.0 }
    }
}

impl ExactSum {
    /// Number of words of a sum: the digits, and the sum of terms that are not finite.
    pub const WORDS: usize = DIGITS + 1;

    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        if exponent == 0x7ff {
            self.strange += term;
            return;
        }
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        // Numbers below 2^-1022 have the exponent of that and no leading bit.
        let (fraction, lowest) =
            if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let (digit, shift) = (lowest >> 5, lowest & 31);
        let low = fraction << shift & 0xffff_ffff;
        let high = fraction >> (32 - shift);
        let sign = 1 - 2 * (bits >> 63) as i64;
        self.digits[digit] += sign * low;
        self.digits[digit + 1] += sign * high;
        self.room -= 1;
        if self.room == 0 {
            self.carry();
        }
    }

    /// Adds the sum of other terms.
    pub fn add_sum(&mut self, mut other: Self) {
        other.carry();
        self.carry();
        self.digits.iter_mut().zip(other.digits).for_each(|(digit, more)| *digit += more);
        self.strange += other.strange;
        self.carry();
    }

    /// Brings all digits but the highest, which has the sign, into 0 to 2^32 - 1. A sum has one
    /// such form.
    fn carry(&mut self) {
        for k in 0..DIGITS - 1 {
            let carried = self.digits[k] >> 32;
            self.digits[k] -= carried << 32;
            self.digits[k + 1] += carried;
        }
        self.room = ROOM;
    }

    /// The sum so far, rounded once, to the nearest f64 and if two are as near to the even one.
    pub fn value(&self) -> f64 {
        if self.strange != 0.0 {
            return self.strange;
        }
        let mut sum = self.clone();
        sum.carry();
        let is_negative = sum.digits[DIGITS - 1] < 0;
        if is_negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let Some(highest) = sum.digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        // With two digits below the highest there are at least 65 bits, more than the 53 of an f64;
        // of all further ones it matters only whether there are any.
        let lowest = highest.saturating_sub(2);
        let digits = &sum.digits[lowest..=highest];
        let mut leading = digits.iter().rev().fold(0, |all, digit| all << 32 | *digit as u128);
        leading |= u128::from(sum.digits[..lowest].iter().any(|digit| *digit != 0));
        // In two factors, since 2^-1074 times the one may be too small where the product is not.
        let power = 32 * lowest as i32 - 1074;
        let value = leading as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
        if is_negative { -value } else { value }
    }

    /// The sum as words that can be sent to other processes.
    pub fn into_words(mut self) -> [i64; Self::WORDS] {
        self.carry();
        let mut words = [self.strange.to_bits() as i64; Self::WORDS];
        words[..DIGITS].copy_from_slice(&self.digits);
        words
    }

    /// The sum of [`ExactSum::into_words`].
    pub fn of_words(words: &[i64; Self::WORDS]) -> Self {
        let digits = std::array::from_fn(|k| words[k]);
        Self { digits, room: ROOM, strange: f64::from_bits(words[DIGITS] as u64) }
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut total = Self::default();
        terms.into_iter().for_each(|term| total.add(term));
        total
    }
}

/// The sum of `terms`.
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().collect::<ExactSum>().value()
}

/// The sum of vectors, component by component.
pub fn sum_vec(terms: impl IntoIterator<Item = DVec3>) -> DVec3 {
    let mut total: [ExactSum; 3] = Default::default();
    for term in terms {
        total.iter_mut().zip(term.to_array()).for_each(|(sum, term)| sum.add(term));
    }
    DVec3::from_array(total.map(|sum| sum.value()))
}

/// Number of terms that one core sums at a time.
const RANGE: usize = 8192;

/// The sum of `term(0)` to `term(n - 1)` by all cores.
pub fn sum_of(n: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let [sum] = sums_of(n, |i| [term(i)]);
    sum
}

/// [`sum_of`] for vectors, component by component.
pub fn sum_vec_of(n: usize, term: impl Fn(usize) -> DVec3 + Sync) -> DVec3 {
    sums_of(n, |i| term(i).to_array()).into()
}

/// K sums at once.
pub fn sums_of<const K: usize>(n: usize, term: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    exact_sums_of(n, term).map(|sum| sum.value())
}

/// [`sums_of`], before they are rounded.
pub fn exact_sums_of<const K: usize>(
    n: usize,
    term: impl Fn(usize) -> [f64; K] + Sync,
) -> [ExactSum; K] {
    let none = || std::array::from_fn(|_| ExactSum::default());
    let add_range = |mut total: [ExactSum; K], first: usize| {
        for i in first..(first + RANGE).min(n) {
            total.iter_mut().zip(term(i)).for_each(|(sum, term)| sum.add(term));
        }
        total
    };
    let add_sums = |mut total: [ExactSum; K], part: [ExactSum; K]| {
        total.iter_mut().zip(part).for_each(|(sum, part)| sum.add_sum(part));
        total
    };
    (0..n).into_par_iter().step_by(RANGE).fold(none, add_range).reduce(none, add_sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        let v = sum_vec([DVec3::splat(1e17), DVec3::ONE, DVec3::splat(-1e17)]);
        assert_eq!(v, DVec3::ONE);
    }

    #[test]
    fn sums_are_rounded_once() {
        // Halfway between two f64, and just above or below.
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum([1.0, half]), 1.0);
        assert_eq!(sum([1.0, half, 1e-300]), 1.0 + f64::EPSILON);
        assert_eq!(sum([1.0, half, -1e-300]), 1.0);
        assert_eq!(sum([-1.0, -half, -1e-300]), -1.0 - f64::EPSILON);
        // The ends of the range, and beyond them.
        let (least, most) = (f64::from_bits(1), f64::MAX);
        assert_eq!((sum([least]), sum([most])), (least, most));
        assert_eq!((sum([most, most, -most]), sum([3.0 * least, -least])), (most, 2.0 * least));
        assert_eq!(sum([f64::MIN_POSITIVE, -least]), f64::MIN_POSITIVE - least);
        assert_eq!(sum([most, most]), f64::INFINITY);
        assert_eq!(sum([f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
        assert!(sum([f64::NAN, 1.0]).is_nan());
        assert!(sum([f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([0.5; 3000]), 1500.0);
        assert_eq!(sum([-0.1; 10]), -1.0);
    }

    #[test]
    fn sums_do_not_depend_on_order_cores_or_parts() {
        // Large terms of either sign in different ranges, small ones between.
        let term = |i: usize| match i {
            3 => 1e17,
            40_000 => -1e17,
            i => 1.0 / (1.0 + i as f64),
        };
        let n = 50_001;
        let all = sum_of(n, term);
        assert_eq!(all, sum((0..n).rev().map(term)));
        let small = (0..n).filter(|i| ![3, 40_000].contains(i));
        assert_eq!(all, sum(small.map(term)));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| sum_of(n, term)).to_bits(), all.to_bits());
        }
        let [first] = exact_sums_of(10_000, |i| [term(i)]);
        let [rest] = exact_sums_of(n - 10_000, |i| [term(10_000 + i)]);
        let mut sent = ExactSum::of_words(&first.into_words());
        sent.add_sum(rest);
        assert_eq!(sent.value().to_bits(), all.to_bits());
        let v = sum_vec_of(20_000, |i| DVec3::new(i as f64, 1.0, -0.5));
        assert_eq!(v, DVec3::new(199_990_000.0, 20_000.0, -10_000.0));
        assert_eq!((sum_of(0, term), sum_vec_of(0, |_| DVec3::ONE)), (0.0, DVec3::ZERO));
    }
}
