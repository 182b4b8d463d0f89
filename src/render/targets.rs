//! The textures of one picture size: the HDR picture, the shrunk one, the levels below it.

use super::adding::Adding;
use super::glow::Pyramid;
use super::image::PictureSize;
use super::light::{DEEP_FORMAT, HDR_FORMAT};
use crate::error::{Error, Result};
use crate::gpu::{Handles, new_buffer};

/// Side of a tile in pixels of the shrunk picture: a quarter of what one workgroup of the meter
/// reads.
pub const TILE: u32 = 8;

/// Textures in linear light for one picture size.
pub struct Targets {
    /// The picture size.
    pub size: PictureSize,
    /// The picture.
    pub hdr: wgpu::TextureView,
    /// Its format, see [`super::light::light_format`].
    pub light_format: wgpu::TextureFormat,
    /// The method by which light is accumulated in it.
    pub adding: Adding,
    /// The sizes of all textures below.
    pub pyramid: Pyramid,
    /// The shrunk picture; see [`super::glow::Glow::shrink`].
    pub base: wgpu::TextureView,
    /// From fine to coarse.
    pub levels: Vec<wgpu::TextureView>,
    /// The results of all levels but the coarsest.
    pub smooth: Vec<wgpu::TextureView>,
    /// The finished smooth picture, of the size of `base`.
    pub glow: wgpu::TextureView,
    /// The same enlarged by [`Pyramid::enlarged`], if that is more than 1.
    pub enlarged_glow: Option<wgpu::TextureView>,
    /// Columns and rows of tiles of [`TILE`] pixels of `base` a side that cover the picture.
    pub tiles: [u32; 2],
    /// The largest light of any pixel in each tile: dark tiles skip the tone map.
    pub tile_light: wgpu::Buffer,
}

impl Targets {
    /// Textures for pictures of that size, which must not exceed what the device can draw.
    pub fn new(
        gpu: Handles,
        size: PictureSize,
        light_format: wgpu::TextureFormat,
        adding: Adding,
    ) -> Result<Self> {
        check_side(gpu, size)?;
        let pyramid = Pyramid::new(size);
        use wgpu::TextureUsages as Usage;
        let drawn = Usage::RENDER_ATTACHMENT | Usage::TEXTURE_BINDING;
        // Some devices do not compress textures with storage usage.
        let hdr_usage = match adding {
            Adding::Raster => drawn,
            Adding::Compute => drawn | Usage::STORAGE_BINDING,
        };
        let texture = |label: &str, size| texture_view(gpu, label, size, HDR_FORMAT, drawn);
        let textures = |label: &str, sizes: &[PictureSize]| {
            sizes.iter().map(|&size| texture(label, size)).collect()
        };
        let tiles = [pyramid.base.width(), pyramid.base.height()].map(|side| side.div_ceil(TILE));
        let bytes = 4 * u64::from(tiles[0] * tiles[1]);
        let usage = wgpu::BufferUsages::STORAGE;
        let tile_light = new_buffer(gpu.device, "light of tiles", bytes, usage);
        Ok(Self {
            tiles,
            tile_light,
            size,
            hdr: texture_view(gpu, "hdr", size, light_format, hdr_usage),
            light_format,
            adding,
            base: texture("shrunk", pyramid.base),
            levels: textures("level", &pyramid.levels),
            smooth: textures("smooth level", &pyramid.levels[..pyramid.levels.len() - 1]),
            glow: texture("smooth", pyramid.base),
            enlarged_glow: pyramid.enlarged_size().map(|size| texture("enlarged", size)),
            pyramid,
        })
    }
}

/// Whether a pass that draws into `format` must encode sRGB itself: the device does it for some
/// formats, and the host after the read-back of half floats.
pub(crate) fn encodes(format: wgpu::TextureFormat) -> bool {
    !format.is_srgb() && format != DEEP_FORMAT
}

/// The size of a texture.
pub(crate) fn extent(size: PictureSize) -> wgpu::Extent3d {
    wgpu::Extent3d { width: size.width(), height: size.height(), depth_or_array_layers: 1 }
}

/// An error for sizes beyond the device's limit.
pub(crate) fn check_side(gpu: Handles, size: PictureSize) -> Result<()> {
    let most = gpu.device.limits().max_texture_dimension_2d;
    if size.width().max(size.height()) <= most {
        return Ok(());
    }
    Err(Error::value(
        "the picture size",
        format!("{}x{}", size.width(), size.height()),
        format!("at most {most} pixels a side on this device"),
    ))
}

/// A view of a new 2D texture.
pub(crate) fn texture_view(
    gpu: Handles,
    label: &str,
    size: PictureSize,
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
) -> wgpu::TextureView {
    let texture = gpu.device.create_texture(&texture_of(label, size, format, usage));
    texture.create_view(&Default::default())
}

/// A plain 2D texture.
pub(crate) fn texture_of(
    label: &str,
    size: PictureSize,
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
) -> wgpu::TextureDescriptor<'_> {
    wgpu::TextureDescriptor {
        label: Some(label),
        size: extent(size),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    }
}
