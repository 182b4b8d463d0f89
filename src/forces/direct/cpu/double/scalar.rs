//! Two lanes without intrinsics.

use super::lanes::LanesF64;
use crate::math::arithmetic::Plain;

impl LanesF64 for Plain<f64, 2> {
    type Mask = [bool; 2];

    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        Self(self.0.map(|r2| 1.0 / r2.sqrt()))
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        Self([self.0[0].min(other.0[0]), self.0[1].min(other.0[1])])
    }

    #[inline(always)]
    unsafe fn less(self, other: Self) -> [bool; 2] {
        [self.0[0] < other.0[0], self.0[1] < other.0[1]]
    }

    #[inline(always)]
    unsafe fn differs(self, other: Self) -> [bool; 2] {
        [self.0[0] != other.0[0], self.0[1] != other.0[1]]
    }

    #[inline(always)]
    unsafe fn both(one: [bool; 2], other: [bool; 2]) -> [bool; 2] {
        [one[0] & other[0], one[1] & other[1]]
    }

    #[inline(always)]
    unsafe fn choose(self, mask: [bool; 2], other: Self) -> Self {
        let of = |k: usize| if mask[k] { self.0[k] } else { other.0[k] };
        Self([of(0), of(1)])
    }

    #[inline(always)]
    unsafe fn bits(mask: [bool; 2]) -> u32 {
        u32::from(mask[0]) | u32::from(mask[1]) << 1
    }
}

super::loops::entry!(Plain<f64, 2>);
