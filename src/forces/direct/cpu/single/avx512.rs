//! 16 lanes: AVX-512F.

use std::arch::x86_64::*;

use super::lanes::{LaneSums, LanesF32};
use super::pack::PACK;

// SAFETY of all blocks below: the processor has AVX-512F, as callers of `LanesF32` guarantee.
impl LanesF32 for __m512 {
    const CUBE: f64 = 1.5;
    const INVERSE: f64 = 0.5;

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        unsafe { _mm512_rsqrt14_ps(self) }
    }

    /// y ~ r^-1 to 14 bits, e = 1 - r^2 y^2: r^-3 = y^3 (1 + 3/2 e + O(e^2))
    /// = 3/2 y^3 (5/3 - r^2 y^2); what is left out is 15/8 e^2 < 3e-8.
    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate;
            let t = _mm512_mul_ps(y, y);
            let correction = _mm512_fnmadd_ps(self, t, _mm512_set1_ps(5.0 / 3.0));
            _mm512_mul_ps(_mm512_mul_ps(y, t), correction)
        }
    }

    /// r^-1 = 1/2 y (3 - r^2 y^2), Newton's step.
    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate;
            let t = _mm512_mul_ps(y, y);
            _mm512_mul_ps(y, _mm512_fnmadd_ps(self, t, _mm512_set1_ps(3.0)))
        }
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        unsafe {
            let differ = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(left, right);
            _mm512_maskz_mov_ps(differ, self)
        }
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self) }
    }

    /// Transposes and adds at once: 45 operations, where 16 separate totals take 200.
    #[inline(always)]
    unsafe fn totals(sums: &[LaneSums; PACK], axis: usize) -> [f32; PACK] {
        let mut totals = [0.0; PACK];
        unsafe {
            let mut four = [_mm512_setzero_ps(); 4];
            for (four, sums) in four.iter_mut().zip(sums.as_chunks::<4>().0) {
                let row = |k: usize| _mm512_loadu_ps(sums[k][axis].as_ptr());
                let (a, b, c, d) = (row(0), row(1), row(2), row(3));
                let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
                let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
                // Each quarter now has its own lanes' totals of a, b, c, d.
                *four = _mm512_add_ps(
                    _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)),
                );
            }
            let quarters = |a, b| {
                let even = _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
                _mm512_add_ps(even, _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b))
            };
            let all = quarters(quarters(four[0], four[1]), quarters(four[2], four[3]));
            _mm512_storeu_ps(totals.as_mut_ptr(), all);
        }
        totals
    }
}

super::loops::entry!(__m512, 2, 3, "avx512f");
