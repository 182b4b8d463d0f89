//! The sprite pass: accumulates the light of bodies in the engine's own buffers into the HDR
//! picture, without a copy, by either method of [`Adding`].

use super::adding::{Adding, light_unit};
use super::ages::{Ages, missing_ages};
use super::camera::View;
use super::light::{HDR_FORMAT, LightPipelines, is_software, shader};
use super::look::Look;
use super::look_uniform::LookUniform;
use super::medium::MediumUniform;
use super::medium_pass::MediumPass;
use super::scale::Scale;
use super::splat::RadiusLimits;
use super::splat_pass::SplatPass;
use super::streak_pass::StreakPass;
use super::streaks::Reach;
#[cfg(not(target_arch = "wasm32"))]
use super::streaks::share::FEW;
use super::style::ColourBy;
use super::targets::Targets;
#[cfg(not(target_arch = "wasm32"))]
use super::together::{Shared, Together};
use crate::error::{Error, Result};
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::begin_computing;
use crate::gpu::{
    ADD, Binding, DARK, GroupCache, Handles, begin_drawing, bind, group_layout, new_buffer,
    uniform_buffer,
};

/// Per-frame uniforms; the same layout on the host and in `body_sprite.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct SpriteUniform {
    /// The camera.
    pub view: View,
    /// Least sprite radius in pixels.
    pub least_radius_px: f32,
    /// Largest sprite radius in pixels.
    pub most_radius_px: f32,
    /// See [`light_unit`].
    pub light_of_unit: f32,
    /// Its reciprocal.
    pub units_of_light: f32,
    /// Number of bodies.
    pub count: u32,
    /// See [`Reach`]; 0 without streaks.
    pub streak_reach: f32,
    /// The same for accelerations.
    pub streak_bend: f32,
    /// Segments per streak.
    pub streak_pieces: u32,
    /// See [`Reach::own_length`].
    pub streak_most: f32,
    /// See [`Look::every`].
    pub every: u32,
    /// How far the viewport reaches beyond the picture, for the rasteriser.
    pub guard_px: f32,
    /// Padding.
    pub pad: u32,
}

/// Bodies in device buffers, all of them STORAGE and at least `count` entries long.
#[derive(Clone, Copy)]
pub struct DevicePoints<'a> {
    /// `array<vec4<f32>>`: position and mass.
    pub pos_mass: &'a wgpu::Buffer,
    /// `array<vec4<f32>>`: velocity in the first three, [`crate::bodies::Bodies::tag`] in the
    /// fourth.
    pub velocity: &'a wgpu::Buffer,
    /// `array<vec4<f32>>`: acceleration in the first three. Needed to colour by it.
    pub acceleration: Option<&'a wgpu::Buffer>,
    /// Number of bodies.
    pub count: u32,
    /// The units of the numbers in the buffers.
    pub scale: Scale,
}

impl<'a> DevicePoints<'a> {
    /// Accelerations, or another buffer that is bound in their place and not read.
    fn streak_accelerations(&self) -> &'a wgpu::Buffer {
        self.acceleration.unwrap_or(self.pos_mass)
    }
}

/// The pipelines, their uniforms, and bind groups for recently used buffers.
pub struct SpritePass {
    pipelines: LightPipelines,
    splats: Option<SplatPass>,
    /// Created when streaks are first shown.
    streaks: Option<StreakPass>,
    layout: wgpu::BindGroupLayout,
    uniform: wgpu::Buffer,
    look: wgpu::Buffer,
    shown_look: Option<Box<LookUniform>>,
    groups: GroupCache<4>,
    /// Present only while densities or dust are shown.
    medium: Option<MediumPass>,
    /// 16 bytes per body, only while colours depend on ages.
    ages: Option<(Ages, wgpu::Buffer)>,
    /// For pictures that several devices paint together.
    #[cfg(not(target_arch = "wasm32"))]
    shared: Shared,
}

impl SpritePass {
    /// Builds the pipelines.
    pub fn new(gpu: Handles) -> Result<Self> {
        use Binding::{Read, Uniform};
        let both = wgpu::ShaderStages::VERTEX | wgpu::ShaderStages::COMPUTE;
        let bindings = [Uniform, Uniform, Read, Read, Read, Read];
        let layout = group_layout(gpu.device, "sprites", both, &bindings);
        let module = shader(gpu.device, "sprite", HDR_FORMAT)?;
        let entries = ["vs_sprite", "fs_sprite"];
        Ok(Self {
            pipelines: LightPipelines::new(gpu, &module, entries, &[&layout], ADD),
            splats: match Adding::many(gpu.device) {
                Some(_) => Some(SplatPass::new(gpu, &layout)?),
                None => None,
            },
            streaks: None,
            layout,
            uniform: uniform_buffer(gpu.device, "sprite uniform", size_of::<SpriteUniform>()),
            look: uniform_buffer(gpu.device, "look uniform", size_of::<LookUniform>()),
            shown_look: None,
            groups: GroupCache::new(),
            medium: None,
            ages: None,
            #[cfg(not(target_arch = "wasm32"))]
            shared: Default::default(),
        })
    }

    /// Writes the uniforms and makes the buffers for a picture of `all` bodies, of which `points`,
    /// with these ages if they are shown, are those on this device.
    fn prepare(
        &mut self,
        gpu: Handles,
        (points, all): (&DevicePoints, u32),
        ages: Option<&wgpu::Buffer>,
        (view, limits, look): (&View, RadiusLimits, &Look),
        medium: Option<&MediumUniform>,
    ) -> Result<Prepared> {
        let vectors = match look.style.colour_by {
            by if by.shows_velocities() => points.velocity,
            ColourBy::Acceleration => points.acceleration.ok_or_else(|| {
                let allowed = "one that the engine keeps a buffer of";
                Error::value("the colouring", "acceleration", allowed)
            })?,
            _ => ages.unwrap_or(points.velocity),
        };
        for (name, buffer) in [
            ("positions", points.pos_mass),
            ("velocities", points.velocity),
            ("velocities, accelerations or ages", vectors),
            ("accelerations", points.acceleration.unwrap_or(vectors)),
        ] {
            if buffer.size() < 16 * u64::from(points.count) {
                return Err(Error::value(
                    format!("the size of the buffer of {name}"),
                    format!("{} bytes", buffer.size()),
                    format!("at least 16 bytes for each of {} bodies", points.count),
                ));
            }
        }
        let has_accelerations = points.acceleration.is_some();
        let reach = Reach::new(look.streaks(), &points.scale, all, has_accelerations);
        let [least_radius_px, most_radius_px] = limits;
        let look_uniform = look.uniform_in(&points.scale);
        let every = look.every.max(1);
        let light_of_unit = light_unit(view, &look_uniform, limits);
        let guard_px = guard_px(gpu.device, view);
        let uniform = SpriteUniform {
            view: *view,
            least_radius_px,
            most_radius_px,
            light_of_unit,
            units_of_light: 1.0 / light_of_unit,
            count: points.count,
            streak_reach: reach.map_or(0.0, |reach| reach.of_velocity),
            streak_bend: reach.map_or(0.0, |reach| reach.of_acceleration),
            streak_pieces: reach.map_or(0, |reach| reach.pieces),
            streak_most: reach.map_or(0.0, |reach| reach.own_length),
            every,
            guard_px,
            pad: 0,
        };
        gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(&uniform));
        if self.shown_look.as_ref() != Some(&look_uniform) {
            gpu.queue.write_buffer(&self.look, 0, bytemuck::bytes_of(&*look_uniform));
            self.shown_look = Some(look_uniform);
        }
        let vectors = vectors.clone();
        // Bound in place of the surroundings, which are not read.
        let without = [points.pos_mass, &vectors, points.velocity, points.pos_mass];
        let bare = self.group(gpu, without);
        let group = match medium {
            Some(medium) => {
                let pass = match &mut self.medium {
                    Some(pass) => pass,
                    none => none.insert(MediumPass::new(gpu, &self.layout)?),
                };
                let found = pass.allocate(gpu, medium, points.count)?;
                self.group(gpu, [points.pos_mass, &vectors, points.velocity, &found])
            }
            None if self.medium.take().is_some() => {
                self.groups.clear();
                self.group(gpu, without)
            }
            None => bare.clone(),
        };
        Ok(Prepared { bare, group, reach, every, guard_px })
    }

    /// Draws `points` into the picture in linear light over black or a trail: with densities and
    /// dust in `medium` if the look shows them, and the fraction `retained` of the trail if there
    /// are trails and light is accumulated by compute; blended pictures get theirs from
    /// [`super::trail_pass`].
    ///
    /// # Errors
    ///
    /// Buffers too short for `points.count`, and colouring by acceleration or age without these.
    pub(crate) fn draw(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        points: DevicePoints,
        (view, limits, look): (&View, RadiusLimits, &Look),
        (medium, retained): (Option<&MediumUniform>, Option<f32>),
    ) -> Result<()> {
        self.upload_ages(gpu, look)?;
        let ages = self.ages.as_ref().map(|(_, buffer)| buffer.clone());
        let (setup, counted) = ((view, limits, look), (&points, points.count));
        let Prepared { bare, group, reach, every, guard_px } =
            self.prepare(gpu, counted, ages.as_ref(), setup, medium)?;
        if let (Some(pass), Some(medium)) = (&self.medium, medium) {
            pass.find(gpu, encoder, medium, &bare, points.count);
        }
        let accelerations = points.streak_accelerations();
        if targets.adding == Adding::Compute {
            let splats = splats(&mut self.splats, gpu, &self.layout)?;
            let streaks = reach.map(|_| accelerations);
            let sprites = (&group, points.count, every);
            return splats.draw(gpu, encoder, targets, sprites, retained, streaks);
        }
        if let Some(splats) = &mut self.splats {
            splats.forget();
        }
        if reach.is_some() && self.streaks.is_none() {
            self.streaks = Some(StreakPass::new(gpu, &self.layout)?);
        }
        let mut pass = begin_drawing(encoder, "sprites", &targets.hdr, DARK);
        let [width, height] = [view.width_px, view.height_px].map(|side| side + 2.0 * guard_px);
        pass.set_viewport(-guard_px, -guard_px, width, height, 0.0, 1.0);
        if let Some(pipeline) = self.pipelines.find(targets.light_format) {
            pass.set_pipeline(pipeline);
        }
        pass.set_bind_group(0, &group, &[]);
        // Buffers end below 2^31 bytes, or 2^27 bodies: three times that is a u32.
        pass.draw(0..3 * points.count.div_ceil(every), 0..1);
        if let (Some(streaks), Some(reach)) = (&mut self.streaks, reach) {
            let drawn = (points.count, reach.pieces);
            streaks.draw(gpu, &mut pass, targets.light_format, accelerations, drawn);
        }
        Ok(())
    }

    /// Adds up the light of `points` and of the other devices' bodies; on the first device, draws
    /// it into the picture as [`SpritePass::draw`] does, recorded into `encoder`. Returns whether
    /// it is the first. Targets must be those of [`Adding::Compute`].
    ///
    /// # Errors
    ///
    /// Those of [`SpritePass::draw`]; streaks that some bodies draw on behalf of others; a lost
    /// device; another device has failed.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn draw_together(
        &mut self,
        (gpu, encoder): (Handles, &mut wgpu::CommandEncoder),
        targets: &Targets,
        points: DevicePoints,
        (view, limits, look): (&View, RadiusLimits, &Look),
        (medium, retained): (Option<&MediumUniform>, Option<f32>),
        together: &mut Together<'_>,
    ) -> Result<bool> {
        if look.shares_streaks() {
            let allowed = format!("0 for more than {FEW} bodies on several devices");
            return Err(Error::value("the time of streaks", look.style.streak_time, allowed));
        }
        let (count, all, numbers) = (points.count, together.all, together.numbers);
        let new_encoder = || gpu.device.create_command_encoder(&Default::default());
        let mut adding = new_encoder();
        let ages = self.shared.ages(gpu, &mut adding, (look, numbers), count)?;
        let setup = (view, limits, look);
        let Prepared { bare, group, reach, every, .. } =
            self.prepare(gpu, (&points, all), ages.as_ref(), setup, medium)?;
        if let (Some(pass), Some(medium)) = (&self.medium, medium) {
            pass.gather(gpu, &mut adding, medium, &bare, count);
            if let Some(sums) = pass.sums(medium) {
                together.sum(gpu, std::mem::replace(&mut adding, new_encoder()), &sums)?;
            }
            pass.look_up(&mut adding, medium, &bare, count);
        }
        let is_first = together.is_first();
        let splats = splats(&mut self.splats, gpu, &self.layout)?;
        splats.prepare(gpu, targets, count, retained.filter(|_| is_first))?;
        let streaks = reach.map(|_| points.streak_accelerations());
        let streaks = splats.prepare_streaks(gpu, &mut adding, streaks, count)?;
        let mut pass = begin_computing(&mut adding, "splats");
        splats.add(&mut pass, (&group, count, every), streaks.as_ref());
        drop(pass);
        let Some([sums, large]) = splats.sums() else { return Ok(is_first) };
        adding.clear_buffer(large, 0, Some(4));
        together.sum_light(gpu, adding, sums, &mut self.shared)?;
        if is_first {
            let mut pass = begin_computing(encoder, "light");
            splats.resolve(gpu, &mut pass, targets, &group);
        }
        Ok(is_first)
    }

    /// Uploads the look's ages if colours show them; else frees their buffer.
    fn upload_ages(&mut self, gpu: Handles, look: &Look) -> Result<()> {
        if !look.shows_ages() {
            if self.ages.take().is_some() {
                self.groups.clear();
            }
            return Ok(());
        }
        let ages = look.ages.as_ref().ok_or_else(missing_ages)?;
        if matches!(&self.ages, Some((known, _)) if Ages::ptr_eq(known, ages)) {
            return Ok(());
        }
        let rows: Vec<[f32; 4]> = ages.iter().map(|&age| [age, 0.0, 0.0, 0.0]).collect();
        let size = 16 * rows.len().max(1) as u64;
        let limits = gpu.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if size > most {
            let allowed = format!("at most {} to be coloured by age on this device", most / 16);
            return Err(Error::value("the number of bodies", rows.len(), allowed));
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = new_buffer(gpu.device, "ages", size, usage);
        gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&rows));
        self.groups.clear();
        self.ages = Some((ages.clone(), buffer));
        Ok(())
    }

    /// The bind group for these buffers.
    fn group(&mut self, gpu: Handles, buffers: [&wgpu::Buffer; 4]) -> wgpu::BindGroup {
        self.groups.get(buffers, |[pos_mass, vectors, velocity, surroundings]| {
            let resources = [&self.uniform, &self.look, pos_mass, vectors, velocity, surroundings]
                .map(wgpu::Buffer::as_entire_binding);
            bind(gpu.device, "sprites", &self.layout, &resources)
        })
    }
}

/// What is bound for one picture.
struct Prepared {
    /// Bodies without their surroundings, and with them.
    bare: wgpu::BindGroup,
    group: wgpu::BindGroup,
    reach: Option<Reach>,
    every: u32,
    guard_px: f32,
}

/// How far the viewport reaches beyond the picture, for software adapters: llvmpipe sends all
/// vertices of a batch through a clipper if one of them is outside of the viewport (sprites of
/// 10,000 bodies at 1280x720 take 5.9 ms with it, 3.7 ms without). Triangles that reach further are
/// clipped.
fn guard_px(device: &wgpu::Device, view: &View) -> f32 {
    let longer_side = view.width_px.max(view.height_px);
    let most = device.limits().max_texture_dimension_2d as f32;
    match is_software(device) {
        true => (0.25 * longer_side).min(0.5 * (most - longer_side)),
        false => 0.0,
    }
}

/// The pass that adds up integers. It is not made yet if the device would not choose this method by
/// itself.
fn splats<'a>(
    made: &'a mut Option<SplatPass>,
    gpu: Handles,
    layout: &wgpu::BindGroupLayout,
) -> Result<&'a mut SplatPass> {
    match made {
        Some(splats) => Ok(splats),
        none => Ok(none.insert(SplatPass::new(gpu, layout)?)),
    }
}
