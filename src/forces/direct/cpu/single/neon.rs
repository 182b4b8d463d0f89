//! 4 lanes: NEON, which every 64-bit ARM processor has.

use std::arch::aarch64::*;

use super::lanes::LanesF32;

// SAFETY of all blocks below: the processor has NEON, as callers of `LanesF32` guarantee.
impl LanesF32 for float32x4_t {
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        unsafe { vrsqrteq_f32(self) }
    }

    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        unsafe {
            let y = self.inverse(estimate);
            vmulq_f32(y, vmulq_f32(y, y))
        }
    }

    /// 8 bits from the table, then two Newton steps: 32 bits up to rounding.
    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        unsafe {
            let (r2, y) = (self, estimate);
            let y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(r2, y), y));
            vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(r2, y), y))
        }
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        unsafe {
            let equal = vceqq_f32(left, right);
            vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(self), equal))
        }
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        unsafe { vaddvq_f32(self) }
    }
}

super::loops::entry!(float32x4_t, 4, 2, "neon");
