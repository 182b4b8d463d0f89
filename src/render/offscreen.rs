//! Rendering without a window: a target of 8 or 16 bits, and its read-back to the host.

use super::image::{Image, PictureSize};
pub use super::light::DEEP_FORMAT;
use super::targets::{check_side, extent, texture_of};
use super::tone::deep;
use crate::error::{Error, Result};
use crate::gpu::{Handles, Readback, new_buffer, poll};

/// Format of the target for 8 bits a channel: the device encodes sRGB.
pub const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;

/// Target texture and read-back buffer, made once per picture size.
pub struct Offscreen {
    size: PictureSize,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    readback: wgpu::Buffer,
    row_bytes: u32,
}

impl Offscreen {
    /// For pictures of that size, which must not exceed what the device can draw, in [`FORMAT`] or
    /// [`DEEP_FORMAT`].
    pub fn new(gpu: Handles, size: PictureSize, format: wgpu::TextureFormat) -> Result<Self> {
        check_side(gpu, size)?;
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
        let texture = gpu.device.create_texture(&texture_of("picture", size, format, usage));
        // Copies to buffers need rows of a multiple of 256 bytes.
        let pixel_bytes = if format == DEEP_FORMAT { 8 } else { 4 };
        let row_bytes =
            (pixel_bytes * size.width()).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let bytes = u64::from(row_bytes) * u64::from(size.height());
        let most = gpu.device.limits().max_buffer_size;
        if bytes > most {
            return Err(Error::value(
                "the picture's read-back buffer",
                format!("{bytes} bytes"),
                format!("at most {most} bytes on this device"),
            ));
        }
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = new_buffer(gpu.device, "picture read-back", bytes, usage);
        let view = texture.create_view(&Default::default());
        Ok(Self { size, texture, view, readback, row_bytes })
    }

    /// The render target of the tone map.
    pub fn view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// Submits `encoder`, whose last pass drew [`Offscreen::view`], and starts the read-back. The
    /// future returns the picture; no other may be begun before it completes. Awaiting it waits for
    /// the device natively, and for the browser in a page.
    ///
    /// # Errors
    ///
    /// Of the future: a lost device.
    pub fn begin(
        &self,
        gpu: Handles,
        mut encoder: wgpu::CommandEncoder,
    ) -> impl Future<Output = Result<Image>> + use<> {
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.readback,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(self.row_bytes),
                    rows_per_image: None,
                },
            },
            extent(self.size),
        );
        let mut read = Readback::default();
        read.watch(&self.readback, self.readback.size());
        let submission = gpu.queue.submit([encoder.finish()]);
        read.submitted();
        let (device, size, row_bytes) = (gpu.device.clone(), self.size, self.row_bytes as usize);
        let is_deep = self.texture.format() == DEEP_FORMAT;
        async move {
            if cfg!(not(target_arch = "wasm32")) {
                let submission_index = Some(submission);
                poll(&device, wgpu::PollType::Wait { submission_index, timeout: None })
                    .map_err(|problem| Error::Device(format!("reading the picture: {problem}")))?;
            }
            if is_deep {
                let mut channels = Vec::with_capacity(3 * size.pixels());
                let copy = |parts: &[&[u8]]| {
                    for row in parts[0].chunks_exact(row_bytes) {
                        for pixel in row[..8 * size.width() as usize].chunks_exact(8) {
                            let half = |k: usize| [pixel[2 * k], pixel[2 * k + 1]];
                            channels.extend([0, 1, 2].map(|k| deep(from_half(half(k)))));
                        }
                    }
                };
                read.arrive_as(copy).await?;
                return Ok(Image::from_deep(size, &channels));
            }
            let mut image = Image::new(size);
            let rows = image.rgba_mut().chunks_exact_mut(4 * size.width() as usize);
            let copy = |parts: &[&[u8]]| {
                for (to, from) in rows.zip(parts[0].chunks_exact(row_bytes)) {
                    to.copy_from_slice(&from[..to.len()]);
                }
            };
            read.arrive_as(copy).await?;
            Ok(image)
        }
    }
}

/// A half float of 0 to 1; anything below is 0, NaN included, and anything above 1.
fn from_half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    // The same exponent and mantissa as a single float are smaller by 2^112.
    let value = f32::from_bits((bits & 0x7fff) << 13) * libm::exp2f(112.0);
    if bits & 0x8000 != 0 { 0.0 } else { value.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_are_read_exactly() {
        let read = |bits: u16| from_half(bits.to_le_bytes());
        for (bits, value) in [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x3800, 0.5),
            (0x3bff, 0.999_511_7),
            (0x3c00, 1.0),
            (0x4000, 1.0),
            (0xb800, 0.0),
        ] {
            assert_eq!(read(bits), value, "{bits:x}");
        }
    }
}
