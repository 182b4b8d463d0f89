//! 4 lanes: AVX2 with FMA.

use std::arch::x86_64::*;

use super::lanes::{Lanes, refined};

#[derive(Clone, Copy)]
pub(super) struct Vector(__m256d);

// SAFETY of all blocks below: AVX2 and FMA are there, as callers of `Lanes` promise.
impl Lanes for Vector {
    const WIDTH: usize = 4;
    type Mask = __m256d;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self(unsafe { _mm256_set1_pd(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        Self(unsafe { _mm256_loadu_pd(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(unsafe { _mm256_add_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(unsafe { _mm256_mul_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm256_fmadd_pd(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
        Self(unsafe { _mm256_fnmadd_pd(self.0, factor.0, minuend.0) })
    }

    /// There is no estimate in f64, and one by way of f32 would narrow the range of distances. Half of
    /// the exponent, negated, by a shift and a subtraction in integers is right to 3.5 % (Lomont 2003);
    /// refined twice, to 7e-6 and to rounding.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        unsafe {
            let half = _mm256_srli_epi64::<1>(_mm256_castpd_si256(self.0));
            let magic = _mm256_set1_epi64x(0x5fe6_eb50_c7b5_37a9);
            let estimate = Self(_mm256_castsi256_pd(_mm256_sub_epi64(magic, half)));
            refined(self, refined(self, estimate))
        }
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> __m256d {
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> __m256d {
        unsafe { _mm256_cmp_pd::<_CMP_NEQ_UQ>(self.0, other.0) }
    }

    #[inline(always)]
    unsafe fn both(one: __m256d, other: __m256d) -> __m256d {
        unsafe { _mm256_and_pd(one, other) }
    }

    #[inline(always)]
    unsafe fn choose(self, mask: __m256d, other: Self) -> Self {
        Self(unsafe { _mm256_blendv_pd(other.0, self.0, mask) })
    }

    #[inline(always)]
    unsafe fn bits(mask: __m256d) -> u32 {
        unsafe { _mm256_movemask_pd(mask) as u32 }
    }
}

super::kernel::entry!(Vector, "avx2,fma");
