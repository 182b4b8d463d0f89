//! The inner loop of all on all for AVX-512, in machine code: there the order of instructions counts.

use std::arch::asm;
use std::arch::x86_64::*;

use super::avx512::Vector;
use super::lanes::{Body, Sum};

/// Begins a pair of vector `$k` with the body behind {body}: d = x - body, r^2, the estimate.
macro_rules! begin {
    ($k:literal) => {
        concat!(
            "vsubps {dx",
            $k,
            "}, {x",
            $k,
            "}, dword ptr [{body} + 16]{{1to16}}\n",
            "vsubps {dy",
            $k,
            "}, {y",
            $k,
            "}, dword ptr [{body} + 20]{{1to16}}\n",
            "vsubps {dz",
            $k,
            "}, {z",
            $k,
            "}, dword ptr [{body} + 24]{{1to16}}\n",
            "vmovaps {r",
            $k,
            "}, {eps2}\n",
            "vfmadd231ps {r",
            $k,
            "}, {dx",
            $k,
            "}, {dx",
            $k,
            "}\n",
            "vfmadd231ps {r",
            $k,
            "}, {dy",
            $k,
            "}, {dy",
            $k,
            "}\n",
            "vfmadd231ps {r",
            $k,
            "}, {dz",
            $k,
            "}, {dz",
            $k,
            "}\n",
            "vrsqrt14ps {e",
            $k,
            "}, {r",
            $k,
            "}",
        )
    };
}

/// r^-3 of vector `$k` in its estimate's place, as `Lanes::inverse_cube`.
macro_rules! cube {
    ($k:literal) => {
        concat!(
            "vmulps {to_a}, {e",
            $k,
            "}, {e",
            $k,
            "}\n",
            "vfnmadd213ps {r",
            $k,
            "}, {to_a}, {c}\n",
            "vmulps {e",
            $k,
            "}, {e",
            $k,
            "}, {to_a}\n",
            "vmulps {e",
            $k,
            "}, {e",
            $k,
            "}, {r",
            $k,
            "}",
        )
    };
}

/// r^-3 of vector `$k` times the body's mass, and times the vector's.
macro_rules! masses {
    ($k:literal) => {
        concat!(
            "vmulps {to_a}, {e",
            $k,
            "}, dword ptr [{body} + 12]{{1to16}}\n",
            "vmulps {to_b}, {e",
            $k,
            "}, {m",
            $k,
            "}",
        )
    };
}

/// Adds -d `$a` to the pull on vector `$k`, -d `$b` to that on the body.
macro_rules! pull {
    ($k:literal, $a:literal, $b:literal) => {
        concat!(
            "vfnmadd231ps {ax",
            $k,
            "}, {dx",
            $k,
            "}, {",
            $a,
            "}\n",
            "vfnmadd231ps {bx}, {dx",
            $k,
            "}, {",
            $b,
            "}\n",
            "vfnmadd231ps {ay",
            $k,
            "}, {dy",
            $k,
            "}, {",
            $a,
            "}\n",
            "vfnmadd231ps {by}, {dy",
            $k,
            "}, {",
            $b,
            "}\n",
            "vfnmadd231ps {az",
            $k,
            "}, {dz",
            $k,
            "}, {",
            $a,
            "}\n",
            "vfnmadd231ps {bz}, {dz",
            $k,
            "}, {",
            $b,
            "}",
        )
    };
}

/// `Lanes::sweep` for two vectors, in an order of its own.
///
/// Per vector and body there are 21 operations for the two ports that take 512 bits (19 where masses
/// are `EQUAL`): at least 10.5 cycles for 32 interactions. Each is some 50 cycles long, so a vector
/// must be begun while others are being finished. The compiler puts the two together again, whatever
/// the order of the source: 20 cycles. In this order it takes 13 (12).
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn sweep_two<const EQUAL: bool>(
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
