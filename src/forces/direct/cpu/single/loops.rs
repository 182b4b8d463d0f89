//! The loops compiled for each instruction set.

use super::Kernel;
use super::direct::Sum;
use super::mutual::Leaves;
use super::pack::{Pack, Sink};

/// The loops of a kernel; for a kernel that this target does not have, those of the one it always
/// has.
pub(super) fn of(kernel: Kernel) -> &'static Loops {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 => &super::avx512::LOOPS,
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => &super::avx2::LOOPS,
        #[cfg(target_arch = "aarch64")]
        Kernel::Neon => &super::neon::LOOPS,
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        _ => &super::simd128::LOOPS,
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        _ => &super::scalar::LOOPS,
    }
}

/// See [`super::direct::attract`].
pub(super) type Direct = unsafe fn(&[Pack], usize, &[Sink], &mut [Sum], f32);

/// The loops of a kernel. Safe to call if [`Kernel::is_available`].
pub(super) struct Loops {
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
        use super::direct::{Sum as Total, attract, attract_with_potential};
        use super::pack::{Pack, Sink};
        use super::mutual::{Leaves, Pull};

        macro_rules! direct {
            ($name:ident, $attract:expr) => {
                $(#[target_feature(enable = $features)])?
                unsafe fn $name(a: &[Pack], b: usize, c: &[Sink], d: &mut [Total], e: f32) {
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
        unsafe fn own(a: &[Pack], pull: &mut [Pull], softening_squared: f32) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::own::<$vector, $vectors>(a, pull, softening_squared) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn rectangle(a: &[Pack], b: &mut [Pull], c: &[Pack], d: &mut [Pull], e: f32) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, true, true>(a, b, c, d, e) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn onto_first(a: &[Pack], c: &[Pack], pull: &mut [Pull], e: f32) {
            let none = &mut [];
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, true, false>(a, pull, c, none, e) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn onto_second(a: &[Pack], c: &[Pack], pull: &mut [Pull], e: f32) {
            let none = &mut [];
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::mutual::rectangle::<$vector, $vectors, false, true>(a, none, c, pull, e) }
        }

        /// Compiled for this file's vector.
        pub(super) static LOOPS: super::loops::Loops = super::loops::Loops {
            acceleration,
            acceleration_excluding,
            potential,
            potential_guarded,
            mutual: Leaves { own, rectangle, onto_first, onto_second },
        };
    };
}
pub(super) use entry;
