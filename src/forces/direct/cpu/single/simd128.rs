//! 4 lanes: the vectors of WebAssembly. They have no estimate of a reciprocal root, so it is
//! computed exactly.

use std::arch::wasm32::*;

use super::lanes::LanesF32;
use crate::math::arithmetic::wasm32::Singles;

impl LanesF32 for Singles {
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        Self(f32x4_div(f32x4_splat(1.0), f32x4_sqrt(self.0)))
    }

    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        let y = estimate.0;
        Self(f32x4_mul(y, f32x4_mul(y, y)))
    }

    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        estimate
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        Self(v128_andnot(self.0, f32x4_eq(left.0, right.0)))
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        let [a, b, c, d] = [
            f32x4_extract_lane::<0>(self.0),
            f32x4_extract_lane::<1>(self.0),
            f32x4_extract_lane::<2>(self.0),
            f32x4_extract_lane::<3>(self.0),
        ];
        (a + b) + (c + d)
    }
}

super::loops::entry!(Singles, 2, 1);
