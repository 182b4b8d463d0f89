//! Two methods of accumulating the light of bodies on the device. Their pictures agree up to
//! rounding.
//!
//! Blended triangles (`sprite.wgsl`), or compute (`splat.wgsl`): 64-bit integers and atomic
//! additions, whose sums have the same bits in any order. Both take a body's position, size and
//! colour from `body_sprite.wgsl`, and both leave light in 32-bit floats if the device can blend
//! those, otherwise in half floats (`light`).
//!
//! With triangles, trails are two blended passes over the picture (`trail_pass`). With compute they
//! are mixed in where the sums become light, because the rasteriser is the slow part of such
//! devices; that takes 16 more bytes per pixel. Trails, ages and densities (`medium`) take memory
//! only while they are shown.

use super::camera::{Camera, View};
use super::image::PictureSize;
use super::light::{HDR_FORMAT, light_format};
use super::look_uniform::LookUniform;
use super::palette::NEW_STARS;
use super::splat::{LUCK, RadiusLimits};
use super::style::ColourBy;
use crate::error::{Error, Result};

/// How the light of bodies is accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adding {
    /// Triangles blended by the rasteriser (`sprite.wgsl`): little memory, runs on any device.
    Raster,
    /// Atomic additions to an integer buffer, 32 bytes per pixel (`splat.wgsl`).
    Compute,
}

/// Number of bodies from which [`Adding::Compute`] is used: on a GPU with its own memory, and on
/// one without, for which reading the sums of all pixels is expensive. With fewer bodies the cost
/// per picture is dominated by the pixels.
const MANY: [u32; 2] = [10_000, 100_000];
/// Bytes per pixel of the sum buffer: 64 bits for each of three colours and for single stars.
const PIXEL_BYTES: u64 = 32;

impl Adding {
    /// The method for `count` bodies on pictures of `size`: compute for many bodies, if the device
    /// is not a software adapter (which rasterises as fast as it computes, without the atomic
    /// additions) and has enough memory for the sums. An NVIDIA H200, which has few graphics units,
    /// adds up 10 thousand, 100 thousand and a million bodies of a galaxy collision at 1280x720 in
    /// 0.19, 0.17 and 0.26 ms, and blends them in 0.38, 0.78 and 6.5 ms.
    pub fn choose(device: &wgpu::Device, count: u32, size: PictureSize) -> Self {
        let is_many = Self::many(device).is_some_and(|many| count >= many);
        match is_many && Self::Compute.check(device, count, size).is_ok() {
            true => Self::Compute,
            false => Self::Raster,
        }
    }

    /// [`Adding::choose`] for maps, on which up to a thousand kernels overlap on a pixel: sums in
    /// half floats lose up to 15 % there, so devices that blend no others add up integers.
    pub fn choose_for_map(device: &wgpu::Device, count: u32, size: PictureSize) -> Self {
        let blends_wide = light_format(device, u32::MAX) != HDR_FORMAT;
        match !blends_wide && Self::Compute.check(device, count, size).is_ok() {
            true => Self::Compute,
            false => Self::choose(device, count, size),
        }
    }

    /// Number of bodies from which [`Adding::Compute`] is chosen on a device, `None` if never.
    pub(crate) fn many(device: &wgpu::Device) -> Option<u32> {
        match device.adapter_info().device_type {
            _ if !can_compute(&device.limits()) => None,
            wgpu::DeviceType::Cpu => None,
            wgpu::DeviceType::DiscreteGpu => Some(MANY[0]),
            _ => Some(MANY[1]),
        }
    }

    /// The method's name: `raster` or `compute`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raster => "raster",
            Self::Compute => "compute",
        }
    }

    /// Checks that the device can draw this many bodies on pictures of that size with this method.
    ///
    /// # Errors
    ///
    /// The device lacks a feature or the memory.
    pub fn check(self, device: &wgpu::Device, count: u32, size: PictureSize) -> Result<()> {
        let limits = device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let bytes = sum_bytes(size).max(list_bytes(count));
        if self == Self::Raster || (can_compute(&limits) && bytes <= most) {
            return Ok(());
        }
        Err(Error::value(
            "the method of adding up light",
            format!("compute with buffers of {bytes} bytes"),
            format!("raster on this device, whose buffers end at {most} bytes"),
        ))
    }
}

/// Whether the device's limits allow the bindings of `splat.wgsl`.
fn can_compute(limits: &wgpu::Limits) -> bool {
    limits.max_storage_buffers_per_shader_stage >= 6
        && limits.max_storage_textures_per_shader_stage >= 1
        && limits.max_compute_invocations_per_workgroup >= 64
}

/// Threads per workgroup, as in `splat.wgsl`.
pub const GROUP: u32 = 64;
/// Workgroups per row of a dispatch with one thread per body, as in `splat.wgsl`.
pub const GROUPS_A_ROW: u32 = 1024;
/// Workgroups that share the large sprites, as in `splat.wgsl`.
pub const LARGE_GROUPS: u32 = 2048;
/// Threads that share one streak below the large size, as in `streak_splat.wgsl`.
pub const STREAK_LANES: u32 = 16;
/// Workgroups that share all such streaks, as in `streak_splat.wgsl`.
pub const STREAK_GROUPS: u32 = 8192;

/// Bytes of the sum buffer of a picture.
pub(crate) fn sum_bytes(size: PictureSize) -> u64 {
    PIXEL_BYTES * size.pixels() as u64
}

/// Bytes of the list of large sprites, at its longest: the count, and one word per body.
pub(crate) fn list_bytes(count: u32) -> u64 {
    4 * (u64::from(count.max(1)) + 1)
}

/// The light of one unit of the sums: a power of two, so that multiplying by it is exact.
///
/// The brightest body gives up to 2^28 units at the distance of the camera's target, and typical
/// ones, some 2^7 fainter, lose nothing visible to rounding. Nearer bodies give more if their
/// sprites grow no larger: up to (1 / `Camera::NEAR_PART`)^2 times as much without the fade
/// near the eye, a factor of 208 with it. So no body gives more than 2^36 units, and the 2^27
/// bodies that a buffer can hold stay within 64 bits.
pub fn light_unit(view: &View, look: &LookUniform, limits: RadiusLimits) -> f32 {
    let variety = f64::from(look.variety);
    let luckiest = 1.0 + (f64::from(LUCK) - 1.0) * variety;
    let (heaviest, tint) = (3.0, 1.0 + 0.35 * variety);
    let [least, most_px] = limits.map(f64::from);
    let most = |values: &[f32]| values.iter().fold(0.0, |most, &v| f64::max(most, f64::from(v)));
    let scale = look.scale.iter().map(|colour| most(&colour[..3])).fold(0.0, f64::max);
    let is_map = look.colour_by >= ColourBy::SurfaceDensity as u32;
    let distance = f64::from(view.near) / Camera::NEAR_PART;
    let brightest = look
        .components
        .iter()
        .map(|component| {
            let radius_px =
                f64::from(component.radius_in_world) * f64::from(view.focal_px) / distance;
            // Where bodies are dense, kernels of maps are narrow.
            let drawn_px = if is_map { least } else { radius_px.clamp(least, most_px) };
            let coverage = radius_px / drawn_px;
            let peak = match look.colour_by {
                0 if component.is_gas > 0.0 => f64::from(component.white_peak) * most(&NEW_STARS),
                0 => most(&component.peak).max(1.3 * f64::from(component.white_peak)) * tint,
                _ if is_map => 1.5 * f64::from(component.white_peak),
                _ => f64::from(component.white_peak) * scale,
            };
            peak * coverage * coverage * 4f64.powf(f64::from(look.depth_cue))
        })
        .fold(0.0, f64::max);
    let exponent = libm::ceil(libm::log2(brightest * heaviest * luckiest)) - 28.0;
    libm::exp2(exponent.clamp(-100.0, 100.0)) as f32
}
