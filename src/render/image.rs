//! Pictures of 8 or 16 bits per channel.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

pub use crate::settings::{MAX_PIXELS, MAX_SIDE_PX, PictureSize};

/// An sRGB picture: four bytes per pixel (red, green, blue, 255), rows from top to bottom.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    size: PictureSize,
    rgba: Vec<u8>,
    /// The low bytes of channels of 16 bits, whose high bytes are `rgba`. What is drawn over a
    /// picture changes only the high ones.
    low: Option<Vec<u8>>,
    is_transparent: bool,
}

impl std::fmt::Debug for Image {
    /// Only the size: a dump of all pixels is useless.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({}x{})", self.size.width(), self.size.height())
    }
}

impl Image {
    /// A black picture.
    pub fn new(size: PictureSize) -> Self {
        let rgba = [0, 0, 0, 255].repeat(size.pixels());
        Self { size, rgba, low: None, is_transparent: false }
    }

    /// A picture of channels of 16 bits, three per pixel.
    pub(crate) fn from_deep(size: PictureSize, channels: &[u16]) -> Self {
        let mut image = Self::new(size);
        let mut low = vec![255; image.rgba.len()];
        let pixels = image.rgba.chunks_exact_mut(4).zip(low.chunks_exact_mut(4));
        for ((high, low), channels) in pixels.zip(channels.chunks_exact(3)) {
            for (k, channel) in channels.iter().enumerate() {
                [high[k], low[k]] = channel.to_be_bytes();
            }
        }
        image.low = Some(low);
        image
    }

    /// Sets whether PNG files of the picture are transparent where it is dark. Over black they look
    /// like the opaque picture.
    #[must_use]
    pub(crate) fn transparent(self, is_transparent: bool) -> Self {
        Self { is_transparent, ..self }
    }

    /// Its size.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// All bytes, row by row.
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// All bytes, mutable.
    pub fn rgba_mut(&mut self) -> &mut [u8] {
        &mut self.rgba
    }

    /// The pixel in column `x` and row `y`, both from 0 at the upper left; `None` outside.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.size.width() || y >= self.size.height() {
            return None;
        }
        let first = 4 * (y as usize * self.size.width() as usize + x as usize);
        self.rgba[first..first + 4].try_into().ok()
    }

    /// The colours, three bytes per pixel, of the rectangle whose upper left corner is (`left`,
    /// `top`). The rectangle must lie inside the picture.
    pub(crate) fn rgb_of(&self, left: u32, top: u32, width: u32, height: u32) -> Vec<u8> {
        let mut rgb = Vec::with_capacity(3 * width as usize * height as usize);
        for y in top..top + height {
            let first = 4 * (y as usize * self.size.width() as usize + left as usize);
            for pixel in self.rgba[first..first + 4 * width as usize].chunks_exact(4) {
                rgb.extend_from_slice(&pixel[..3]);
            }
        }
        rgb
    }

    /// Red, green, blue and opacity of a pixel, 16 bits each. The opacity is the brightest channel:
    /// light covers what is behind it as far as it outshines it.
    fn cut_out(&self, at: usize) -> [u16; 4] {
        let wide = |k: usize| match &self.low {
            Some(low) => u16::from_be_bytes([self.rgba[at + k], low[at + k]]),
            None => 257 * u16::from(self.rgba[at + k]),
        };
        let [r, g, b] = [wide(0), wide(1), wide(2)];
        let most = u32::from(r.max(g).max(b)).max(1);
        let of_most = |c: u16| ((u32::from(c) * 65535 + most / 2) / most) as u16;
        [of_most(r), of_most(g), of_most(b), r.max(g).max(b)]
    }

    /// Writes the picture as a PNG file (sRGB; RGB of 8 or 16 bits, with alpha if it is
    /// transparent) to `out`. Fast: a tenth larger than with the best setting tried, in a thirtieth
    /// of its time (see `fast_png`).
    pub fn write_png(&self, out: impl Write) -> Result<(), png::EncodingError> {
        let (is_deep, is_transparent) = (self.low.is_some(), self.is_transparent);
        let mut encoder = png::Encoder::new(out, self.size.width(), self.size.height());
        encoder.set_color(if is_transparent { png::ColorType::Rgba } else { png::ColorType::Rgb });
        encoder.set_depth(if is_deep { png::BitDepth::Sixteen } else { png::BitDepth::Eight });
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        fast_png(&mut encoder);
        let pixels = (0..self.rgba.len()).step_by(4);
        let data: Vec<u8> = match (&self.low, is_transparent) {
            (None, false) => self.rgb_of(0, 0, self.size.width(), self.size.height()),
            (Some(low), false) => pixels
                .flat_map(|at| [0, 1, 2].map(|k| [self.rgba[at + k], low[at + k]]))
                .flatten()
                .collect(),
            (Some(_), true) => {
                pixels.flat_map(|at| self.cut_out(at).map(u16::to_be_bytes)).flatten().collect()
            }
            // 257 steps of 65535 are one of 255.
            (None, true) => pixels
                .flat_map(|at| self.cut_out(at).map(|c| ((u32::from(c) + 128) / 257) as u8))
                .collect(),
        };
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&data)?;
        writer.finish()
    }

    /// The picture as a WebP file, lossy.
    ///
    /// # Errors
    /// What libwebp refuses.
    #[cfg(feature = "webp")]
    pub fn webp(&self) -> Result<Vec<u8>> {
        let (width, height) = (self.size.width(), self.size.height());
        let rgb = self.rgb_of(0, 0, width, height);
        let made = webp::Encoder::from_rgb(&rgb, width, height).encode_simple(false, WEBP_QUALITY);
        made.map(|file| file.to_vec())
            .map_err(|e| Error::Outside(format!("libwebp refuses a picture: {e:?}")))
    }

    /// Writes the picture to a PNG file, replacing an existing one.
    pub fn save_png(&self, path: &Path) -> Result<()> {
        let file = std::fs::File::create(path).map_err(|e| Error::io("create", path, e))?;
        self.write_png(std::io::BufWriter::new(file))
            .map_err(|e| Error::io("write", path, std::io::Error::from(e)))
    }
}

/// libwebp's quality: with light on black, the loss at 75 of 100 is invisible in motion.
#[cfg(feature = "webp")]
const WEBP_QUALITY: f32 = 75.0;

/// Settings for pictures of glowing light: on a 1280x720 frame of two galaxies 328 KB in 4 ms;
/// `Balanced` made 299 KB in 138 ms.
pub(crate) fn fast_png<W: Write>(encoder: &mut png::Encoder<'_, W>) {
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Paeth);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_size_errors_state_limits() {
        for (width, height) in [(0, 0), (0, 9), (100_000, 100_000), (8192, 8192), (8193, 1)] {
            let text = PictureSize::new(width, height).unwrap_err().to_string();
            assert!(text.contains("8192") && text.contains(&format!("{width}x{height}")), "{text}");
        }
        for (width, height) in [(1, 1), (8192, 4096), (7680, 4320), (1, 8192)] {
            assert!(PictureSize::new(width, height).is_ok());
        }
    }

    #[test]
    fn png_round_trip_preserves_picture() {
        let size = PictureSize::new(5, 3).unwrap();
        let mut image = Image::new(size);
        for (i, byte) in image.rgba_mut().iter_mut().enumerate() {
            if i % 4 != 3 {
                *byte = (i * 7) as u8;
            }
        }
        let mut bytes = Vec::new();
        image.write_png(&mut bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        assert_eq!(rgb, image.rgb_of(0, 0, 5, 3));
        assert_eq!(image.pixel(4, 2).unwrap()[..3], rgb[42..]);
        assert_eq!(image.pixel(5, 0), None);
    }

    /// A PNG file's colour type, depth and data.
    fn png_of(image: &Image) -> (png::ColorType, png::BitDepth, Vec<u8>) {
        let mut bytes = Vec::new();
        image.write_png(&mut bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut data).unwrap();
        (info.color_type, info.bit_depth, data)
    }

    #[test]
    fn deep_pictures_keep_16_bits() {
        let size = PictureSize::new(2, 1).unwrap();
        let channels = [0, 1, 257, 65535, 40_000, 300];
        let (colour, depth, data) = png_of(&Image::from_deep(size, &channels));
        assert_eq!((colour, depth), (png::ColorType::Rgb, png::BitDepth::Sixteen));
        let read: Vec<u16> =
            data.chunks_exact(2).map(|c| u16::from_be_bytes([c[0], c[1]])).collect();
        assert_eq!(read, channels);
    }

    #[test]
    fn transparent_pictures_over_black_are_the_opaque_ones() {
        let size = PictureSize::new(4, 4).unwrap();
        let channels: Vec<u16> = (0..48u16).map(|i| i.wrapping_mul(2741)).collect();
        let deep = Image::from_deep(size, &channels);
        let mut plain = Image::new(size);
        plain.rgba_mut().copy_from_slice(deep.rgba());
        plain.rgba_mut()[..3].fill(0);
        let (colour, depth, data) = png_of(&plain.clone().transparent(true));
        assert_eq!((colour, depth), (png::ColorType::Rgba, png::BitDepth::Eight));
        assert_eq!(data[3], 0, "black is not there at all");
        for (cut, whole) in data.chunks_exact(4).zip(plain.rgba().chunks_exact(4)) {
            for k in 0..3 {
                let over_black = f64::from(cut[k]) * f64::from(cut[3]) / 255.0;
                assert!((over_black - f64::from(whole[k])).abs() <= 0.51, "{cut:?} {whole:?}");
            }
        }
        let (_, depth, data) = png_of(&deep.transparent(true));
        assert_eq!((depth, data.len()), (png::BitDepth::Sixteen, 8 * 16));
        for (cut, whole) in data.chunks_exact(8).zip(channels.chunks_exact(3)) {
            let word = |k: usize| f64::from(u16::from_be_bytes([cut[2 * k], cut[2 * k + 1]]));
            for k in 0..3 {
                let over_black = word(k) * word(3) / 65535.0;
                assert!((over_black - f64::from(whole[k])).abs() <= 0.51, "{cut:?} {whole:?}");
            }
        }
    }
}
