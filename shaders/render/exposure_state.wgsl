// The state of exposure and tone, for the passes that compute it and that use it. On the host:
// src/render/exposure_pass.rs and src/render/tone.rs.

//% include "render/smoothing.wgsl"

// The host's MapUniform.
struct MapUniform {
    // 0: none, 1: of intensities, 2: of means.
    kind: u32,
    light_from: f32,
    light_factor: f32,
    line_from: f32,
    line_factor: f32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
}

struct ToneUniform {
    background: vec3f,
    // How much darker the corners are, over the square of the picture's diagonal in pixels.
    vignette: f32,
    fixed_white_log2: f32,
    fixed_mid_log2: f32,
    // Brightening in powers of two.
    stops: f32,
    // Fractions of a change to follow, 0 to 1.
    follow_to_dark: f32,
    // 0 follows, 1 resets to this picture's levels, 2 uses the fixed levels.
    mode: u32,
    dither: u32,
    follow_to_bright: f32,
    tile_columns: u32,
    tile_rows: u32,
    pad: u32,
    // A pixel of the picture as a part of the smooth one's size.
    pixel_of_glow: vec2f,
    smoothing: Smoothing,
    map: MapUniform,
    // The palette of maps, linear RGB.
    scale: array<vec4f, 32>,
}

struct ExposureState {
    white_log2: f32,
    mid_log2: f32,
    // The tone curve, see src/render/tone.rs.
    slope: f32,
    scale: f32,
    // 1 once levels were found.
    primed: u32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
}
