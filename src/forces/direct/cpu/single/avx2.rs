//! 8 lanes: AVX2 with FMA.

use std::arch::x86_64::*;

use super::lanes::LanesF32;

// SAFETY of all blocks below: the processor has AVX2 and FMA, as callers of `LanesF32`
// guarantee.
impl LanesF32 for __m256 {
    const CUBE: f64 = 1.875;
    const INVERSE: f64 = 0.375;

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        unsafe { _mm256_rsqrt_ps(self) }
    }

    /// y ~ r^-1 to 11 bits, z = r^2 y^2: r^-3 = y^3 z^(-3/2), and to third order around z = 1
    /// z^(-3/2) = 15/8 (7/3 - 14/5 z + z^2). One order more than AVX-512 needs: 11 bits are fewer.
    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate;
            let t = _mm256_mul_ps(y, y);
            let z = _mm256_mul_ps(self, t);
            let slope = _mm256_sub_ps(z, _mm256_set1_ps(2.8));
            let correction = _mm256_fmadd_ps(z, slope, _mm256_set1_ps(7.0 / 3.0));
            _mm256_mul_ps(_mm256_mul_ps(y, t), correction)
        }
    }

    /// Likewise z^(-1/2) = 3/8 (5 - 10/3 z + z^2).
    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate;
            let z = _mm256_mul_ps(self, _mm256_mul_ps(y, y));
            let slope = _mm256_sub_ps(z, _mm256_set1_ps(10.0 / 3.0));
            _mm256_mul_ps(y, _mm256_fmadd_ps(z, slope, _mm256_set1_ps(5.0)))
        }
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        unsafe {
            let differ = _mm256_cmp_ps::<_CMP_NEQ_UQ>(left, right);
            _mm256_and_ps(differ, self)
        }
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        unsafe {
            let half = _mm_add_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)))
        }
    }
}

super::loops::entry!(__m256, 2, 1, "avx2,fma");
