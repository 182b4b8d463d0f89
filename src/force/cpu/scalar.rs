//! Four lanes without intrinsics: WebAssembly, and every processor without a kernel of its own. The
//! compiler makes of them what it can, SSE2 on x86-64.

use super::lanes::Lanes;

#[derive(Clone, Copy)]
pub(super) struct Vector([f32; 4]);

impl Vector {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([operation(a, e), operation(b, f), operation(c, g), operation(d, h)])
    }
}

impl Lanes for Vector {
    const WIDTH: usize = 4;
    const CUBE: f64 = 1.0;
    const INVERSE: f64 = 1.0;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: readable, as the caller promises.
        Self(unsafe { from.cast::<[f32; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: writable, as the caller promises.
        unsafe { to.cast::<[f32; 4]>().write(self.0) }
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

    // Not f32::mul_add: without the instruction that is a call into libm.
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(addend, |ab, c| ab + c)
    }

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

super::kernel::entry!(Vector, 1, 1);
