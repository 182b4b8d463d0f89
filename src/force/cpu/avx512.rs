//! 16 lanes: AVX-512F.

use std::arch::asm;
use std::arch::x86_64::*;

use super::frame::PACK;
use super::lanes::{self, Body, Lanes, Sum};

#[derive(Clone, Copy)]
pub(super) struct Vector(__m512);

// SAFETY of all blocks below: AVX-512F is there, as callers of `Lanes` promise.
impl Lanes for Vector {
    const WIDTH: usize = 16;
    const CUBE: f64 = 1.5;
    const INVERSE: f64 = 0.5;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    unsafe fn estimate(self) -> Self {
        Self(unsafe { _mm512_rsqrt14_ps(self.0) })
    }

    /// y ~ r^-1 to 14 bits, e = 1 - r^2 y^2: r^-3 = y^3 (1 + 3/2 e + O(e^2))
    /// = 3/2 y^3 (5/3 - r^2 y^2); what is left out is 15/8 e^2 < 3e-8.
    #[inline(always)]
    unsafe fn inverse_cube(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate.0;
            let t = _mm512_mul_ps(y, y);
            let correction = _mm512_fnmadd_ps(self.0, t, _mm512_set1_ps(5.0 / 3.0));
            Self(_mm512_mul_ps(_mm512_mul_ps(y, t), correction))
        }
    }

    /// r^-1 = 1/2 y (3 - r^2 y^2), Newton's step.
    #[inline(always)]
    unsafe fn inverse(self, estimate: Self) -> Self {
        unsafe {
            let y = estimate.0;
            let t = _mm512_mul_ps(y, y);
            Self(_mm512_mul_ps(y, _mm512_fnmadd_ps(self.0, t, _mm512_set1_ps(3.0))))
        }
    }

    #[inline(always)]
    unsafe fn unless_equal(self, left: Self, right: Self) -> Self {
        unsafe {
            let differ = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(left.0, right.0);
            Self(_mm512_maskz_mov_ps(differ, self.0))
        }
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }

    /// Adds while it transposes: 45 operations, where 16 separate totals take 200.
    #[inline(always)]
    unsafe fn totals(sums: &[Sum; PACK], axis: usize) -> [f32; PACK] {
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

    #[inline(always)]
    unsafe fn sweep<const R: usize, const EQUAL: bool, const BOTH: bool>(
        from: [[Self; 3]; R],
        mass: [Self; R],
        bodies: &[Body],
        on_bodies: &mut [Sum],
        softening_squared: f32,
    ) -> [[Self; 3]; R] {
        let mut pull = [[Self(unsafe { _mm512_setzero_ps() }); 3]; R];
        match (from.as_array(), mass.as_array(), pull.as_mut_array()) {
            (Some(from), Some(mass), Some(two)) if BOTH => unsafe {
                sweep_two::<EQUAL>(from, mass, bodies, on_bodies, softening_squared, two);
                pull
            },
            _ => unsafe {
                lanes::sweep::<Self, R, EQUAL, BOTH>(from, mass, bodies, on_bodies, softening_squared)
            },
        }
    }
}

/// Begins a pair of vector `$k` with the body behind {body}: d = x - body, r^2, the estimate.
macro_rules! begin {
    ($k:literal) => {
        concat!(
            "vsubps {dx", $k, "}, {x", $k, "}, dword ptr [{body} + 16]{{1to16}}\n",
            "vsubps {dy", $k, "}, {y", $k, "}, dword ptr [{body} + 20]{{1to16}}\n",
            "vsubps {dz", $k, "}, {z", $k, "}, dword ptr [{body} + 24]{{1to16}}\n",
            "vmovaps {r", $k, "}, {eps2}\n",
            "vfmadd231ps {r", $k, "}, {dx", $k, "}, {dx", $k, "}\n",
            "vfmadd231ps {r", $k, "}, {dy", $k, "}, {dy", $k, "}\n",
            "vfmadd231ps {r", $k, "}, {dz", $k, "}, {dz", $k, "}\n",
            "vrsqrt14ps {e", $k, "}, {r", $k, "}",
        )
    };
}

/// r^-3 of vector `$k` in its estimate's place, as [`Lanes::inverse_cube`].
macro_rules! cube {
    ($k:literal) => {
        concat!(
            "vmulps {to_a}, {e", $k, "}, {e", $k, "}\n",
            "vfnmadd213ps {r", $k, "}, {to_a}, {c}\n",
            "vmulps {e", $k, "}, {e", $k, "}, {to_a}\n",
            "vmulps {e", $k, "}, {e", $k, "}, {r", $k, "}",
        )
    };
}

/// r^-3 of vector `$k` times the body's mass, and times the vector's.
macro_rules! masses {
    ($k:literal) => {
        concat!(
            "vmulps {to_a}, {e", $k, "}, dword ptr [{body} + 12]{{1to16}}\n",
            "vmulps {to_b}, {e", $k, "}, {m", $k, "}",
        )
    };
}

/// Adds -d `$a` to the pull on vector `$k`, -d `$b` to that on the body.
macro_rules! pull {
    ($k:literal, $a:literal, $b:literal) => {
        concat!(
            "vfnmadd231ps {ax", $k, "}, {dx", $k, "}, {", $a, "}\n",
            "vfnmadd231ps {bx}, {dx", $k, "}, {", $b, "}\n",
            "vfnmadd231ps {ay", $k, "}, {dy", $k, "}, {", $a, "}\n",
            "vfnmadd231ps {by}, {dy", $k, "}, {", $b, "}\n",
            "vfnmadd231ps {az", $k, "}, {dz", $k, "}, {", $a, "}\n",
            "vfnmadd231ps {bz}, {dz", $k, "}, {", $b, "}",
        )
    };
}

/// [`Lanes::sweep`] for two vectors, in an order of its own.
///
/// Per vector and body there are 21 operations for the two ports that take 512 bits (19 where masses
/// are `EQUAL`): at least 10.5 cycles for 32 interactions. Each is some 50 cycles long, so a vector
/// must be begun while others are being finished. The compiler puts the two together again, whatever
/// the order of the source: 20 cycles. In this order it takes 13 (12).
#[target_feature(enable = "avx512f")]
unsafe fn sweep_two<const EQUAL: bool>(
    from: &[[Vector; 3]; 2],
    mass: &[Vector; 2],
    bodies: &[Body],
    on_bodies: &mut [Sum],
    softening_squared: f32,
    pull: &mut [[Vector; 3]; 2],
) {
    assert!(bodies.len() > on_bodies.len() && !on_bodies.is_empty());
    let ([[x0, y0, z0], [x1, y1, z1]], [m0, m1]) = (from, mass);
    let [[ax0, ay0, az0], [ax1, ay1, az1]] = pull;
    let (eps2, c) = (_mm512_set1_ps(softening_squared), _mm512_set1_ps(5.0 / 3.0));
    macro_rules! sweep {
        ($($masses:ident)?, $a0:literal, $b0:literal, $a1:literal, $b1:literal, $($operands:tt)*) => {
            asm!(
                "sub {body}, 16",
                begin!("0"),
                begin!("1"),
                "2:",
                "add {body}, 16",
                "vmovups {bx}, zmmword ptr [{sum}]",
                "vmovups {by}, zmmword ptr [{sum} + 64]",
                "vmovups {bz}, zmmword ptr [{sum} + 128]",
                cube!("0"),
                $($masses!("0"),)?
                pull!("0", $a0, $b0),
                begin!("0"),
                cube!("1"),
                $($masses!("1"),)?
                pull!("1", $a1, $b1),
                "vmovups zmmword ptr [{sum}], {bx}",
                "vmovups zmmword ptr [{sum} + 64], {by}",
                "vmovups zmmword ptr [{sum} + 128], {bz}",
                begin!("1"),
                "add {sum}, 192",
                "dec {left}",
                "jnz 2b",
                body = inout(reg) bodies.as_ptr() => _,
                sum = inout(reg) on_bodies.as_mut_ptr() => _,
                left = inout(reg) on_bodies.len() => _,
                x0 = in(zmm_reg) x0.0, y0 = in(zmm_reg) y0.0, z0 = in(zmm_reg) z0.0,
                x1 = in(zmm_reg) x1.0, y1 = in(zmm_reg) y1.0, z1 = in(zmm_reg) z1.0,
                eps2 = in(zmm_reg) eps2, c = in(zmm_reg) c,
                ax0 = inout(zmm_reg) ax0.0, ay0 = inout(zmm_reg) ay0.0, az0 = inout(zmm_reg) az0.0,
                ax1 = inout(zmm_reg) ax1.0, ay1 = inout(zmm_reg) ay1.0, az1 = inout(zmm_reg) az1.0,
                dx0 = out(zmm_reg) _, dy0 = out(zmm_reg) _, dz0 = out(zmm_reg) _,
                dx1 = out(zmm_reg) _, dy1 = out(zmm_reg) _, dz1 = out(zmm_reg) _,
                r0 = out(zmm_reg) _, e0 = out(zmm_reg) _,
                r1 = out(zmm_reg) _, e1 = out(zmm_reg) _,
                bx = out(zmm_reg) _, by = out(zmm_reg) _, bz = out(zmm_reg) _,
                to_a = out(zmm_reg) _,
                $($operands)*
                options(nostack),
            )
        };
    }
    // SAFETY: the loop runs once for each of `on_bodies`, at least one, and reads one of `bodies` more.
    unsafe {
        if EQUAL {
            sweep!(, "e0", "e0", "e1", "e1",);
        } else {
            sweep!(masses, "to_a", "to_b", "to_a", "to_b",
                m0 = in(zmm_reg) m0.0, m1 = in(zmm_reg) m1.0, to_b = out(zmm_reg) _,);
        }
    }
}

super::kernel::entry!(Vector, 2, 2, "avx512f");
