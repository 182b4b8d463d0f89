//! Rendering without a window: an 8-bit target, and its read-back to the host.

use super::image::{Image, PictureSize};
use super::targets::{check_side, extent, texture_of};
use crate::error::{Error, Result};
use crate::gpu::{Handles, Readback, new_buffer, poll};

/// Format of the target: the device encodes sRGB.
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
    /// For pictures of that size, which must not exceed what the device can draw.
    pub fn new(gpu: Handles, size: PictureSize) -> Result<Self> {
        check_side(gpu, size)?;
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
        let texture = gpu.device.create_texture(&texture_of("picture", size, FORMAT, usage));
        // Copies to buffers need rows of a multiple of 256 bytes.
        let row_bytes = (4 * size.width()).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
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
        async move {
            if cfg!(not(target_arch = "wasm32")) {
                let submission_index = Some(submission);
                poll(&device, wgpu::PollType::Wait { submission_index, timeout: None })
                    .map_err(|problem| Error::Device(format!("reading the picture: {problem}")))?;
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
