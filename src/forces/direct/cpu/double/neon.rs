//! 2 lanes: NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;

use super::lanes::{LanesF64, refined};

// SAFETY of all blocks below: the processor has NEON, as callers of `LanesF64` guarantee.
impl LanesF64 for float64x2_t {
    type Mask = uint64x2_t;

    /// 8 bits from the table; one Newton step makes 15 of them, the series the rest.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe {
            let y = vrsqrteq_f64(self);
            let y = vmulq_f64(y, vrsqrtsq_f64(vmulq_f64(self, y), y));
            refined(self, y)
        }
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        unsafe { vminq_f64(self, other) }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> uint64x2_t {
        unsafe { vcltq_f64(self, other) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> uint64x2_t {
        unsafe {
            let equal = vceqq_f64(self, other);
            veorq_u64(equal, vdupq_n_u64(u64::MAX))
        }
    }

    #[inline(always)]
    unsafe fn both(one: uint64x2_t, other: uint64x2_t) -> uint64x2_t {
        unsafe { vandq_u64(one, other) }
    }

    #[inline(always)]
    unsafe fn choose(self, mask: uint64x2_t, other: Self) -> Self {
        unsafe { vbslq_f64(mask, self, other) }
    }

    #[inline(always)]
    unsafe fn bits(mask: uint64x2_t) -> u32 {
        unsafe { ((vgetq_lane_u64::<0>(mask) & 1) | (vgetq_lane_u64::<1>(mask) & 2)) as u32 }
    }
}

super::loops::entry!(float64x2_t, "neon");
