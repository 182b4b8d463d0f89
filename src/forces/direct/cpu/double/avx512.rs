//! 8 lanes: AVX-512F.

use std::arch::x86_64::*;

use super::lanes::{LanesF64, refined};

// SAFETY of all blocks below: the processor has AVX-512F, as callers of `LanesF64` guarantee.
impl LanesF64 for __m512d {
    type Mask = __mmask8;

    /// The estimate is right to 2^-14; refined once, to 2^-53.9.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe { refined(self, _mm512_rsqrt14_pd(self)) }
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        unsafe { _mm512_min_pd(self, other) }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> __mmask8 {
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self, other) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> __mmask8 {
        unsafe { _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(self, other) }
    }

    #[inline(always)]
    unsafe fn both(one: __mmask8, other: __mmask8) -> __mmask8 {
        one & other
    }

    #[inline(always)]
    unsafe fn choose(self, mask: __mmask8, other: Self) -> Self {
        unsafe { _mm512_mask_mov_pd(other, mask, self) }
    }

    #[inline(always)]
    unsafe fn bits(mask: __mmask8) -> u32 {
        mask.into()
    }
}

super::loops::entry!(__m512d, "avx512f");
