// Automatic exposure on the device, without reading anything back. `meter` counts intensities, `adapt`
// derives levels and a tone curve from the counts. On the CPU: src/render/{exposure,tone}.rs.

//% include "render/exposure_state.wgsl"

const BINS = 256u;
const BINS_PER_OCTAVE: f32 = 8.0;
const LEAST_LOG2: f32 = -18.0;
const LIGHT_ABOVE_WHITE: f32 = 0.04;
const LIGHT_ABOVE_MID: f32 = 0.72;
const MID_TONE: f32 = 0.38;
const UNSEEN_LOG2: f32 = 0.05;
const FAR_LOG2: f32 = 2.0;
// The brightest single star, relative to the mean.
const MOST_LUCK: f32 = 32.0;

@group(0) @binding(0) var<uniform> tone: ToneUniform;
@group(0) @binding(1) var<storage, read_write> state: ExposureState;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>, BINS>;
// The shrunk picture and the smooth one.
@group(0) @binding(3) var base: texture_2d<f32>;
@group(0) @binding(4) var glow: texture_2d<f32>;
@group(0) @binding(6) var hdr: texture_2d<f32>;
// The most light of any pixel in a tile of 8 x 8 pixels of the shrunk picture, as the bits of an f32.
@group(0) @binding(5) var<storage, read_write> tiles: array<u32>;

var<workgroup> tile_counts: array<atomic<u32>, BINS>;
// The same for the four tiles that a workgroup covers.
var<workgroup> tile_light: array<atomic<u32>, 4>;

// The most light and the largest gain that the tone map may interpolate from the smooth picture around a pixel of
// the shrunk one: the corners are enough, as a tile's other neighbours are corners of pixels in it.
fn brightest_glow(pixel: vec2u, here: vec4f) -> vec2f {
    let last = textureDimensions(glow) - 1u;
    let before = max(pixel, vec2u(1u)) - 1u;
    let after = min(pixel + 1u, last);
    let a = max(here, textureLoad(glow, before, 0));
    let b = max(textureLoad(glow, after, 0), textureLoad(glow, vec2u(before.x, after.y), 0));
    let most = max(max(a, b), textureLoad(glow, vec2u(after.x, before.y), 0));
    return vec2f(intensity(most), most.a);
}

// One thread per pixel of the shrunk picture; counts within the workgroup first.
@compute @workgroup_size(16, 16)
fn meter(
    @builtin(global_invocation_id) pixel: vec3u,
    @builtin(local_invocation_index) bin: u32,
    @builtin(local_invocation_id) place: vec3u,
    @builtin(workgroup_id) group: vec3u,
) {
    atomicStore(&tile_counts[bin], 0u);
    if bin < 4u {
        atomicStore(&tile_light[bin], 0u);
    }
    workgroupBarrier();
    if all(pixel.xy < textureDimensions(base)) {
        let shrunk = textureLoad(base, pixel.xy, 0);
        let sharp = shrunk.a;
        let glowing = textureLoad(glow, pixel.xy, 0);
        var level = sharp;
        var brightest = vec2f(0.0, 1.0);
        if tone.smoothing.is_on != 0u {
            // Means, not the brightest of four blocks: these are noise, which depends on the picture's size.
            let weight = bloom_weight(glowing, tone.smoothing);
            level = mix(intensity(shrunk), intensity(glowing), weight) * glowing.a;
            brightest = brightest_glow(pixel.xy, glowing);
        }
        let counted = (log2(max(level, 1e-30)) - LEAST_LOG2) * BINS_PER_OCTAVE;
        atomicAdd(&tile_counts[u32(clamp(counted, 0.0, f32(BINS - 1u)))], 1u);
        // `sharp` is the mean of a block of pixels, one of which may hold all the light. Nonnegative floats
        // sort like their bits.
        let side_px = 1.0 + ceil(0.5 * shrink_factor(vec2f(textureDimensions(hdr))));
        let sharpest = side_px * side_px * sharp;
        let most = (max(sharpest, brightest.x) + tone.smoothing.stars * MOST_LUCK * sharpest) * brightest.y;
        atomicMax(&tile_light[place.x / 8u + place.y / 8u * 2u], bitcast<u32>(max(most, 0.0)));
    }
    workgroupBarrier();
    let tile = group.xy * 2u + vec2u(bin & 1u, bin >> 1u);
    if bin < 4u && all(tile < vec2u(tone.tile_columns, tone.tile_rows)) {
        tiles[tile.y * tone.tile_columns + tile.x] = atomicLoad(&tile_light[bin]);
    }
    let count = atomicLoad(&tile_counts[bin]);
    if count > 0u {
        atomicAdd(&counts[bin], count);
    }
}

fn light(bin: u32) -> f32 {
    let level = exp2((f32(bin) + 0.5) / BINS_PER_OCTAVE + LEAST_LOG2);
    return f32(atomicLoad(&counts[bin])) * level;
}

// log2 of the intensity above which the amount `wanted` of light lies.
fn level_below(wanted: f32) -> f32 {
    var above = 0.0;
    for (var bin = BINS - 1u; bin > 0u; bin--) {
        let here = light(bin);
        if above + here >= wanted && here > 0.0 {
            let rest = (wanted - above) / here;
            return (f32(bin) + 1.0 - rest) / BINS_PER_OCTAVE + LEAST_LOG2;
        }
        above += here;
    }
    return LEAST_LOG2;
}

fn arsinh(x: f32) -> f32 {
    return log(x + sqrt(x * x + 1.0));
}

// How much of a change to follow when `part` of it is wanted: hardly any of changes too small to be seen.
fn followed(change: f32, part: f32) -> f32 {
    if part >= 1.0 {
        return change;
    }
    let square = change * change;
    return clamp(change, -FAR_LOG2, FAR_LOG2) * part * square / (square + UNSEEN_LOG2 * UNSEEN_LOG2);
}

@compute @workgroup_size(1)
fn adapt() {
    var total = 0.0;
    for (var bin = 1u; bin < BINS; bin++) {
        total += light(bin);
    }
    if tone.mode == 1u {
        state.primed = 0u;
    }
    if tone.mode == 2u {
        state.white_log2 = tone.fixed_white_log2;
        state.mid_log2 = tone.fixed_mid_log2;
    } else if total > 0.0 {
        let white = level_below(LIGHT_ABOVE_WHITE * total);
        let mid = level_below(LIGHT_ABOVE_MID * total);
        // Before the first picture the state is undefined.
        if state.primed == 1u {
            let part = select(tone.follow_to_dark, tone.follow_to_bright, white > state.white_log2);
            state.white_log2 += followed(white - state.white_log2, part);
            state.mid_log2 += followed(mid - state.mid_log2, part);
        } else {
            state.white_log2 = white;
            state.mid_log2 = mid;
        }
        state.primed = 1u;
    } else if state.primed == 0u {
        state.white_log2 = 0.0;
        state.mid_log2 = -3.0;
    }
    for (var bin = 0u; bin < BINS; bin++) {
        atomicStore(&counts[bin], 0u);
    }

    // The softening that shows the mid level at MID_TONE, by bisection.
    let ratio = exp2(min(state.mid_log2 - state.white_log2, 0.0));
    var low = -3.0;
    var high = 22.0;
    for (var i = 0; i < 26; i++) {
        let middle = 0.5 * (low + high);
        let softening = exp2(middle);
        if arsinh(softening * ratio) > MID_TONE * arsinh(softening) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let softening = exp2(0.5 * (low + high));
    state.slope = softening * exp2(tone.stops - state.white_log2);
    state.scale = 1.0 / arsinh(softening);
}
