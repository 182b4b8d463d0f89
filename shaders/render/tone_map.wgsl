// From linear light to the screen by the asinh curve of Lupton et al. (2004), colours kept.
// The CPU twin is src/render/tone.rs.

struct ToneUniform {
    background: vec3f,
    bloom: f32,
    fixed_white_log2: f32,
    fixed_mid_log2: f32,
    stops: f32,
    follow_to_dark: f32,
    mode: u32,
    dither: u32,
    follow_to_bright: f32,
    tile_columns: u32,
    tile_rows: u32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
}

struct ExposureState {
    white_log2: f32,
    mid_log2: f32,
    slope: f32,
    scale: f32,
    primed: u32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
}

// False where the bloom is off. A constant, because software renderers run both sides of a branch.
override HAS_GLOW: bool = true;

// Half floats end at 65504.
const LARGEST: f32 = 60000.0;
const BLEACH: f32 = 0.5;
// Part of the light taken from the glow where bodies are sparse, and where they are dense.
const SPARSE: f32 = 0.97;
const DENSE: f32 = 0.2;
const TILE_PX = 32u;

@group(0) @binding(0) var<uniform> tone: ToneUniform;
@group(0) @binding(1) var<storage, read> state: ExposureState;
@group(0) @binding(2) var hdr: texture_2d<f32>;
@group(0) @binding(3) var glow: texture_2d<f32>;
@group(0) @binding(4) var smoothly: sampler;
// The most light of any pixel in each tile.
@group(0) @binding(5) var<storage, read> tiles: array<f32>;

// Whether a tile is too dark to be told from the empty sky: less than a quarter of an 8-bit step.
fn is_dark(tile: u32) -> bool {
    // asinh(x) <= x, and one channel has at most three times the mean. NaN is not dark.
    let shown = state.slope * tiles[tile] * state.scale;
    return 3.0 * shown * shown < 0.25 / (255.0 * 12.92);
}

// Two triangles for each tile of 32 x 32 pixels. Most of a picture is empty sky, to which the target
// was cleared: tiles of it are put outside of clip space.
@vertex
fn vs_tile(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    let tile = vertex / 6u;
    let corner = vertex - 6u * tile;
    let row = tile / tone.tile_columns;
    let column = tile - row * tone.tile_columns;
    // The pattern is in the sky, too.
    if tone.dither == 0u && is_dark(tile) {
        return vec4f(2.0, 2.0, 2.0, 1.0);
    }
    let right = u32(corner == 1u || corner == 2u || corner == 4u);
    let lower = u32(corner == 2u || corner == 4u || corner == 5u);
    let size_px = textureDimensions(hdr);
    let place = vec2f(min(vec2u(column + right, row + lower) * TILE_PX, size_px)) / vec2f(size_px);
    return vec4f(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.5, 1.0);
}

fn intensity(pixel: vec4f) -> f32 {
    return (pixel.r + pixel.g + pixel.b) * (1.0 / 3.0);
}

fn bloom_weight(glow: vec4f, bloom: f32) -> f32 {
    let evenness = intensity(glow) / max(glow.a, 1e-20);
    return bloom * mix(SPARSE, DENSE, clamp((evenness - 0.35) * 1.8, 0.0, 1.0));
}

// The finished pixel, linear.
fn develop(position: vec2f) -> vec3f {
    var pixel = textureLoad(hdr, vec2u(position), 0);
    if HAS_GLOW {
        let quarter_px = vec2f(textureDimensions(glow));
        let glowing = textureSampleLevel(glow, smoothly, position * 0.25 / quarter_px, 0.0);
        pixel = mix(pixel, glowing, bloom_weight(glowing, tone.bloom));
    }
    let rgb = min(pixel.rgb, vec3f(LARGEST));
    let light = (rgb.r + rgb.g + rgb.b) * (1.0 / 3.0);
    let x = state.slope * light;
    let shown = min(log(x + sqrt(x * x + 1.0)) * state.scale, 1.0);
    let level = shown * shown;
    let bleach = BLEACH * level * shown;
    let shade = rgb * (level * (1.0 - bleach) / max(light, 1e-30)) + level * bleach;
    let gamut = 1.0 / max(max(shade.r, shade.g), max(shade.b, 1.0));
    return mix(shade * gamut, vec3f(1.0), tone.background);
}

// The fixed pattern that hides 8-bit steps (interleaved gradient noise, Jimenez 2014), in steps.
fn pattern(position: vec2f) -> f32 {
    let pixel = floor(position);
    return fract(52.982918 * fract(dot(pixel, vec2f(0.06711056, 0.00583715)))) - 0.5;
}

fn srgb_encode(linear: vec3f) -> vec3f {
    let curved = 1.055 * pow(max(linear, vec3f(1e-9)), vec3f(1.0 / 2.4)) - 0.055;
    return select(curved, 12.92 * linear, linear <= vec3f(0.0031308));
}

fn srgb_decode(encoded: vec3f) -> vec3f {
    let curved = pow((max(encoded, vec3f(0.0)) + 0.055) / 1.055, vec3f(2.4));
    return select(curved, encoded / 12.92, encoded <= vec3f(0.04045));
}

// Three entry points, for the same reason.

// For targets that encode themselves (...UnormSrgb).
@fragment
fn fs_linear(@builtin(position) position: vec4f) -> @location(0) vec4f {
    return vec4f(develop(position.xy), 1.0);
}

// The same with the pattern, which belongs to encoded values.
@fragment
fn fs_linear_dithered(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let encoded = srgb_encode(develop(position.xy));
    return vec4f(srgb_decode(encoded + pattern(position.xy) / 255.0), 1.0);
}

// For targets that hold encoded values (...Unorm), as egui's window does.
@fragment
fn fs_encoded(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let noise = select(0.0, pattern(position.xy) / 255.0, tone.dither != 0u);
    return vec4f(srgb_encode(develop(position.xy)) + noise, 1.0);
}
