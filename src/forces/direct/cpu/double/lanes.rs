//! The few vector operations that the loop is written in; one implementation per instruction set.

use crate::math::arithmetic::Arithmetic;

/// A vector of f64 lanes, whose number divides [`super::pack::PACK`], with what the loops need
/// beyond adding and multiplying.
///
/// Every method is `unsafe` for one reason: the processor must have the implementation's
/// instructions. They are inlined into the `#[target_feature]` functions of
/// [`super::loops::entry!`].
pub(super) trait LanesF64: Arithmetic<Number = f64> {
    /// One boolean per lane.
    type Mask: Copy;

    /// 1 / sqrt(self), with an error of about one unit in the last place at most; unspecified for
    /// 0.
    unsafe fn inverse_root(self) -> Self;
    /// The smaller of the two in each lane.
    unsafe fn least(self, other: Self) -> Self;
    /// Where `self < other`.
    unsafe fn less(self, other: Self) -> Self::Mask;
    /// Where `self != other`.
    unsafe fn differs(self, other: Self) -> Self::Mask;
    /// Where both hold.
    unsafe fn both(one: Self::Mask, other: Self::Mask) -> Self::Mask;
    /// `self` where `mask`, else `other`.
    unsafe fn choose(self, mask: Self::Mask, other: Self) -> Self;
    /// A number whose bit k is lane k of the mask.
    unsafe fn bits(mask: Self::Mask) -> u32;
}

/// y with y^2 r2 near 1, e = 1 - r2 y^2: r2^(-1/2) = y (1 - e)^(-1/2), which is y (1 + e/2 + 3/8
/// e^2 + 5/16 e^3 + 35/128 e^4 + ...). The sum up to e^3 of an estimate with a relative error of d,
/// e = 2 d, is off by 35/8 d^4.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(super) unsafe fn refined<V: LanesF64>(r2: V, y: V) -> V {
    // SAFETY: the processor has the instructions.
    unsafe {
        let e = r2.times(y).times_from(y, V::splat(1.0));
        let series = e.times_plus(V::splat(5.0 / 16.0), V::splat(3.0 / 8.0));
        let series = series.times_plus(e, V::splat(0.5));
        e.times(y).times_plus(series, y)
    }
}
