//! 4 lanes: NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;

use super::lanes::Lanes;

#[derive(Clone, Copy)]
pub(super) struct Vector(float32x4_t);

// SAFETY of all blocks below: NEON is there, as callers of `Lanes` promise.
impl Lanes for Vector {
    const WIDTH: usize = 4;
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(unsafe { vdupq_n_f32(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { vld1q_f32(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { vst1q_f32(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(unsafe { vaddq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(unsafe { vsubq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(unsafe { vmulq_f32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { vfmaq_f32(addend.0, self.0, factor.0) })
    }

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        Self(unsafe { vrsqrteq_f32(self.0) })
    }

    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        unsafe {
            let y = self.inverse(estimate).0;
            Self(vmulq_f32(y, vmulq_f32(y, y)))
        }
    }

    /// 8 bits from the table, then two of Newton's steps: 32 bits but for rounding.
    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        unsafe {
            let (r2, y) = (self.0, estimate.0);
            let y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(r2, y), y));
            Self(vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(r2, y), y)))
        }
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        unsafe {
            let equal = vceqq_f32(left.0, right.0);
            Self(vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(self.0), equal)))
        }
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        unsafe { vaddvq_f32(self.0) }
    }
}

super::kernel::entry!(Vector, 4, 2, "neon");
