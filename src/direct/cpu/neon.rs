//! 2 lanes: NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;

use super::lanes::{Lanes, refined};

#[derive(Clone, Copy)]
pub(super) struct Vector(float64x2_t);

// SAFETY of all blocks below: NEON is there, as callers of `Lanes` promise.
impl Lanes for Vector {
    const WIDTH: usize = 2;
    type Mask = uint64x2_t;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self(unsafe { vdupq_n_f64(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        Self(unsafe { vld1q_f64(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { vst1q_f64(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(unsafe { vaddq_f64(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(unsafe { vsubq_f64(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(unsafe { vmulq_f64(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { vfmaq_f64(addend.0, self.0, factor.0) })
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
        Self(unsafe { vfmsq_f64(minuend.0, self.0, factor.0) })
    }

    /// 8 bits from the table; one of Newton's steps makes 15 of them, the series the rest.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe {
            let y = vrsqrteq_f64(self.0);
            let y = vmulq_f64(y, vrsqrtsq_f64(vmulq_f64(self.0, y), y));
            refined(self, Self(y))
        }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> uint64x2_t {
        unsafe { vcltq_f64(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> uint64x2_t {
        unsafe {
            let equal = vceqq_f64(self.0, other.0);
            veorq_u64(equal, vdupq_n_u64(u64::MAX))
        }
    }

    #[inline(always)]
    unsafe fn both(one: uint64x2_t, other: uint64x2_t) -> uint64x2_t {
        unsafe { vandq_u64(one, other) }
    }

    #[inline(always)]
    unsafe fn choose(self, mask: uint64x2_t, other: Self) -> Self {
        Self(unsafe { vbslq_f64(mask, self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn bits(mask: uint64x2_t) -> u32 {
        unsafe { ((vgetq_lane_u64::<0>(mask) & 1) | (vgetq_lane_u64::<1>(mask) & 2)) as u32 }
    }
}

super::kernel::entry!(Vector, "neon");
