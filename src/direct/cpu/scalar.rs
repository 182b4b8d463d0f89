//! Two lanes without intrinsics: WebAssembly, and every processor without a kernel of its own. The
//! compiler makes of them what it can, SSE2 on x86-64.

use super::lanes::Lanes;

#[derive(Clone, Copy)]
pub(super) struct Vector([f64; 2]);

impl Vector {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([operation(a, c), operation(b, d)])
    }
}

impl Lanes for Vector {
    const WIDTH: usize = 2;
    type Mask = [bool; 2];

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self([value; 2])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: readable, as the caller promises.
        Self(unsafe { from.cast::<[f64; 2]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: writable, as the caller promises.
        unsafe { to.cast::<[f64; 2]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    // Not f64::mul_add: without the instruction that is a call into libm.
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(addend, |ab, c| ab + c)
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(minuend, |ab, c| c - ab)
    }

    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        Self(self.0.map(|r2| 1.0 / r2.sqrt()))
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

super::kernel::entry!(Vector);
