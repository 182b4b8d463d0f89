//! The texture formats in which light is accumulated, and shaders for them.

use crate::error::Result;
use crate::gpu::{DrawPipeline, Handles, template};

/// The format of smoothed pictures in linear light: blendable and filterable on every device.
pub const HDR_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// Format of the target for 16 bits a channel: linear half floats, whose 11 bits of mantissa are 12
/// bits of sRGB in the bright half of its range and more below.
pub const DEEP_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// Number of bodies from which a software adapter accumulates light in 32-bit floats.
const MANY: u32 = 20_000;

/// The format in which the light of `count` bodies is accumulated: 32-bit floats if the device can
/// blend them, else 16-bit ones. Faint sprites over a bright core fall below the last bit of a half
/// float: with a million bodies such places are up to 12 of 255 steps wrong. With few bodies they
/// are not, and software adapters are slow with large pixels (llvmpipe clears 1280x720 in 7 ms
/// instead of 3). Never filtered.
pub fn light_format(device: &wgpu::Device, count: u32) -> wgpu::TextureFormat {
    match light_formats(device) {
        [_, Some(wide)] if count >= MANY || !is_software(device) => wide,
        [narrow, _] => narrow.unwrap_or(HDR_FORMAT),
    }
}

/// Whether the device is a processor.
pub(crate) fn is_software(device: &wgpu::Device) -> bool {
    device.adapter_info().device_type == wgpu::DeviceType::Cpu
}

/// The formats that [`light_format`] chooses from.
pub(crate) fn light_formats(device: &wgpu::Device) -> [Option<wgpu::TextureFormat>; 2] {
    let wide = device.features().contains(wgpu::Features::FLOAT32_BLENDABLE);
    [Some(HDR_FORMAT), wide.then_some(wgpu::TextureFormat::Rgba32Float)]
}

/// A pipeline that draws light, for each light format.
pub(crate) struct LightPipelines([Option<(wgpu::TextureFormat, wgpu::RenderPipeline)>; 2]);

impl LightPipelines {
    /// Builds the pipelines of two entry points of a module.
    pub fn new(
        gpu: Handles,
        module: &wgpu::ShaderModule,
        entry_points: [&str; 2],
        layouts: &[&wgpu::BindGroupLayout],
        blend: wgpu::BlendComponent,
    ) -> Self {
        let make = |format| {
            let drawn = DrawPipeline::new(module, entry_points, layouts, format);
            (format, drawn.blended(blend).make(gpu.device))
        };
        Self(light_formats(gpu.device).map(|format| format.map(make)))
    }

    /// The pipeline for this format.
    pub fn find(&self, format: wgpu::TextureFormat) -> Option<&wgpu::RenderPipeline> {
        let mut made = self.0.iter().flatten();
        made.find(|(has, _)| *has == format).map(|(_, pipeline)| pipeline)
    }
}

/// The source of a pass for light in that format.
pub(crate) fn wgsl_for(pass: &str, light_format: wgpu::TextureFormat) -> Result<String> {
    let light_format = match light_format {
        wgpu::TextureFormat::Rgba32Float => "rgba32float",
        _ => "rgba16float",
    };
    template::assemble(&format!("render/{pass}.wgsl"), minijinja::context! { light_format })
}

/// The module of a pass, with its current text ([`template::reload`]), specialised for the light
/// format if the text depends on it.
pub(crate) fn shader(
    device: &wgpu::Device,
    pass: &str,
    light_format: wgpu::TextureFormat,
) -> Result<wgpu::ShaderModule> {
    let text = wgsl_for(pass, light_format)?;
    Ok(device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(pass),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    }))
}
