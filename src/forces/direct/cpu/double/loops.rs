//! The loop compiled for each instruction set.

use super::pack::{Around, SinkF64, SumF64};
use super::sources::SliceSources;
use crate::forces::direct::cpu::InstructionSet;

/// What is computed besides accelerations and their derivatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Besides {
    /// Nothing.
    Nothing = 0,
    /// Potentials.
    Potential = 1,
    /// Potentials and the nearest source.
    Nearest = 2,
    /// Potentials, the nearest source and the neighbour list.
    Lists = 3,
}

/// A slice of the sources, and what all sinks share.
#[derive(Clone, Copy)]
pub(super) struct SourceSlice<'a> {
    pub sources: SliceSources<'a>,
    /// Index of the first source.
    pub first: usize,
    /// Number of sources in all; the last pack may extend beyond it.
    pub count: usize,
    pub softening_squared: f64,
    /// The most entries stored in a list.
    pub capacity: usize,
}

/// See [`super::pairs::attract`]. Safe to call if its kernel is available.
pub(super) type Attract = unsafe fn(&SourceSlice, &[SinkF64], &mut [SumF64], &mut [Around]);

/// By order, then by [`Besides`].
pub(super) type LoopTable = [[Attract; 4]; 3];

/// The loops of an instruction set; for one that this target does not have, those of the one it
/// always has.
pub(super) fn table(kernel: InstructionSet) -> &'static LoopTable {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => &super::avx512::TABLE,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => &super::avx2::TABLE,
        #[cfg(target_arch = "aarch64")]
        InstructionSet::Neon => &super::neon::TABLE,
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        _ => &super::simd128::TABLE,
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        _ => &super::scalar::TABLE,
    }
}

/// Compiles the loops for a vector type, with processor features if any must be named.
macro_rules! entry {
    ($vector:ty $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        unsafe fn run<const ORDER: usize, const BESIDES: usize>(
            slice: &super::loops::SourceSlice,
            sinks: &[super::pack::SinkF64],
            sums: &mut [super::pack::SumF64],
            around: &mut [super::pack::Around],
        ) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { super::pairs::attract::<$vector, ORDER, BESIDES>(slice, sinks, sums, around) }
        }

        /// Compiled for this file's vector.
        pub(super) static TABLE: super::loops::LoopTable = [
            [run::<0, 0>, run::<0, 1>, run::<0, 2>, run::<0, 3>],
            [run::<1, 0>, run::<1, 1>, run::<1, 2>, run::<1, 3>],
            [run::<2, 0>, run::<2, 1>, run::<2, 2>, run::<2, 3>],
        ];
    };
}
pub(super) use entry;
