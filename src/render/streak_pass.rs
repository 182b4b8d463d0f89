//! Streaks on the device; see [`super::streaks`]. For both methods of [`super::Adding`].

use super::adding::{GROUP, GROUPS_A_ROW, LARGE_GROUPS, STREAK_GROUPS, STREAK_LANES};
use super::light::{HDR_FORMAT, LightPipelines, shader};
use crate::error::Result;
use crate::gpu::{
    ADD, Binding, GroupCache, Handles, bind, compute_pipeline, group_layout, new_buffer,
};

/// Bytes of the list of streaks, for the case that all bodies have one and all are large: two
/// counts of streaks, and two words each.
fn list_bytes(count: u32) -> u64 {
    8 * (u64::from(count.max(1)) + 1)
}

/// The blended pass, created when streaks are first shown.
pub(crate) struct StreakPass {
    pipelines: LightPipelines,
    layout: wgpu::BindGroupLayout,
    /// Keyed by the buffer of accelerations.
    groups: GroupCache<1>,
}

impl StreakPass {
    /// Builds the pipelines, whose first bind group has the layout of the sprites'.
    pub fn new(gpu: Handles, sprites: &wgpu::BindGroupLayout) -> Result<Self> {
        let vertex = wgpu::ShaderStages::VERTEX;
        let layout = group_layout(gpu.device, "streaks", vertex, &[Binding::Read]);
        let module = shader(gpu.device, "streak", HDR_FORMAT)?;
        let (entries, layouts) = (["vs_streak", "fs_streak"], [sprites, &layout]);
        let pipelines = LightPipelines::new(gpu, &module, entries, &layouts, ADD);
        Ok(Self { pipelines, layout, groups: GroupCache::new() })
    }

    /// Adds the streaks of `count` bodies, of `pieces` segments each, after the sprites in the same
    /// pass.
    pub fn draw(
        &mut self,
        gpu: Handles,
        pass: &mut wgpu::RenderPass<'_>,
        format: wgpu::TextureFormat,
        accelerations: &wgpu::Buffer,
        (count, pieces): (u32, u32),
    ) {
        let Some(pipeline) = self.pipelines.find(format) else { return };
        let group = self.groups.get([accelerations], |[accelerations]| {
            bind(gpu.device, "streaks", &self.layout, &[accelerations.as_entire_binding()])
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(1, &group, &[]);
        // With 2^27 bodies, which have two segments each, this fits a u32.
        pass.draw(0..3 * pieces * count, 0..1);
    }
}

/// The compute passes and their list of streaks, 8 bytes per body; created when streaks are first
/// shown.
pub(crate) struct StreakSplats {
    choose: wgpu::ComputePipeline,
    small: wgpu::ComputePipeline,
    large: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    list: Option<wgpu::Buffer>,
    groups: GroupCache<1>,
}

impl StreakSplats {
    /// Builds the pipelines, whose first bind groups have the layouts of the sprites' and of the
    /// sums.
    pub fn new(
        gpu: Handles,
        sprites: &wgpu::BindGroupLayout,
        sums: &wgpu::BindGroupLayout,
    ) -> Result<Self> {
        let bindings = [Binding::Read, Binding::Write];
        let layout = group_layout(gpu.device, "streaks", wgpu::ShaderStages::COMPUTE, &bindings);
        let module = shader(gpu.device, "streak_splat", HDR_FORMAT)?;
        let made = |entry| compute_pipeline(gpu.device, &module, entry, &[sprites, sums, &layout]);
        let names = ["choose_streaks", "small_streaks", "large_streaks"];
        let [choose, small, large] = names.map(made);
        Ok(Self { choose, small, large, layout, list: None, groups: GroupCache::new() })
    }

    /// Frees the list, when streaks are off.
    pub fn forget(&mut self) {
        self.list = None;
        self.groups.clear();
    }

    /// The bind group for these accelerations of `count` bodies, with an empty list.
    pub fn prepare(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        accelerations: &wgpu::Buffer,
        count: u32,
    ) -> wgpu::BindGroup {
        let bytes = list_bytes(count);
        let list = match self.list.take().filter(|list| list.size() >= bytes) {
            Some(list) => list,
            None => {
                self.groups.clear();
                let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
                new_buffer(gpu.device, "list of streaks", bytes, usage)
            }
        };
        encoder.clear_buffer(&list, 0, Some(8));
        let group = self.groups.get([accelerations], |[accelerations]| {
            let bound = [accelerations, &list].map(wgpu::Buffer::as_entire_binding);
            bind(gpu.device, "streaks", &self.layout, &bound)
        });
        self.list = Some(list);
        group
    }

    /// Adds the streaks to the sums, with bodies and sums bound in the pass.
    pub fn add(&self, pass: &mut wgpu::ComputePass<'_>, group: &wgpu::BindGroup, count: u32) {
        pass.set_bind_group(2, group, &[]);
        pass.set_pipeline(&self.choose);
        let groups = count.div_ceil(GROUP);
        pass.dispatch_workgroups(groups.min(GROUPS_A_ROW), groups.div_ceil(GROUPS_A_ROW), 1);
        pass.set_pipeline(&self.small);
        let groups = count.div_ceil(GROUP / STREAK_LANES);
        pass.dispatch_workgroups(groups.min(STREAK_GROUPS), 1, 1);
        pass.set_pipeline(&self.large);
        pass.dispatch_workgroups(LARGE_GROUPS, 1, 1);
    }
}
