//! The instruction sets of the CPU engines, chosen at run time.

use crate::error::{Error, Result};

/// An instruction set that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstructionSet {
    /// x86-64 with AVX-512F: 16 lanes.
    Avx512,
    /// x86-64 with AVX2 and FMA: 8 lanes.
    Avx2,
    /// 64-bit ARM: 4 lanes.
    Neon,
    /// WebAssembly with 128-bit vectors, if the program is compiled for them: 4 lanes.
    Simd128,
    /// No intrinsics; available except in programs compiled for WebAssembly's vectors.
    Scalar,
}

impl InstructionSet {
    /// All, fastest first.
    pub const ALL: [InstructionSet; 5] = [
        InstructionSet::Avx512,
        InstructionSet::Avx2,
        InstructionSet::Neon,
        InstructionSet::Simd128,
        InstructionSet::Scalar,
    ];

    /// Those that this processor can run, fastest first; never empty.
    pub fn available() -> Vec<InstructionSet> {
        Self::ALL.into_iter().filter(|set| set.is_available()).collect()
    }

    /// The name for display, such as `AVX-512`.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Avx512 => "AVX-512",
            InstructionSet::Avx2 => "AVX2",
            InstructionSet::Neon => "NEON",
            InstructionSet::Simd128 => "simd128",
            InstructionSet::Scalar => "scalar",
        }
    }

    /// Whether this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
            }
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            InstructionSet::Simd128 => {
                cfg!(all(target_arch = "wasm32", target_feature = "simd128"))
            }
            // A page compiled for vectors runs only where they exist, so it has no scalar loops.
            InstructionSet::Scalar => {
                !cfg!(all(target_arch = "wasm32", target_feature = "simd128"))
            }
            #[allow(unreachable_patterns, reason = "each target lacks another one")]
            _ => false,
        }
    }

    /// Checks that this processor has the instructions.
    ///
    /// # Errors
    /// The processor lacks them; lists those that it can run.
    pub fn check(self) -> Result<()> {
        if self.is_available() {
            return Ok(());
        }
        let names: Vec<_> = Self::available().iter().map(|k| k.name()).collect();
        Err(Error::value("the cpu kernel", self.name(), format!("one of {}", names.join(", "))))
    }
}
