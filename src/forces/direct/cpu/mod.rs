//! Direct summation on the processor: SIMD on all cores, in f32 ([`CpuSingle`]) or f64
//! ([`CpuDouble`]).

mod double;
mod kernel;
mod single;

pub use double::CpuDouble;
pub use kernel::Kernel;
pub use single::CpuSingle;
pub(in crate::forces) use single::{
    Lanes, PACK, Separation, at_own_source, same_places, softening_squared,
};
