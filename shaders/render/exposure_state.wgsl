// The state of exposure and tone, for the passes that compute it and that use it. On the host:
// src/render/exposure_pass.rs and src/render/tone.rs.

//% include "render/smoothing.wgsl"

struct ToneUniform {
    background: vec3f,
    vignette: f32,
    fixed_white_log2: f32,
    fixed_mid_log2: f32,
    // Brightening in powers of two.
    stops: f32,
    // Fractions of a change to follow, 0 to 1.
    follow_to_dark: f32,
    // 0 follows, 1 starts anew with this picture, 2 uses the fixed levels.
    mode: u32,
    dither: u32,
    follow_to_bright: f32,
    tile_columns: u32,
    tile_rows: u32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
    smoothing: Smoothing,
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
