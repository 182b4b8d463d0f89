//! Pictures and films of bodies: soft additive sprites in linear light, glow, exposure, asinh tones.
//!
//! ```text
//! bodies -> sprites -> HDR picture -> quarter picture -> meter -> exposure --+
//!                            |              +-> glow levels -> glow --------+|
//!                            +----------------------------------------------++-> tones -> 8-bit picture -> film
//! ```
//!
//! Everything exists twice, by the same formulas: in WGSL for the device (`sprites`, `glow_pass`,
//! `exposure_pass`, `tone_map`) and in f32 on the CPU (`splat`, `glow`, `exposure`, `tone`), so that
//! films need no graphics driver and the one can be held against the other. [`Painter`] hides which.

pub mod camera;
pub mod exposure;
pub mod framing;
pub mod glow;
pub mod image;
pub mod look;
pub mod painter;
pub mod palette;
pub mod splat;
pub mod style;
pub mod tone;

pub use camera::Camera;
pub use framing::Follow;
pub use image::{Image, PictureSize};
pub use look::Look;
pub use painter::{Painter, Points};
pub use palette::{PALETTES, Palette};
pub use style::{ColourBy, Exposure, Style};
