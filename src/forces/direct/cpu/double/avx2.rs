//! 4 lanes: AVX2 with FMA.

use std::arch::x86_64::*;

use super::lanes::{LanesF64, refined};

// SAFETY of all blocks below: the processor has AVX2 and FMA, as callers of `LanesF64`
// guarantee.
impl LanesF64 for __m256d {
    type Mask = __m256d;

    /// AVX2 has no estimate in f64, and one through f32 would narrow the range of distances.
    /// Halving and negating the exponent by an integer shift and subtraction is accurate to 3.5 %
    /// (Lomont 2003); two refinements give 7e-6 and then rounding error.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe {
            let half = _mm256_srli_epi64::<1>(_mm256_castpd_si256(self));
            let magic = _mm256_set1_epi64x(0x5fe6_eb50_c7b5_37a9);
            let estimate = _mm256_castsi256_pd(_mm256_sub_epi64(magic, half));
            refined(self, refined(self, estimate))
        }
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        unsafe { _mm256_min_pd(self, other) }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> __m256d {
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(self, other) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> __m256d {
        unsafe { _mm256_cmp_pd::<_CMP_NEQ_UQ>(self, other) }
    }

    #[inline(always)]
    unsafe fn both(one: __m256d, other: __m256d) -> __m256d {
        unsafe { _mm256_and_pd(one, other) }
    }

    #[inline(always)]
    unsafe fn choose(self, mask: __m256d, other: Self) -> Self {
        unsafe { _mm256_blendv_pd(other, self, mask) }
    }

    #[inline(always)]
    unsafe fn bits(mask: __m256d) -> u32 {
        unsafe { _mm256_movemask_pd(mask) as u32 }
    }
}

super::loops::entry!(__m256d, "avx2,fma");
