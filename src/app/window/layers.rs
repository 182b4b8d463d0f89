//! Caches the panel and the text over the picture in two textures, redrawn only when their shapes
//! change and composited over every picture. On a software adapter drawing all glyphs in every
//! frame would take longer than the picture.
//!
//! One texture holds the panel, the other everything that lies over the picture or reaches over the
//! panel. In each frame the panel's columns are copied to the surface (drawn, where surfaces cannot
//! be copied to), and of the other texture only the tiles of 32 x 32 pixels that have something on
//! them are blended. A frame in which nothing of the panel changes therefore neither lays out nor
//! tessellates anything.

use egui::epaint::{ClippedPrimitive, ClippedShape, Mesh, Primitive};
use egui::{Color32, Context, Pos2, Rect, TextureId};
use egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};

use gravitile::error::{Error, Result};
use gravitile::gpu::{begin_drawing, caught};

/// Side in pixels of the square tiles; only non-empty tiles are composited.
const TILE: u32 = 32;
/// All of a texture.
const WHOLE: Rect = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));

/// The layers over the picture: first the opaque panel, then everything else, including lists and
/// hints that overlap the panel.
pub struct Layers {
    format: wgpu::TextureFormat,
    size: [u32; 2],
    layers: [Layer; 2],
    /// The picture of a second run, which has its left edge at that of the texture.
    second: Layer,
    over: Renderer,
    /// Whether the window's textures are copy targets. Copying the panel is much faster than
    /// drawing a textured mesh.
    copies: bool,
    are_stale: bool,
    /// The colour behind the panel.
    behind: Color32,
}

#[derive(Default)]
struct Layer {
    /// The texture; `None` before the first drawing.
    id: Option<TextureId>,
    texture: Option<wgpu::Texture>,
    view: Option<wgpu::TextureView>,
    shapes: Vec<ClippedShape>,
    /// The non-empty tiles, in pixels of the window.
    mesh: Mesh,
}

impl Layers {
    /// Empty layers for a window of this format; `copies` is whether its textures are copy
    /// targets.
    pub fn new(device: &wgpu::Device, format: wgpu::TextureFormat, copies: bool) -> Self {
        // The layers are dithered already.
        let options = RendererOptions { dithering: false, ..RendererOptions::default() };
        let over = Renderer::new(device, format, options);
        Self {
            format,
            size: [0, 0],
            layers: Default::default(),
            second: Layer::default(),
            over,
            copies,
            are_stale: false,
            behind: Color32::BLACK,
        }
    }

    /// Draws the layers whose shapes have changed, with the renderer `egui`, which has the
    /// textures; all of them if textures are `fresh`, since glyphs may have moved in the atlas. The
    /// panel begins at `left`, in points. Returns which layers were drawn.
    ///
    /// # Errors
    ///
    /// The device was lost.
    #[allow(clippy::too_many_arguments)]
    pub fn draw(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        encoder: &mut wgpu::CommandEncoder,
        egui: &mut Renderer,
        context: &Context,
        (shapes, fresh, left): (Vec<ClippedShape>, bool, f32),
        screen: &ScreenDescriptor,
    ) -> Result<[bool; 2]> {
        let is_stale = std::mem::take(&mut self.are_stale) || fresh;
        let is_new = self.resize(device, screen.size_in_pixels) || is_stale;
        let (panel, rest) = shapes.into_iter().partition(|shape| shape.clip_rect.min.x >= left);
        let mut changed = [false; 2];
        for ((layer, shapes), changed) in
            self.layers.iter_mut().zip([panel, rest]).zip(&mut changed)
        {
            *changed = is_new || layer.shapes != shapes;
            layer.shapes = shapes;
        }
        // Both layers share one update, since a renderer has one set of buffers per submission.
        let mut jobs: Vec<ClippedPrimitive> = Vec::new();
        let mut ends = [0; 2];
        for (k, layer) in self.layers.iter().enumerate() {
            if changed[k] {
                jobs.extend(context.tessellate(layer.shapes.clone(), screen.pixels_per_point));
            }
            ends[k] = jobs.len();
        }
        if !changed.contains(&true) {
            return Ok(changed);
        }
        update_buffers(egui, (device, queue), encoder, &jobs, screen)?;
        for (k, layer) in self.layers.iter_mut().enumerate() {
            if let (true, Some(view)) = (changed[k], &layer.view) {
                let [r, g, b, a] = self.behind.to_array().map(|byte| f64::from(byte) / 255.0);
                let behind = wgpu::Color { r, g, b, a };
                let load = wgpu::LoadOp::Clear([behind, wgpu::Color::TRANSPARENT][k]);
                let pass = begin_drawing(encoder, "layer", view, load);
                egui.render(&mut pass.forget_lifetime(), &jobs[..ends[k]], screen);
                layer.cover(screen);
            }
            // An empty clip rectangle makes the second pass skip the first layer.
            jobs[..ends[k]].iter_mut().for_each(|job| job.clip_rect = Rect::ZERO);
        }
        Ok(changed)
    }

    /// The texture for the picture of a second run in a window of this size.
    pub fn second_picture(&mut self, device: &wgpu::Device, size: [u32; 2]) -> wgpu::TextureView {
        let has_size =
            |view: &&wgpu::TextureView| [view.texture().width(), view.texture().height()] == size;
        match self.second.view.as_ref().filter(has_size) {
            Some(view) => view.clone(),
            None => self.second.retexture(device, (self.format, size), &mut self.over),
        }
    }

    /// Composites the layers over `target`, of which the panel covers `covered_px` columns. With
    /// `halves`, first that many columns of the second picture, from the second number on.
    ///
    /// # Errors
    ///
    /// The device was lost.
    pub fn lay_over(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::Texture,
        (covered_px, halves): (u32, Option<[u32; 2]>),
    ) -> Result<()> {
        let [width, height] = self.size;
        let [panel, rest] = &self.layers;
        let covered_px = covered_px.min(width);
        let left = width - covered_px;
        let [half, offset] = halves.unwrap_or_default();
        let half = half.min(left.saturating_sub(offset));
        let copies = self.copies && [target.width(), target.height()] == self.size;
        // Columns that are shown as they are: their layer and number, where they are in it and
        // where they are shown.
        let columns = [(&self.second, half, 0, offset), (panel, covered_px, left, left)];
        let mut jobs = Vec::new();
        for (layer, count, from, to) in columns.into_iter().filter(|(_, count, ..)| *count > 0) {
            if let (true, Some(texture)) = (copies, &layer.texture) {
                let place = |texture, x| wgpu::TexelCopyTextureInfo {
                    texture,
                    mip_level: 0,
                    origin: wgpu::Origin3d { x, y: 0, z: 0 },
                    aspect: wgpu::TextureAspect::All,
                };
                let size = wgpu::Extent3d { width: count, height, depth_or_array_layers: 1 };
                encoder.copy_texture_to_texture(place(texture, from), place(target, to), size);
            } else if layer.texture.is_some() {
                let [from, to, count, width, height] =
                    [from, to, count, width, height].map(|px| px as f32);
                let uv = [Pos2::new(from / width, 0.0), Pos2::new((from + count) / width, 1.0)];
                let shown = Rect::from_min_max(Pos2::new(to, 0.0), Pos2::new(to + count, height));
                let mut mesh = Mesh::with_texture(layer.id.unwrap_or_default());
                mesh.add_rect_with_uv(shown, uv.into(), Color32::WHITE);
                jobs.push((shown, mesh));
            }
        }
        let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(width as f32, height as f32));
        jobs.push((whole, rest.mesh.clone()));
        let jobs = jobs.into_iter().filter(|(_, mesh)| !mesh.is_empty());
        let jobs = jobs.map(|(clip_rect, mesh)| ClippedPrimitive {
            clip_rect,
            primitive: Primitive::Mesh(mesh),
        });
        let jobs: Vec<ClippedPrimitive> = jobs.collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let screen = ScreenDescriptor { size_in_pixels: self.size, pixels_per_point: 1.0 };
        update_buffers(&mut self.over, (device, queue), encoder, &jobs, &screen)?;
        let view = target.create_view(&Default::default());
        let pass = begin_drawing(encoder, "layers", &view, wgpu::LoadOp::Load);
        self.over.render(&mut pass.forget_lifetime(), &jobs, &screen);
        Ok(())
    }

    /// Sets the colour behind the panel.
    pub fn put_behind(&mut self, colour: Color32) {
        self.are_stale |= std::mem::replace(&mut self.behind, colour) != colour;
    }

    /// Invalidates all layers, after a frame that failed before it was submitted.
    pub fn invalidate(&mut self) {
        self.are_stale = true;
    }

    /// Recreates the textures if their size differs; returns whether it did.
    fn resize(&mut self, device: &wgpu::Device, size: [u32; 2]) -> bool {
        if self.size == size {
            return false;
        }
        self.size = size;
        for layer in &mut self.layers {
            layer.retexture(device, (self.format, size), &mut self.over);
        }
        true
    }
}

impl Layer {
    /// Makes its texture; returns the view of it.
    fn retexture(
        &mut self,
        device: &wgpu::Device,
        (format, [width, height]): (wgpu::TextureFormat, [u32; 2]),
        over: &mut Renderer,
    ) -> wgpu::TextureView {
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("layer"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT
                | wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&Default::default());
        if let Some(id) = self.id {
            over.free_texture(&id);
        }
        self.id = Some(over.register_native_texture(device, &view, wgpu::FilterMode::Nearest));
        (self.view, self.texture) = (Some(view.clone()), Some(texture));
        view
    }

    /// Makes the mesh of non-empty tiles.
    fn cover(&mut self, screen: &ScreenDescriptor) {
        let [width, height] = screen.size_in_pixels;
        let [columns, rows] = [width, height].map(|side| side.div_ceil(TILE) as usize);
        let mut has = vec![false; columns * rows];
        for ClippedShape { clip_rect, shape, .. } in &self.shapes {
            let rect = shape.visual_bounding_rect().intersect(*clip_rect);
            if !rect.is_positive() || !rect.is_finite() {
                continue;
            }
            let tile =
                |points: f32| (points * screen.pixels_per_point / TILE as f32).max(0.0) as usize;
            // Antialiased edges reach half a pixel further.
            let rect = rect.expand(1.0);
            for row in tile(rect.min.y)..=tile(rect.max.y).min(rows - 1) {
                let [from, to] = [rect.min.x, rect.max.x].map(|x| tile(x).min(columns - 1));
                has[row * columns + from..=row * columns + to].fill(true);
            }
        }
        self.mesh = Mesh::with_texture(self.id.unwrap_or_default());
        let point = |column: usize, row: usize| {
            let at = |tile: usize, side: u32| (tile as f32 * TILE as f32).min(side as f32);
            Pos2::new(at(column, width), at(row, height))
        };
        for (row, has) in has.chunks(columns.max(1)).enumerate() {
            let mut column = 0;
            for run in has.chunk_by(|a, b| a == b) {
                if run[0] {
                    let rect =
                        Rect::from_min_max(point(column, row), point(column + run.len(), row + 1));
                    let part = |p: Pos2| Pos2::new(p.x / width as f32, p.y / height as f32);
                    let uv = Rect::from_min_max(part(rect.min), part(rect.max)).intersect(WHOLE);
                    self.mesh.add_rect_with_uv(rect, uv, Color32::WHITE);
                }
                column += run.len();
            }
        }
    }
}

/// [`Renderer::update_buffers`], which panics (egui-wgpu 0.37) if the device was lost: no staging
/// buffer can be made then.
fn update_buffers(
    egui: &mut Renderer,
    (device, queue): (&wgpu::Device, &wgpu::Queue),
    encoder: &mut wgpu::CommandEncoder,
    jobs: &[ClippedPrimitive],
    screen: &ScreenDescriptor,
) -> Result<()> {
    let extra = caught(|| egui.update_buffers(device, queue, encoder, jobs, screen))
        .map_err(|problem| Error::Device(format!("the panel was not drawn: {problem}")))?;
    debug_assert!(extra.is_empty(), "the panel has no paint callbacks");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::gpu::{AdapterRequest, Gpu};

    const SIZE: [u32; 2] = [256, 192];
    const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

    fn target(gpu: &Gpu) -> wgpu::Texture {
        let [width, height] = SIZE;
        gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("target"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT
                | wgpu::TextureUsages::COPY_SRC
                | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        })
    }

    fn pixels(gpu: &Gpu, mut encoder: wgpu::CommandEncoder, texture: &wgpu::Texture) -> Vec<u8> {
        let [width, height] = SIZE;
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pixels"),
            size: u64::from(4 * width * height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(4 * width),
                    rows_per_image: None,
                },
            },
            texture.size(),
        );
        gpu.queue.submit([encoder.finish()]);
        buffer.slice(..).map_async(wgpu::MapMode::Read, |mapped| mapped.unwrap());
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        buffer.slice(..).get_mapped_range().unwrap().to_vec()
    }

    /// A panel from x = 160 on, and half-transparent text over a picture.
    fn ui(ui: &mut egui::Ui, in_panel: &str, over: &str) {
        egui::Panel::right("panel").exact_size(96.0).show(ui, |ui| {
            ui.label(in_panel);
            let _ = ui.button("button");
        });
        egui::Area::new(egui::Id::unique("over")).fixed_pos([10.0, 20.0]).show(ui.ctx(), |ui| {
            let dark = Color32::from_black_alpha(130);
            egui::Frame::new().fill(dark).show(ui, |ui| ui.label(over));
        });
    }

    #[test]
    fn layers_equal_a_single_pass_and_are_redrawn_only_after_changes() {
        for copies in [true, false] {
            compare(copies);
        }
    }

    fn compare(copies: bool) {
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).unwrap();
        let both = (&gpu.device, &gpu.queue);
        let context = Context::default();
        let mut egui = Renderer::new(&gpu.device, FORMAT, RendererOptions::default());
        let mut layers = Layers::new(&gpu.device, FORMAT, copies);
        let screen = ScreenDescriptor { size_in_pixels: SIZE, pixels_per_point: 1.0 };
        let blue = wgpu::LoadOp::Clear(wgpu::Color { r: 0.1, g: 0.3, b: 0.8, a: 1.0 });
        let mut drawn = Vec::new();
        // 40 frames, until areas have faded in.
        let first = std::iter::repeat_n(("a", "b"), 40);
        for (in_panel, over) in first.chain([("a", "c"), ("d", "c")]) {
            let size = egui::vec2(SIZE[0] as f32, SIZE[1] as f32);
            let input = egui::RawInput {
                screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
                ..Default::default()
            };
            let mut output = context.run_ui(input, |root| ui(root, in_panel, over));
            let fresh = !output.textures_delta.set.is_empty();
            for (id, deltas) in std::mem::take(&mut output.textures_delta.set) {
                for delta in &deltas {
                    egui.update_texture(&gpu.device, &gpu.queue, id, delta);
                }
            }
            output.textures_delta.clear();
            // Reference: everything in one pass.
            let texture = target(&gpu);
            let view = texture.create_view(&Default::default());
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            let jobs = context.tessellate(output.shapes.clone(), 1.0);
            egui.update_buffers(&gpu.device, &gpu.queue, &mut encoder, &jobs, &screen);
            let pass = begin_drawing(&mut encoder, "at once", &view, blue);
            egui.render(&mut pass.forget_lifetime(), &jobs, &screen);
            let expected = pixels(&gpu, encoder, &texture);
            // In layers.
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            let shapes = (output.shapes, fresh, 156.0);
            let changed = layers.draw(both, &mut encoder, &mut egui, &context, shapes, &screen);
            drawn.push(changed.unwrap());
            drop(begin_drawing(&mut encoder, "picture", &view, blue));
            layers.lay_over(both, &mut encoder, &texture, (96, None)).unwrap();
            let found = pixels(&gpu, encoder, &texture);
            let most = found.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(most <= Some(2), "off by {most:?} of 255");
            let blues = found.chunks(4).filter(|p| p[2] == 204).count();
            assert!(blues > 10_000 && blues < found.len() / 4 - 2000, "{blues} pixels of picture");
        }
        // The last two frames add new glyphs to egui's texture.
        assert_eq!(drawn[39], [false, false], "nothing has changed");
        assert!(drawn[0] == [true, true] && drawn[40][1] && drawn[41][0], "{drawn:?}");
    }

    #[test]
    fn lost_device_is_an_error() {
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).unwrap();
        let context = Context::default();
        let mut egui = Renderer::new(&gpu.device, FORMAT, RendererOptions::default());
        let mut layers = Layers::new(&gpu.device, FORMAT, false);
        let mut output = context.run_ui(egui::RawInput::default(), |root| ui(root, "a", "b"));
        output.textures_delta.clear();
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        gpu.device.destroy();
        let screen = ScreenDescriptor { size_in_pixels: SIZE, pixels_per_point: 1.0 };
        let (both, shapes) = ((&gpu.device, &gpu.queue), (output.shapes, true, 156.0));
        let drawn = layers.draw(both, &mut encoder, &mut egui, &context, shapes, &screen);
        assert!(matches!(drawn, Err(Error::Device(_))), "{drawn:?}");
    }
}
