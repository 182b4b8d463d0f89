//! Direct summation on the processor: SIMD on all cores, in f32 ([`CpuSingle`]) or f64
//! ([`CpuDouble`]).

mod double;
mod instruction_set;
mod single;

pub use double::CpuDouble;
pub use instruction_set::InstructionSet;
pub use single::CpuSingle;
pub(in crate::forces) use single::{
    LanesF32, PACK, Separation, at_own_source, same_places, softening_squared,
};
