//! The parameters of sprites, with one layout on the host and in `body_sprite.wgsl`.

use super::palette::SCALE_STEPS;

/// Number of components in a [`LookUniform`], as many as [`crate::bodies::Bodies`] may have.
pub const MAX_COMPONENTS: usize = 256;

/// One component's sprites; the same layout on the host and in `body_sprite.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ComponentLook {
    /// Peak intensity of a sprite of full size, linear RGB; 0 draws nothing.
    pub peak: [f32; 3],
    /// Radius at which a sprite's light ends, in units of the points' [`super::scale::Scale`]; in
    /// maps where the density of bodies is 1.
    pub radius_in_world: f32,
    /// Intensity without colour, for colour scales.
    pub white_peak: f32,
    /// 1 / mean mass of the component's bodies; 0 if all masses are 0.
    pub inverse_mean_mass: f32,
    /// 1 if bodies are coloured by birth radius, from old stars to `peak`; else 0.
    pub by_birth: f32,
    /// 1 for gas, else 0.
    pub is_gas: f32,
}

/// Sprite parameters that are constant throughout a film; one layout on the host and in
/// `body_sprite.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct LookUniform {
    /// 0 colours by component, 1 by speed, 2 by acceleration, 3 by age, 4 by density; 5 and 6 map
    /// the surface density, 7 the velocity along the line of sight.
    pub colour_by: u32,
    /// How much stars differ, 0 to 1.
    pub variety: f32,
    /// log2 of the colour scale's least value; of velocities the value.
    pub scale_from: f32,
    /// 1 / (log2 of the largest value, or that value, - `scale_from`).
    pub scale_factor: f32,
    /// How much more distant bodies are dimmed, 0 to 1.
    pub depth_cue: f32,
    /// Density of gas relative to its surroundings at which it begins to glow, in octaves.
    pub gas_from: f32,
    /// 1 / (log2 of the density at which it glows most - `gas_from`).
    pub gas_factor: f32,
    /// Bit mask: 1 if densities are known, 2 if dust is.
    pub medium: u32,
    /// The colour scale, linear RGB.
    pub scale: [[f32; 4]; SCALE_STEPS],
    /// One entry per component.
    pub components: [ComponentLook; MAX_COMPONENTS],
}
