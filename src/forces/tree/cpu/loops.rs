//! The kernels and the walk compiled for each instruction set.

use super::super::far::Expansion;
use super::super::{CellForce, PointMass};
use super::kernel::{GroupSums, SinkBlock};
use super::walk::{InteractionLists, Opened, SinkReach};
use crate::forces::direct::cpu::InstructionSet;

/// See [`super::kernel::bodies`].
type BodyLoop = unsafe fn(&[PointMass], &SinkBlock, &mut GroupSums, f32, bool);
/// See [`super::kernel::cells`].
type CellLoop = unsafe fn(&[u32], &[CellForce], &SinkBlock, &mut GroupSums, f32);
/// See [`super::expand::expand`].
type Expand = unsafe fn(&[u32], &[CellForce], f32, &mut Expansion);
/// See [`GroupSums::add`].
type Add = unsafe fn(&mut GroupSums, &Expansion, &SinkBlock);
/// See [`super::walk::walk`].
type WalkLoop = unsafe fn(&Opened, &SinkReach, &mut InteractionLists);

/// The loops of an instruction set. Safe to call if [`InstructionSet::is_available`].
pub(super) struct TreeLoops {
    pub walk: WalkLoop,
    pub bodies: BodyLoop,
    pub bodies_excluding: BodyLoop,
    pub bodies_potential: BodyLoop,
    pub monopoles: CellLoop,
    pub monopoles_potential: CellLoop,
    pub quadrupoles: CellLoop,
    pub quadrupoles_potential: CellLoop,
    pub expand: Expand,
    pub add: Add,
}

/// Compiles the loops for a vector type, with `$sinks` vectors of sinks in registers and the
/// processor's features.
macro_rules! entry {
    ($name:ident, $vector:ty, $sinks:literal $(, $features:literal)?) => {
        mod $name {
            use super::*;
            use crate::forces::tree::cpu::{expand, kernel, walk};

            macro_rules! bodies {
                ($loop:ident, $potential:literal, $exclude:literal) => {
                    $(#[target_feature(enable = $features)])?
                    unsafe fn $loop(
                        a: &[PointMass], b: &SinkBlock, c: &mut GroupSums, d: f32, e: bool,
                    ) {
                        // SAFETY: the processor has the instructions, as the caller guarantees.
                        unsafe {
                            kernel::bodies::<$vector, $sinks, $potential, $exclude>(a, b, c, d, e);
                        }
                    }
                };
            }
            bodies!(bodies, false, false);
            bodies!(bodies_excluding, false, true);
            bodies!(bodies_potential, true, true);

            macro_rules! cells {
                ($loop:ident, $potential:literal, $quadrupole:literal) => {
                    $(#[target_feature(enable = $features)])?
                    unsafe fn $loop(
                        a: &[u32], b: &[CellForce], c: &SinkBlock, d: &mut GroupSums, e: f32,
                    ) {
                        // SAFETY: the processor has the instructions, as the caller guarantees.
                        unsafe {
                            kernel::cells::<$vector, $sinks, $potential, $quadrupole>(a, b, c, d, e);
                        }
                    }
                };
            }
            cells!(monopoles, false, false);
            cells!(monopoles_potential, true, false);
            cells!(quadrupoles, false, true);
            cells!(quadrupoles_potential, true, true);

            $(#[target_feature(enable = $features)])?
            unsafe fn expand(a: &[u32], b: &[CellForce], c: f32, d: &mut Expansion) {
                // SAFETY: the processor has the instructions, as the caller guarantees.
                unsafe { expand::expand::<$vector>(a, b, c, d) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn add(a: &mut GroupSums, b: &Expansion, c: &SinkBlock) {
                a.add(b, c);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn walk(a: &Opened, b: &SinkReach, c: &mut InteractionLists) {
                walk::walk(a, b, c);
            }

            pub(super) static LOOPS: TreeLoops = TreeLoops {
                walk,
                bodies,
                bodies_excluding,
                bodies_potential,
                monopoles,
                monopoles_potential,
                quadrupoles,
                quadrupoles_potential,
                expand,
                add,
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
entry!(avx512, std::arch::x86_64::__m512, 2, "avx512f");
#[cfg(target_arch = "x86_64")]
entry!(avx2, std::arch::x86_64::__m256, 2, "avx2,fma");
#[cfg(target_arch = "aarch64")]
entry!(neon, std::arch::aarch64::float32x4_t, 4, "neon");
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
entry!(simd128, crate::math::arithmetic::wasm32::Singles, 2);
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
entry!(scalar, crate::math::arithmetic::Plain<f32, 4>, 1);

/// The loops of an instruction set; for one that this target does not have, those of the one it
/// always has.
pub(super) fn of(kernel: InstructionSet) -> &'static TreeLoops {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => &avx512::LOOPS,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => &avx2::LOOPS,
        #[cfg(target_arch = "aarch64")]
        InstructionSet::Neon => &neon::LOOPS,
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        _ => &simd128::LOOPS,
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        _ => &scalar::LOOPS,
    }
}
