//! Which instructions there are, and the loops compiled for each.

use super::direct::Sum;
use super::mutual::{Own, Rectangle};
use super::pack::{Pack, Sink};
use super::scalar;

/// An instruction set that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// x86-64 with AVX-512F: 16 lanes.
    Avx512,
    /// x86-64 with AVX2 and FMA: 8 lanes.
    Avx2,
    /// 64-bit ARM: 4 lanes.
    Neon,
    /// No intrinsics: everywhere.
    Scalar,
}

impl Kernel {
    /// All kernels, the fastest first.
    pub const ALL: [Kernel; 4] = [Kernel::Avx512, Kernel::Avx2, Kernel::Neon, Kernel::Scalar];

    /// The kernels that this processor can run, the fastest first; never empty.
    pub fn available() -> Vec<Kernel> {
        Self::ALL.into_iter().filter(|kernel| kernel.is_available()).collect()
    }

    /// The name for people: `AVX-512`.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Avx512 => "AVX-512",
            Kernel::Avx2 => "AVX2",
            Kernel::Neon => "NEON",
            Kernel::Scalar => "scalar",
        }
    }

    /// True where this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Kernel::Scalar => true,
            #[allow(unreachable_patterns, reason = "each target lacks another kernel")]
            _ => false,
        }
    }

    /// Its loops. Of a kernel that this target does not know: the scalar ones.
    pub(super) fn loops(self) -> &'static Loops {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => &super::avx512::LOOPS,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => &super::avx2::LOOPS,
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => &super::neon::LOOPS,
            _ => &scalar::LOOPS,
        }
    }
}

/// See [`super::direct::attract`].
pub(super) type Direct = unsafe fn(&[Pack], usize, &[Sink], &mut [Sum], f32);

/// The loops of a kernel. Calling one is safe where [`Kernel::is_available`].
pub(super) struct Loops {
    pub acceleration: Direct,
    pub acceleration_excluding: Direct,
    pub potential: Direct,
    pub potential_guarded: Direct,
    pub own: Own,
    pub rectangle: Rectangle,
}

/// Compiles the loops for a vector type: with `$sinks` sinks in registers (direct), `$vectors`
/// vectors of bodies (mutual), and the processor's features, if any need be named.
macro_rules! entry {
    ($vector:ty, $sinks:literal, $vectors:literal $(, $features:literal)?) => {
        use super::direct::{Sum as Total, attract};
        use super::pack::{Pack, Sink};
        use super::mutual::Pull;

        macro_rules! direct {
            ($name:ident, $potential:literal, $exclude:literal, $guard:literal) => {
                $(#[target_feature(enable = $features)])?
                unsafe fn $name(a: &[Pack], b: usize, c: &[Sink], d: &mut [Total], e: f32) {
                    // SAFETY: the caller knows that the processor has the instructions.
                    unsafe { attract::<$vector, $sinks, $potential, $exclude, $guard>(a, b, c, d, e) }
                }
            };
        }
        direct!(acceleration, false, false, false);
        direct!(acceleration_excluding, false, true, false);
        direct!(potential, true, true, false);
        direct!(potential_guarded, true, true, true);

        $(#[target_feature(enable = $features)])?
        unsafe fn own(a: &[Pack], pull: &mut [Pull], softening_squared: f32) {
            // SAFETY: the caller knows that the processor has the instructions.
            unsafe { super::mutual::own::<$vector, $vectors>(a, pull, softening_squared) }
        }

        $(#[target_feature(enable = $features)])?
        unsafe fn rectangle(a: &[Pack], b: &mut [Pull], c: &[Pack], d: &mut [Pull], e: f32) {
            // SAFETY: the caller knows that the processor has the instructions.
            unsafe { super::mutual::rectangle::<$vector, $vectors>(a, b, c, d, e) }
        }

        /// Compiled for this file's vector.
        pub(super) static LOOPS: super::kernel::Loops = super::kernel::Loops {
            acceleration,
            acceleration_excluding,
            potential,
            potential_guarded,
            own,
            rectangle,
        };
    };
}
pub(super) use entry;
