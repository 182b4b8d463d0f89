//! The loops compiled for each instruction set.

use super::InstructionSet;
use super::direct::SumF32;
use super::mutual::Leaves;
use super::pack::{PackF32, SinkF32};

/// The loops of an instruction set; for one that this target does not have, those of the one it
/// always has.
pub(super) fn of(kernel: InstructionSet) -> &'static DirectLoops {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => &super::avx512::LOOPS,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => &super::avx2::LOOPS,
        #[cfg(target_arch = "aarch64")]
        InstructionSet::Neon => &super::neon::LOOPS,
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        _ => &super::simd128::LOOPS,
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        _ => &super::scalar::LOOPS,
    }
}

/// See [`super::direct::attract`].
pub(super) type Direct = unsafe fn(&[PackF32], usize, &[SinkF32], &mut [SumF32], f32);

/// The loops of an instruction set. Safe to call if [`InstructionSet::is_available`].
pub(super) struct DirectLoops {
    pub acceleration: Direct,
    pub acceleration_excluding: Direct,
    pub potential: Direct,
    pub potential_guarded: Direct,
    pub mutual: Leaves,
}

/// Compiles the loops for a vector type: with `$sinks` sinks in registers (accelerations alone),
/// `$vectors` vectors of bodies (mutual), and processor features if any must be named.
macro_rules! entry {
    ($vector:ty, $sinks:literal, $vectors:literal $(, $features:literal)?) => {
        use super::direct::{SumF32, attract, attract_with_potential};
        use super::pack::{PackF32, SinkF32};
        use super::mutual::{Leaves, Pull};

        macro_rules! direct {
            ($name:ident, $attract:expr) => {
                $(#[target_feature(enable = $features)])?
                unsafe fn $name(a: &[PackF32], b: usize, c: &[SinkF32], d: &mut [SumF32], e: f32) {
                    // SAFETY: the processor has the instructions, as the caller guarantees.
                    unsafe { $attract(a, b, c, d, e) }
                }
            };
        }
        direct!(acceleration, attract::<$vector, $sinks, false>);
        direct!(acceleration_excluding, attract::<$vector, $sinks, true>);
        direct!(potential, attract_with_potential::<$vector, false>);
        direct!(potential_guarded, attract_with_potential::<$vector, true>);

        $(#[target_feature(enable = $features)])?
        unsafe fn own(a: &[PackF32], pull: &mut [Pull], softening_squared: f32) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::own::<$vector, $vectors>(a, pull, softening_squared) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn rectangle(a: &[PackF32], b: &mut [Pull], c: &[PackF32], d: &mut [Pull], e: f32) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, true, true>(a, b, c, d, e) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn onto_first(a: &[PackF32], c: &[PackF32], pull: &mut [Pull], e: f32) {
            let none = &mut [];
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, true, false>(a, pull, c, none, e) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn onto_second(a: &[PackF32], c: &[PackF32], pull: &mut [Pull], e: f32) {
            let none = &mut [];
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, false, true>(a, none, c, pull, e) }
        }

        /// Compiled for this file's vector.
        pub(super) static LOOPS: super::loops::DirectLoops = super::loops::DirectLoops {
            acceleration,
            acceleration_excluding,
            potential,
            potential_guarded,
            mutual: Leaves { own, rectangle, onto_first, onto_second },
        };
    };
}
pub(super) use entry;
