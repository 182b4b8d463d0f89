//! Arithmetic on the processor's vector registers, or on plain arrays where there are none: what
//! the f32 and f64 loops have in common.

use std::ops::{Add, Mul, Sub};

/// A vector of `WIDTH` lanes.
///
/// Every method is `unsafe` for one reason: the processor must have the register's instructions.
/// The methods are inlined into functions with that `#[target_feature]`.
pub(crate) trait Arithmetic: Copy {
    /// What a lane holds.
    type Number: Copy;
    /// Number of lanes.
    const WIDTH: usize;

    /// Sets all lanes to `value`.
    unsafe fn splat(value: Self::Number) -> Self;
    /// Loads `WIDTH` values from `from`, which must be readable.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// Stores `WIDTH` values to `to`, which must be writable.
    unsafe fn store(self, to: *mut Self::Number);
    /// `self + other`.
    unsafe fn plus(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn minus(self, other: Self) -> Self;
    /// `self * other`.
    unsafe fn times(self, other: Self) -> Self;
    /// `self * factor + addend`; rounded once where the processor can.
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// `minuend - self * factor`; rounded once where the processor can.
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self;
}

/// Implements [`Arithmetic`] for a register from the names of its instructions.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! arithmetic {
    (
        $register:ty: [$number:ty; $width:literal],
        $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident,
        times_plus($a:ident, $b:ident, $c:ident) $times_plus:expr,
        times_from($d:ident, $e:ident, $f:ident) $times_from:expr
    ) => {
        // SAFETY of all blocks: the instructions are there, as callers of `Arithmetic` promise.
        impl Arithmetic for $register {
            type Number = $number;
            const WIDTH: usize = $width;

            #[inline(always)]
            unsafe fn splat(value: $number) -> Self {
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            unsafe fn minus(self, other: Self) -> Self {
                unsafe { $sub(self, other) }
            }

            #[inline(always)]
            unsafe fn times(self, other: Self) -> Self {
                unsafe { $mul(self, other) }
            }

            #[inline(always)]
            unsafe fn times_plus(self, $b: Self, $c: Self) -> Self {
                let $a = self;
                unsafe { $times_plus }
            }

            #[inline(always)]
            unsafe fn times_from(self, $e: Self, $f: Self) -> Self {
                let $d = self;
                unsafe { $times_from }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::Arithmetic;

    #[rustfmt::skip]
    arithmetic!(
        __m512: [f32; 16],
        _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps,
        times_plus(a, b, c) _mm512_fmadd_ps(a, b, c),
        times_from(a, b, c) _mm512_fnmadd_ps(a, b, c)
    );
    #[rustfmt::skip]
    arithmetic!(
        __m512d: [f64; 8],
        _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd,
        times_plus(a, b, c) _mm512_fmadd_pd(a, b, c),
        times_from(a, b, c) _mm512_fnmadd_pd(a, b, c)
    );
    #[rustfmt::skip]
    arithmetic!(
        __m256: [f32; 8],
        _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps,
        times_plus(a, b, c) _mm256_fmadd_ps(a, b, c),
        times_from(a, b, c) _mm256_fnmadd_ps(a, b, c)
    );
    #[rustfmt::skip]
    arithmetic!(
        __m256d: [f64; 4],
        _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd,
        times_plus(a, b, c) _mm256_fmadd_pd(a, b, c),
        times_from(a, b, c) _mm256_fnmadd_pd(a, b, c)
    );
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use super::Arithmetic;

    #[rustfmt::skip]
    arithmetic!(
        float32x4_t: [f32; 4],
        vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32, vsubq_f32, vmulq_f32,
        times_plus(a, b, c) vfmaq_f32(c, a, b),
        times_from(a, b, c) vfmsq_f32(c, a, b)
    );
    #[rustfmt::skip]
    arithmetic!(
        float64x2_t: [f64; 2],
        vdupq_n_f64, vld1q_f64, vst1q_f64, vaddq_f64, vsubq_f64, vmulq_f64,
        times_plus(a, b, c) vfmaq_f64(c, a, b),
        times_from(a, b, c) vfmsq_f64(c, a, b)
    );
}

/// The 128-bit vectors of WebAssembly: one register for both numbers, so each has a type of its
/// own.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod wasm32 {
    use std::arch::wasm32::*;

    use super::Arithmetic;

    /// Four f32.
    #[derive(Clone, Copy)]
    pub(crate) struct Singles(pub v128);
    /// Two f64.
    #[derive(Clone, Copy)]
    pub(crate) struct Doubles(pub v128);

    macro_rules! lanes {
        ($register:ident: [$number:ty; $width:literal], $splat:ident, $add:ident, $sub:ident, $mul:ident) => {
            impl Arithmetic for $register {
                type Number = $number;
                const WIDTH: usize = $width;

                #[inline(always)]
                unsafe fn splat(value: $number) -> Self {
                    Self($splat(value))
                }

                #[inline(always)]
                unsafe fn load(from: *const $number) -> Self {
                    // SAFETY: readable, as the caller promises; it need not be aligned.
                    Self(unsafe { v128_load(from.cast()) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $number) {
                    // SAFETY: writable, as the caller promises; it need not be aligned.
                    unsafe { v128_store(to.cast(), self.0) }
                }

                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    Self($add(self.0, other.0))
                }

                #[inline(always)]
                unsafe fn minus(self, other: Self) -> Self {
                    Self($sub(self.0, other.0))
                }

                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    Self($mul(self.0, other.0))
                }

                // WebAssembly's SIMD has no fused multiply-add.
                #[inline(always)]
                unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
                    Self($add($mul(self.0, factor.0), addend.0))
                }

                #[inline(always)]
                unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
                    Self($sub(minuend.0, $mul(self.0, factor.0)))
                }
            }
        };
    }
    lanes!(Singles: [f32; 4], f32x4_splat, f32x4_add, f32x4_sub, f32x4_mul);
    lanes!(Doubles: [f64; 2], f64x2_splat, f64x2_add, f64x2_sub, f64x2_mul);
}

/// Lanes without intrinsics, for every processor without a kernel of its own. The compiler makes
/// what it can of them, SSE2 on x86-64.
#[derive(Clone, Copy)]
#[cfg_attr(
    all(target_arch = "wasm32", target_feature = "simd128"),
    allow(dead_code, reason = "vectors are everywhere")
)]
pub(crate) struct Plain<T, const N: usize>(pub [T; N]);

#[cfg_attr(
    all(target_arch = "wasm32", target_feature = "simd128"),
    allow(dead_code, reason = "vectors are everywhere")
)]
impl<T: Copy, const N: usize> Plain<T, N> {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(T, T) -> T) -> Self {
        Self(std::array::from_fn(|k| operation(self.0[k], other.0[k])))
    }
}

impl<T, const N: usize> Arithmetic for Plain<T, N>
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    type Number = T;
    const WIDTH: usize = N;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: readable, as the caller promises.
        Self(unsafe { from.cast::<[T; N]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: writable, as the caller promises.
        unsafe { to.cast::<[T; N]>().write(self.0) }
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

    // Not mul_add: without the instruction it becomes a call into libm.
    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(addend, |ab, c| ab + c)
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, minuend: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(minuend, |ab, c| c - ab)
    }
}
