//! Accumulating light by compute: integer sums in a buffer, which do not depend on the order.

use std::sync::OnceLock;

use super::adding::{GROUP, GROUPS_A_ROW, LARGE_GROUPS, list_bytes, sum_bytes};
use super::light::{HDR_FORMAT, light_formats, shader};
use super::streak_pass::StreakSplats;
use super::targets::Targets;
use super::trails::TRAIL_PART;
use crate::error::Result;
use crate::gpu::{
    Binding, Handles, begin_computing, bind, compute_pipeline, group_layout, new_buffer,
    uniform_buffer,
};

/// Side of the square of pixels that a workgroup converts from sums to light.
const RESOLVE_PX: u32 = 8;

/// Bytes per pixel of the trail: four floats.
const TRAIL_BYTES: u64 = 16;

/// The pipelines, and the buffers while light is accumulated by compute.
pub(crate) struct SplatPass {
    small: wgpu::ComputePipeline,
    large: wgpu::ComputePipeline,
    sprites_layout: wgpu::BindGroupLayout,
    sums_layout: wgpu::BindGroupLayout,
    trail_layout: wgpu::BindGroupLayout,
    /// One per light format.
    resolves: [Option<Resolve>; 2],
    buffers: Option<Buffers>,
    /// Created when streaks are first shown.
    streaks: Option<StreakSplats>,
}

struct Resolve {
    format: wgpu::TextureFormat,
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
    module: wgpu::ShaderModule,
    /// The variant with trails; compiled when they are first shown.
    trailing: OnceLock<wgpu::ComputePipeline>,
}

/// Sums for one picture and a list for the bodies. All sums and the list's length are 0 between
/// pictures.
struct Buffers {
    bodies: u32,
    #[cfg(not(target_arch = "wasm32"))]
    sums: wgpu::Buffer,
    #[cfg(not(target_arch = "wasm32"))]
    large: wgpu::Buffer,
    sums_group: wgpu::BindGroup,
    picture: wgpu::TextureView,
    picture_group: wgpu::BindGroup,
    /// Present only while trails are shown.
    trail: Option<Trail>,
}

/// The fading light of past pictures.
struct Trail {
    /// Holds a [`TrailUniform`].
    uniform: wgpu::Buffer,
    group: wgpu::BindGroup,
}

/// The same layout as in `splat.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct TrailUniform {
    retained: f32,
    shown: f32,
    pad: [f32; 2],
}

impl SplatPass {
    /// Builds the pipelines, whose first bind group has the layout of the sprites'. The device must
    /// be able to run them ([`super::Adding::check`]).
    pub fn new(gpu: Handles, sprites: &wgpu::BindGroupLayout) -> Result<Self> {
        use Binding::{Store, Uniform, Write};
        let layout_of = |label, bindings: &[Binding]| {
            group_layout(gpu.device, label, wgpu::ShaderStages::COMPUTE, bindings)
        };
        let sums_layout = layout_of("sums", &[Write, Write]);
        let trail_layout = layout_of("trail", &[Write, Uniform]);
        let module = shader(gpu.device, "splat", HDR_FORMAT)?;
        let adding = |entry| compute_pipeline(gpu.device, &module, entry, &[sprites, &sums_layout]);
        let [narrow, wide] = light_formats(gpu.device).map(|format| {
            let Some(format) = format else { return Ok(None) };
            let layout = layout_of("light", &[Store(format)]);
            let module = match format {
                HDR_FORMAT => module.clone(),
                _ => shader(gpu.device, "splat", format)?,
            };
            let layouts = [sprites, &sums_layout, &layout];
            let pipeline = compute_pipeline(gpu.device, &module, "resolve", &layouts);
            Ok(Some(Resolve { format, layout, pipeline, module, trailing: OnceLock::new() }))
        });
        Ok(Self {
            small: adding("small"),
            large: adding("large"),
            resolves: [narrow?, wide?],
            sprites_layout: sprites.clone(),
            sums_layout,
            trail_layout,
            buffers: None,
            streaks: None,
        })
    }

    /// Frees the buffers, when light is blended instead.
    pub fn forget(&mut self) {
        self.buffers = None;
        self.streaks = None;
    }

    /// Replaces the picture by the light of `count` bodies, which `sprites` binds, drawing one in
    /// `every`. If there is a trail, the fraction `retained` of it stays below them; if
    /// accelerations are given, streaks bend by them.
    pub fn draw(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        sprites: (&wgpu::BindGroup, u32, u32),
        retained: Option<f32>,
        streaks: Option<&wgpu::Buffer>,
    ) -> Result<()> {
        self.prepare(gpu, targets, sprites.1, retained)?;
        let streaks = self.prepare_streaks(gpu, encoder, streaks, sprites.1)?;
        let mut pass = begin_computing(encoder, "splats");
        self.add(&mut pass, sprites, streaks.as_ref());
        self.resolve(gpu, &mut pass, targets, sprites.0);
        Ok(())
    }

    /// Makes the buffers for a picture of `count` bodies.
    pub fn prepare(
        &mut self,
        gpu: Handles,
        targets: &Targets,
        count: u32,
        retained: Option<f32>,
    ) -> Result<()> {
        let Some(resolve) = find(&self.resolves, targets) else { return Ok(()) };
        let fits = |buffers: &Buffers| buffers.bodies >= count && buffers.picture == targets.hdr;
        let known = self.buffers.take().filter(fits);
        let mut buffers =
            known.unwrap_or_else(|| Buffers::new(gpu, &self.sums_layout, resolve, targets, count));
        match retained {
            Some(retained) => buffers.trail(gpu, &self.trail_layout, targets, retained),
            None => buffers.trail = None,
        }
        self.buffers = Some(buffers);
        Ok(())
    }

    /// The bind group of the streaks, if they are shown.
    pub fn prepare_streaks(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        accelerations: Option<&wgpu::Buffer>,
        count: u32,
    ) -> Result<Option<wgpu::BindGroup>> {
        let Some(accelerations) = accelerations else {
            if let Some(pass) = &mut self.streaks {
                pass.forget();
            }
            return Ok(None);
        };
        let pass = match &mut self.streaks {
            Some(pass) => pass,
            none => none.insert(StreakSplats::new(gpu, &self.sprites_layout, &self.sums_layout)?),
        };
        Ok(Some(pass.prepare(gpu, encoder, accelerations, count)))
    }

    /// Records the sums of the light of `count` bodies, one in `every` of them.
    pub fn add(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        (sprites, count, every): (&wgpu::BindGroup, u32, u32),
        streaks: Option<&wgpu::BindGroup>,
    ) {
        let Some(buffers) = &self.buffers else { return };
        pass.set_bind_group(0, sprites, &[]);
        pass.set_bind_group(1, &buffers.sums_group, &[]);
        pass.set_pipeline(&self.small);
        let groups = count.div_ceil(every).div_ceil(GROUP);
        pass.dispatch_workgroups(groups.min(GROUPS_A_ROW), groups.div_ceil(GROUPS_A_ROW), 1);
        pass.set_pipeline(&self.large);
        pass.dispatch_workgroups(LARGE_GROUPS, 1, 1);
        if let (Some(pipelines), Some(group)) = (&self.streaks, streaks) {
            pipelines.add(pass, group, count);
        }
    }

    /// Records what makes a picture of the sums.
    pub fn resolve(
        &self,
        gpu: Handles,
        pass: &mut wgpu::ComputePass<'_>,
        targets: &Targets,
        sprites: &wgpu::BindGroup,
    ) {
        let Some((resolve, buffers)) = find(&self.resolves, targets).zip(self.buffers.as_ref())
        else {
            return;
        };
        pass.set_bind_group(0, sprites, &[]);
        pass.set_bind_group(1, &buffers.sums_group, &[]);
        pass.set_bind_group(2, &buffers.picture_group, &[]);
        match &buffers.trail {
            Some(trail) => {
                pass.set_pipeline(self.trailing(gpu, resolve));
                pass.set_bind_group(3, &trail.group, &[]);
            }
            None => pass.set_pipeline(&resolve.pipeline),
        }
        let [columns, rows] =
            [targets.size.width(), targets.size.height()].map(|side| side.div_ceil(RESOLVE_PX));
        pass.dispatch_workgroups(columns, rows, 1);
    }

    /// The sums, `array<u64>` with four for each pixel, and the list of large sprites, whose first
    /// word is its length.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn sums(&self) -> Option<[&wgpu::Buffer; 2]> {
        self.buffers.as_ref().map(|buffers| [&buffers.sums, &buffers.large])
    }
}

/// What makes light of the sums in the format of these textures.
fn find<'a>(resolves: &'a [Option<Resolve>], targets: &Targets) -> Option<&'a Resolve> {
    resolves.iter().flatten().find(|resolve| resolve.format == targets.light_format)
}

impl SplatPass {
    /// The pipeline that mixes trails into light of one format.
    fn trailing<'a>(&'a self, gpu: Handles, resolve: &'a Resolve) -> &'a wgpu::ComputePipeline {
        let Resolve { layout, module, trailing, .. } = resolve;
        let layouts = [&self.sprites_layout, &self.sums_layout, layout, &self.trail_layout];
        trailing.get_or_init(|| compute_pipeline(gpu.device, module, "resolve_trailing", &layouts))
    }
}

impl Buffers {
    fn new(
        gpu: Handles,
        layout: &wgpu::BindGroupLayout,
        resolve: &Resolve,
        targets: &Targets,
        bodies: u32,
    ) -> Self {
        use wgpu::BufferUsages as Usage;
        let usage = Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC;
        let sums = new_buffer(gpu.device, "sums of light", sum_bytes(targets.size), usage);
        let large = new_buffer(gpu.device, "large sprites", list_bytes(bodies), usage);
        let bound = [&sums, &large].map(wgpu::Buffer::as_entire_binding);
        Self {
            bodies,
            sums_group: bind(gpu.device, "sums", layout, &bound),
            #[cfg(not(target_arch = "wasm32"))]
            sums,
            #[cfg(not(target_arch = "wasm32"))]
            large,
            picture_group: bind(
                gpu.device,
                "light",
                &resolve.layout,
                &[wgpu::BindingResource::TextureView(&targets.hdr)],
            ),
            picture: targets.hdr.clone(),
            trail: None,
        }
    }

    /// Sets the fraction of the trail that stays below the next picture. A new trail is replaced by
    /// the whole picture.
    fn trail(
        &mut self,
        gpu: Handles,
        layout: &wgpu::BindGroupLayout,
        targets: &Targets,
        retained: f32,
    ) {
        let retained = if self.trail.is_some() { retained } else { 0.0 };
        let trail = self.trail.get_or_insert_with(|| {
            let pixels = u64::from(targets.size.width()) * u64::from(targets.size.height());
            let storage = wgpu::BufferUsages::STORAGE;
            let light = new_buffer(gpu.device, "trail", TRAIL_BYTES * pixels, storage);
            let uniform = uniform_buffer(gpu.device, "trail uniform", size_of::<TrailUniform>());
            let bound = [&light, &uniform].map(wgpu::Buffer::as_entire_binding);
            Trail { group: bind(gpu.device, "trail", layout, &bound), uniform }
        });
        let uniform = TrailUniform { retained, shown: TRAIL_PART, pad: [0.0; 2] };
        gpu.queue.write_buffer(&trail.uniform, 0, bytemuck::bytes_of(&uniform));
    }
}
