//! 2 lanes: the vectors of WebAssembly.

use std::arch::wasm32::*;

use super::lanes::LanesF64;
use crate::math::arithmetic::wasm32::Doubles;

impl LanesF64 for Doubles {
    type Mask = v128;

    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        Self(f64x2_div(f64x2_splat(1.0), f64x2_sqrt(self.0)))
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        Self(f64x2_pmin(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> v128 {
        f64x2_lt(self.0, other.0)
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> v128 {
        f64x2_ne(self.0, other.0)
    }

    #[inline(always)]
    unsafe fn both(one: v128, other: v128) -> v128 {
        v128_and(one, other)
    }

    #[inline(always)]
    unsafe fn choose(self, mask: v128, other: Self) -> Self {
        Self(v128_bitselect(self.0, other.0, mask))
    }

    #[inline(always)]
    unsafe fn bits(mask: v128) -> u32 {
        u32::from(i64x2_bitmask(mask))
    }
}

super::loops::entry!(Doubles);
