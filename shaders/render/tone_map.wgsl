// Maps linear light to the screen by the asinh curve of Lupton et al. (2004), which preserves colours.
// Reference implementation on the CPU: src/render/tone.rs.

//% include "render/exposure_state.wgsl"
//% include "render/srgb.wgsl"

// False if the smooth picture is left out. A constant, because software renderers run both sides of a branch.
override HAS_GLOW: bool = true;

// Whether a map is drawn for a target that holds encoded values.
override ENCODES: bool = false;

const SCALE_STEPS = 32u;
const MEAN_SPAN: f32 = 4.0;
// How much darker lines are than the map.
const LINE_SHADE: f32 = 0.65;
// Half floats end at 65504.
const LARGEST: f32 = 60000.0;
const BLEACH: f32 = 0.3;
const MOST_BLEACH: f32 = 0.8;
// Above this the brightest channel approaches 1 without reaching it.
const KNEE: f32 = 0.7;
// See tone.rs.
const RETURNED: f32 = 2.0;
const LUMINANCE = vec3f(0.2126, 0.7152, 0.0722);
// Side of a tile in pixels of the shrunk picture.
const TILE = 8u;

@group(0) @binding(0) var<uniform> tone: ToneUniform;
@group(0) @binding(1) var<storage, read> state: ExposureState;
@group(0) @binding(2) var hdr: texture_2d<f32>;
@group(0) @binding(3) var glow: texture_2d<f32>;
@group(0) @binding(4) var smoothly: sampler;
// The most light of any pixel in each tile.
@group(0) @binding(5) var<storage, read> tiles: array<f32>;

// Whether a tile is too dark to be distinguished from the empty sky: less than a quarter of an 8-bit step.
fn is_dark(tile: u32) -> bool {
    // asinh(x) <= x, and one channel has at most three times the mean. NaN is not dark.
    if tone.map.kind != 0u {
        return tiles[tile] < exp2(tone.map.light_from);
    }
    let shown = state.slope * tiles[tile] * state.scale;
    return 3.0 * shown * shown < 0.25 / (255.0 * 12.92);
}

fn is_dark_at(column: u32, row: u32) -> bool {
    return is_dark(row * tone.tile_columns + column);
}

// Two triangles for each tile, or for each block of 2 x 2 if none of them is dark: software shades blocks of 4 x 4
// pixels on the diagonal for both triangles (llvmpipe: the tone map takes a seventh less). Most of a picture is empty
// sky, the colour to which the target was cleared: such tiles are moved outside of clip space.
@vertex
fn vs_tile(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    let tile = vertex / 6u;
    let corner = vertex - 6u * tile;
    let row = tile / tone.tile_columns;
    let column = tile - row * tone.tile_columns;
    let first = vec2u(column, row) & vec2u(~1u);
    let last = min(first + 1u, vec2u(tone.tile_columns, tone.tile_rows) - 1u);
    let is_block = !(is_dark_at(first.x, first.y) || is_dark_at(last.x, first.y) || is_dark_at(first.x, last.y)
        || is_dark_at(last.x, last.y));
    let is_first = all(first == vec2u(column, row));
    if is_dark(tile) || (is_block && !is_first) {
        return vec4f(2.0, 2.0, 2.0, 1.0);
    }
    let side = select(1u, 2u, is_block);
    let right = u32(corner == 1u || corner == 2u || corner == 4u);
    let lower = u32(corner == 2u || corner == 4u || corner == 5u);
    let size_px = vec2f(textureDimensions(hdr));
    let corner_px = vec2f(vec2u(column + side * right, row + side * lower) * TILE) * shrink_factor(size_px);
    let place = min(corner_px, size_px) / size_px;
    return vec4f(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.5, 1.0);
}

// Natural logarithm for finite x >= 1, to 1e-6.
fn ln(x: f32) -> f32 {
    let bits = bitcast<i32>(x);
    // Mantissa between sqrt(1/2) and sqrt(2).
    let exponent = (bits - 0x3f3504f3) >> 23u;
    let t = bitcast<f32>(bits - (exponent << 23u)) - 1.0;
    let square = t * t;
    let low = t * (1.0000010 + t * (-0.5000115 + t * 0.3331467));
    let high = -0.2490829 + t * (0.2049176 + t * (-0.1868075 + t * 0.1193105));
    return f32(exponent) * 0.69314718 + low + square * square * high;
}

// The finished pixel, linear.
fn develop(position: vec2f) -> vec3f {
    // Alpha is the light as single stars.
    var pixel = min(textureLoad(hdr, vec2u(position), 0), vec4f(LARGEST));
    if HAS_GLOW {
        let glowing = textureSampleLevel(glow, smoothly, position * tone.pixel_of_glow, 0.0);
        let smooth_part = bloom_weight(glowing, tone.smoothing);
        let stars = star_weight(glowing, tone.smoothing);
        let brightness = pixel.a / max(intensity(pixel), 1e-30);
        let of_sharp = ((1.0 - smooth_part) * (1.0 - stars) + stars * brightness) * glowing.a;
        pixel = pixel * of_sharp + glowing * (smooth_part * (1.0 - stars) * glowing.a);
    }
    let rgb = min(pixel.rgb, vec3f(LARGEST));
    let light = (rgb.r + rgb.g + rgb.b) * (1.0 / 3.0);
    let x = state.slope * light;
    let shown = min(ln(x + sqrt(x * x + 1.0)) * state.scale, 2.0);
    let level = shown * shown;
    let bleach = min(BLEACH * level * shown, MOST_BLEACH);
    let shade = rgb * (level * (1.0 - bleach) / max(light, 1e-30)) + level * bleach;
    let most = max(max(shade.r, shade.g), shade.b);
    // tone.rs in two divisions instead of six: the shoulder is 1 - lost * most, and a + (1 - a) b / (1 + b) is
    // (a + b) / (1 + b). No channel of shade exceeds 5.6.
    let above = max(most - KNEE, 0.0);
    let lost = above * above / max((above + (1.0 - KNEE)) * most * most, 1e-30);
    let back = RETURNED * dot(shade, LUMINANCE) * lost;
    let over = 1.0 + shade * back;
    let others = over.yzx * over.zxy;
    let lit = shade * ((1.0 - lost * most + back) / (others.x * over.x)) * others;
    let aside = position * 2.0 - vec2f(textureDimensions(hdr));
    return mix(lit * (1.0 - tone.vignette * dot(aside, aside)), vec3f(1.0), tone.background);
}

// The fixed pattern that hides 8-bit steps (interleaved gradient noise, Jimenez 2014), in steps.
fn pattern(position: vec2f) -> f32 {
    let pixel = floor(position);
    return fract(52.982918 * fract(dot(pixel, vec2f(0.06711056, 0.00583715)))) - 0.5;
}

// Three entry points, for the same reason.

// For targets that do the encoding (...UnormSrgb).
@fragment
fn fs_linear(@builtin(position) position: vec4f) -> @location(0) vec4f {
    return vec4f(develop(position.xy), 1.0);
}

// The same with the pattern, which is defined on encoded values.
@fragment
fn fs_linear_dithered(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let linear = develop(position.xy);
    // The size of a step of encoded values there, to within a fifth: roots cost software less than powers.
    let step = max(1.95 * sqrt(linear), vec3f(1.0 / 12.92)) / 255.0;
    return vec4f(max(linear + step * pattern(position.xy), vec3f(0.0)), 1.0);
}

// For targets that hold encoded values (...Unorm), as egui's window does.
@fragment
fn fs_encoded(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let noise = select(0.0, pattern(position.xy) / 255.0, tone.dither != 0u);
    return vec4f(srgb_encode(develop(position.xy)) + noise, 1.0);
}

// Of a map: log2 of the pixel's intensity, and where its mean is along the palette.
fn map_values(pixel: vec2u) -> vec2f {
    let light = textureLoad(hdr, min(pixel, textureDimensions(hdr) - 1u), 0);
    let part = light.r / max(light.r + light.g, 1e-30);
    return vec2f(log2(max(intensity(light), 1e-30)), MEAN_SPAN * (part - 0.5) + 0.5);
}

fn map_line(values: vec2f) -> f32 {
    return tone.map.line_from + tone.map.line_factor * select(values.x, values.y, tone.map.kind == 2u);
}

// A map, with lines of equal value. The reference implementation is src/render/map.rs.
@fragment
fn fs_map(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = vec2u(position.xy);
    let here = map_values(pixel);
    let brightness = (here.x - tone.map.light_from) * tone.map.light_factor;
    let part = clamp(select(brightness, here.y, tone.map.kind == 2u), 0.0, 1.0);
    let along = part * f32(SCALE_STEPS - 1u);
    let first = min(u32(along), SCALE_STEPS - 2u);
    let own = mix(tone.scale[first].rgb, tone.scale[first + 1u].rgb, along - f32(first));
    let line = map_line(here);
    let change = abs(map_line(map_values(pixel + vec2u(1u, 0u))) - line)
        + abs(map_line(map_values(pixel + vec2u(0u, 1u))) - line);
    let apart = abs(line - floor(line + 0.5));
    // A pixel and a half wide; left out where noise would cover everything with lines.
    let drawn = clamp(1.5 - apart / max(change, 1e-6), 0.0, 1.0) * clamp(2.0 - 4.0 * change, 0.0, 1.0);
    let linear = mix(tone.background, own * (1.0 - LINE_SHADE * drawn), clamp(16.0 * brightness, 0.0, 1.0));
    return vec4f(select(linear, srgb_encode(linear), ENCODES), 1.0);
}

// A finished picture that was drawn with larger pixels.
@group(1) @binding(0) var larger: texture_2d<f32>;
// In x and y, pixels of it per pixel of the target.
@group(1) @binding(1) var<uniform> per_pixel: vec4f;

// Enlarged by the Catmull-Rom spline, as five bilinear taps: those at the corners have less than 2 % of the weight
// (Jimenez 2016, "Filmic SMAA").
@fragment
fn fs_enlarged(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let place = position.xy * per_pixel.xy;
    let middle = floor(place - 0.5) + 0.5;
    let t = place - middle;
    let before = t * (t * (1.0 - 0.5 * t) - 0.5);
    let here = t * t * (1.5 * t - 2.5) + 1.0;
    let next = t * (t * (2.0 - 1.5 * t) + 0.5);
    let after = t * t * (0.5 * t - 0.5);
    let both = here + next;
    let size = vec2f(textureDimensions(larger));
    let near = (middle + next / both) / size;
    let low = (middle - 1.0) / size;
    let high = (middle + 2.0) / size;
    let weights = vec4f(both.x * before.y, before.x * both.y, after.x * both.y, both.x * after.y);
    let centre = both.x * both.y;
    var sum = centre * textureSampleLevel(larger, smoothly, near, 0.0).rgb;
    sum += weights.x * textureSampleLevel(larger, smoothly, vec2f(near.x, low.y), 0.0).rgb;
    sum += weights.y * textureSampleLevel(larger, smoothly, vec2f(low.x, near.y), 0.0).rgb;
    sum += weights.z * textureSampleLevel(larger, smoothly, vec2f(high.x, near.y), 0.0).rgb;
    sum += weights.w * textureSampleLevel(larger, smoothly, vec2f(near.x, high.y), 0.0).rgb;
    return vec4f(max(sum / (centre + dot(weights, vec4f(1.0))), vec3f(0.0)), 1.0);
}
