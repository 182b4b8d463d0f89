//! Pictures in linear light, before exposure and tone mapping.

use crate::settings::PictureSize;

/// Intensities are clamped to this one; half floats end at 65504.
pub const LARGEST: f32 = 60000.0;

/// A picture in linear light, four f32 per pixel (red, green, blue, and the light as single
/// stars).
#[derive(Clone, Debug)]
pub struct HdrImage {
    size: PictureSize,
    pixels: Vec<[f32; 4]>,
}

impl HdrImage {
    /// A black picture.
    pub fn new(size: PictureSize) -> Self {
        Self { size, pixels: vec![[0.0; 4]; size.pixels()] }
    }

    /// Its size.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// All pixels, row by row from the top.
    pub fn pixels(&self) -> &[[f32; 4]] {
        &self.pixels
    }

    /// All pixels, mutable.
    pub fn pixels_mut(&mut self) -> &mut [[f32; 4]] {
        &mut self.pixels
    }
}
