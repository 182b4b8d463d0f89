//! Four lanes without intrinsics.

use super::lanes::LanesF32;
use crate::math::arithmetic::Plain;

impl LanesF32 for Plain<f32, 4> {
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        Self(self.0.map(|r2| 1.0 / r2.sqrt()))
    }

    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        Self(estimate.0.map(|y| y * (y * y)))
    }

    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        estimate
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        let [a, b, c, d] = self.0;
        let keep = |k: usize, value: f32| if left.0[k] == right.0[k] { 0.0 } else { value };
        Self([keep(0, a), keep(1, b), keep(2, c), keep(3, d)])
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        let [a, b, c, d] = self.0;
        (a + b) + (c + d)
    }
}

super::loops::entry!(Plain<f32, 4>, 1, 1);
