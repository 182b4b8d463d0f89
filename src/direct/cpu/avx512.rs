//! 8 lanes: AVX-512F.

use std::arch::x86_64::*;

use super::lanes::{Lanes, refined};

#[derive(Clone, Copy)]
pub(super) struct Vector(__m512d);

// SAFETY of all blocks below: AVX-512F is there, as callers of `Lanes` promise.
impl Lanes for Vector {
    const WIDTH: usize = 8;
    type Mask = __mmask8;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self(unsafe { _mm512_set1_pd(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        Self(unsafe { _mm512_loadu_pd(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { _mm512_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
        Self(unsafe { _mm512_fnmadd_pd(self.0, factor.0, minuend.0) })
    }

    /// The estimate is right to 2^-14; refined once, to 2^-53.9.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe { refined(self, Self(_mm512_rsqrt14_pd(self.0))) }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> __mmask8 {
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> __mmask8 {
        unsafe { _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn both(one: __mmask8, other: __mmask8) -> __mmask8 {
        one & other
    }

    #[inline(always)]
    unsafe fn choose(self, mask: __mmask8, other: Self) -> Self {
        Self(unsafe { _mm512_mask_mov_pd(other.0, mask, self.0) })
    }

    #[inline(always)]
    unsafe fn bits(mask: __mmask8) -> u32 {
        mask.into()
    }
}

super::kernel::entry!(Vector, "avx512f");
