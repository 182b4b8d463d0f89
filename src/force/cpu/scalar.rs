//! One lane, no intrinsics: WebAssembly, and every processor without a kernel of its own.

use super::lanes::Lanes;

#[derive(Clone, Copy)]
pub(super) struct Vector(f32);

impl Lanes for Vector {
    const WIDTH: usize = 1;
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(value)
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: readable, as the caller promises.
        Self(unsafe { *from })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: writable, as the caller promises.
        unsafe { *to = self.0 }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }

    // Not f32::mul_add: without the instruction that is a call into libm.
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(self.0 * factor.0 + addend.0)
    }

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        Self(1.0 / self.0.sqrt())
    }

    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        Self(estimate.0 * (estimate.0 * estimate.0))
    }

    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        estimate
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        Self(if left.0 == right.0 { 0.0 } else { self.0 })
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        self.0
    }
}

super::kernel::entry!(Vector, 1, 1);
