//! Thin boxes and marked bodies over a finished picture, to show how forces are computed.

use std::sync::Arc;

use super::camera::{Camera, View};
use super::image::PictureSize;
use super::light::{HDR_FORMAT, shader};
use super::scale::Scale;
use super::sprites::DevicePoints;
use super::targets::encodes;
use crate::error::Result;
use crate::gpu::{
    Binding, DrawPipeline, Handles, begin_drawing, bind, group_layout, new_buffer, uniform_buffer,
};

/// A box; the same layout on the host and in `diagram.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct DrawnBox {
    /// Lower corner, in units of the diagram's scale.
    pub lower: [f32; 3],
    /// Colour of its edges: red, green, blue, alpha in sRGB, not multiplied by alpha.
    pub colour: [u8; 4],
    /// Upper corner.
    pub upper: [f32; 3],
    /// Padding to a multiple of 16 bytes.
    pub pad: u32,
}

/// A mark on a body; the same layout on the host and in `diagram.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Mark {
    /// The body's index.
    pub body: u32,
    /// Its colour, encoded as in [`DrawnBox`].
    pub colour: [u8; 4],
    /// Radius of a ring in pixels of a picture of 720 lines; 0 is a dot.
    pub ring_px: f32,
    /// Padding to a multiple of 16 bytes.
    pub pad: u32,
}

/// Boxes, and over them marks that move with their bodies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Units of the boxes' coordinates; `None` is world units.
    pub scale: Option<Scale>,
    /// In drawing order.
    pub boxes: Vec<DrawnBox>,
    /// In drawing order. Marks on bodies that do not exist are not drawn.
    pub marks: Vec<Mark>,
}

/// Per-frame uniforms; the same layout on the host and in `diagram.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct DiagramUniform {
    /// The camera.
    pub view: View,
    /// Half the width of an edge in pixels.
    pub half_width_px: f32,
    /// Radius of a mark in pixels.
    pub radius_px: f32,
    /// Distance of the camera's target, in units of the scale.
    pub target_depth: f32,
    /// Height of the picture's shorter side relative to 720 lines, at least 1.
    pub pixels: f32,
}

/// Vertices of a box, and of a mark.
const VERTICES: [u32; 2] = [72, 6];

/// The pipelines for one target format, and the buffers of the diagram drawn last.
pub struct DiagramPass {
    layout: wgpu::BindGroupLayout,
    /// For boxes and for marks.
    pipelines: [wgpu::RenderPipeline; 2],
    uniforms: [wgpu::Buffer; 2],
    shown: Option<Shown>,
}

/// A diagram uploaded to the device.
struct Shown {
    diagram: Arc<Diagram>,
    /// Boxes, and marks on existing bodies.
    counts: [u32; 2],
    /// The buffer of positions that the bind group refers to.
    positions: wgpu::Buffer,
    groups: [wgpu::BindGroup; 2],
}

impl DiagramPass {
    /// Builds the pipelines for targets of `format`.
    pub fn new(gpu: Handles, format: wgpu::TextureFormat) -> Result<Self> {
        use Binding::{Read, Uniform};
        let bindings = [Uniform, Read, Read, Read];
        let layout = group_layout(gpu.device, "diagram", wgpu::ShaderStages::VERTEX, &bindings);
        let module = shader(gpu.device, "diagram", HDR_FORMAT)?;
        let constants = [("LINEAR", f64::from(u8::from(!encodes(format))))];
        let pipelines = ["vs_box", "vs_mark"].map(|vertex| {
            // Colours are premultiplied by alpha.
            let over = wgpu::BlendComponent::OVER;
            let (entries, layouts) = ([vertex, "fs_diagram"], [&layout]);
            let drawn = DrawPipeline::new(&module, entries, &layouts, format).blended(over);
            DrawPipeline { constants: &constants, ..drawn }.make(gpu.device)
        });
        let uniforms = ["boxes", "marks"]
            .map(|label| uniform_buffer(gpu.device, label, size_of::<DiagramUniform>()));
        Ok(Self { layout, pipelines, uniforms, shown: None })
    }

    /// Frees the buffers of the diagram drawn last.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Draws a diagram over `target`, `camera`'s picture of `points`, left of the column
    /// `shown_px`.
    ///
    /// # Errors
    ///
    /// A camera out of range.
    #[allow(clippy::too_many_arguments)] // What all passes take, and the diagram.
    pub fn draw(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        (size, shown_px): (PictureSize, u32),
        points: DevicePoints,
        camera: &Camera,
        diagram: &Arc<Diagram>,
    ) -> Result<()> {
        if shown_px == 0 {
            return Ok(());
        }
        // Many marks are drawn smaller, or they would cover everything.
        let radius_px = 2.4 * (300.0 / diagram.marks.len().max(1) as f32).powf(0.3).clamp(0.5, 1.0);
        // Line width scales with the picture.
        let pixels = (size.shorter_side() as f32 / 720.0).max(1.0);
        let uniform = |scale: &Scale| -> Result<DiagramUniform> {
            let view = camera.view_in(size, scale)?;
            let target_depth = (camera.distance / scale.length) as f32;
            let (half_width_px, radius_px) = (0.5 * pixels, radius_px * pixels);
            Ok(DiagramUniform { view, half_width_px, radius_px, target_depth, pixels })
        };
        let of_boxes = uniform(diagram.scale.as_ref().unwrap_or(&Scale::PLAIN))?;
        for (buffer, uniform) in self.uniforms.iter().zip([of_boxes, uniform(&points.scale)?]) {
            gpu.queue.write_buffer(buffer, 0, bytemuck::bytes_of(&uniform));
        }
        let is_shown = self.shown.as_ref().is_some_and(|shown| {
            Arc::ptr_eq(&shown.diagram, diagram) && shown.positions == *points.pos_mass
        });
        if !is_shown {
            self.shown = Some(self.upload(gpu, diagram, points));
        }
        let Some(shown) = &self.shown else { return Ok(()) };
        let mut pass = begin_drawing(encoder, "diagram", target, wgpu::LoadOp::Load);
        pass.set_scissor_rect(0, 0, shown_px.min(size.width()), size.height());
        let kinds = self.pipelines.iter().zip(&shown.groups);
        for ((pipeline, group), (vertices, count)) in kinds.zip(VERTICES.iter().zip(shown.counts)) {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..*vertices, 0..count);
        }
        Ok(())
    }

    fn upload(&self, gpu: Handles, diagram: &Arc<Diagram>, points: DevicePoints) -> Shown {
        let buffer = |label, contents: &[u8], least: usize| {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            let size = contents.len().max(least) as u64;
            let buffer = new_buffer(gpu.device, label, size, usage);
            gpu.queue.write_buffer(&buffer, 0, contents);
            buffer
        };
        let boxes = bytemuck::cast_slice(&diagram.boxes);
        let boxes = buffer("boxes", boxes, size_of::<DrawnBox>());
        // The shader must not read beyond the existing bodies.
        let exists = |mark: &&Mark| mark.body < points.count;
        let marks: Vec<Mark> = diagram.marks.iter().filter(exists).copied().collect();
        let counts = [diagram.boxes.len() as u32, marks.len() as u32];
        let marks = buffer("marks", bytemuck::cast_slice(&marks), size_of::<Mark>());
        let positions = points.pos_mass.clone();
        let groups = self.uniforms.each_ref().map(|uniform| {
            let resources =
                [uniform, &boxes, &marks, &positions].map(wgpu::Buffer::as_entire_binding);
            bind(gpu.device, "diagram", &self.layout, &resources)
        });
        Shown { diagram: Arc::clone(diagram), counts, positions, groups }
    }
}
