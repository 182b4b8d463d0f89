//! The few vector operations that the loops are written in; one implementation per instruction set.

use super::pack::PACK;
use crate::math::arithmetic::Arithmetic;

/// A vector of f32 lanes, whose number divides [`super::pack::PACK`], with what the loops need
/// beyond adding and multiplying.
///
/// Every method is `unsafe` for one reason: the processor must have the implementation's
/// instructions. They are inlined into the `#[target_feature]` functions that
/// [`super::loops::entry!`] makes.
pub(in crate::forces) trait LanesF32: Arithmetic<Number = f32> {
    /// r^-3 = `CUBE` * [`Self::inverse_cube`]: a constant factor that the refinement leaves to the
    /// totals.
    const CUBE: f64;
    /// r^-1 = `INVERSE` * [`Self::inverse`].
    const INVERSE: f64;

    /// An estimate of r^-1 from r^2.
    unsafe fn estimate(self) -> Self;
    /// r^-3 / `CUBE` from r^2 and the estimate of r^-1, to at least 22 bits.
    unsafe fn inverse_cube(self, estimate: Self) -> Self;
    /// r^-1 / `INVERSE` from r^2 and the estimate of r^-1, to at least 22 bits.
    unsafe fn inverse(self, estimate: Self) -> Self;
    /// `self` where `left` differs from `right`, otherwise 0.
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self;
    /// The sum of all lanes, in a fixed order.
    unsafe fn total(self) -> f32;

    /// The totals of component `axis` of 16 sums, each in the same order.
    #[inline(always)]
    unsafe fn totals(sums: &[LaneSums; PACK], axis: usize) -> [f32; PACK] {
        let mut totals = [0.0; PACK];
        for (total, sum) in totals.iter_mut().zip(sums) {
            // SAFETY: the processor has the instructions; no kernel's vector is longer than a pack.
            *total = unsafe { Self::load(sum[axis].as_ptr()).total() };
        }
        totals
    }
}

/// One sum of vectors, lane by lane: x, y, z.
pub(in crate::forces) type LaneSums = [[f32; PACK]; 3];

/// A vector of pairs half computed: everything before the estimate of r^-1 is used.
///
/// The loops finish one such vector and begin the next in its place, so that the processor has
/// independent work while it waits for an estimate.
#[derive(Clone, Copy)]
pub(in crate::forces) struct Separation<V> {
    pub dx: V,
    pub dy: V,
    pub dz: V,
    pub r2: V,
    pub estimate: V,
}

impl<V: LanesF32> Separation<V> {
    /// From `from` to `to`; r2 has `softening_squared` added.
    ///
    /// # Safety
    /// As [`LanesF32`].
    #[inline(always)]
    pub unsafe fn new(from: [V; 3], to: [V; 3], softening_squared: V) -> Self {
        // SAFETY: the processor has the instructions.
        unsafe {
            let dx = to[0].minus(from[0]);
            let dy = to[1].minus(from[1]);
            let dz = to[2].minus(from[2]);
            let r2 = dz.times_plus(dz, dy.times_plus(dy, dx.times_plus(dx, softening_squared)));
            Self { dx, dy, dz, r2, estimate: r2.estimate() }
        }
    }
}
