//! The few vector operations the loops are written in; one implementation per instruction set.

/// A vector of `WIDTH` f32 lanes.
///
/// Every method is `unsafe` for one reason: the processor must have the implementation's
/// instructions. They are inlined into the `#[target_feature]` functions that [`super::kernel::entry!`] makes.
pub(super) trait Lanes: Copy {
    /// Number of lanes; divides [`super::frame::PACK`].
    const WIDTH: usize;
    /// r^-3 = `CUBE` * [`Self::inverse_cube`]: a constant that the refinement leaves to the totals.
    const CUBE: f64;
    /// r^-1 = `INVERSE` * [`Self::inverse`].
    const INVERSE: f64;

    /// All lanes equal.
    unsafe fn splat(value: f32) -> Self;
    /// `WIDTH` values from `from`, which must be readable.
    unsafe fn load(from: *const f32) -> Self;
    /// `WIDTH` values to `to`, which must be writable.
    unsafe fn store(self, to: *mut f32);
    /// `self + other`.
    unsafe fn plus(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn minus(self, other: Self) -> Self;
    /// `self * other`.
    unsafe fn times(self, other: Self) -> Self;
    /// `self * factor + addend`; rounded once where the processor can.
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// r^-3 / `CUBE` of r^2, to at least 22 bits.
    unsafe fn inverse_cube(self) -> Self;
    /// r^-1 / `INVERSE` of r^2, to at least 22 bits.
    unsafe fn inverse(self) -> Self;
    /// `self` where `left` differs from `right`, otherwise 0.
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self;
    /// The sum of all lanes, in a fixed order.
    unsafe fn total(self) -> f32;
}
