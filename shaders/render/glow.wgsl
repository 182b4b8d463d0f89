// Smoothing and glow: shrinks the picture, halves it repeatedly and, on the way back, mixes every level over the result
// of the coarser ones. Reference implementation on the CPU: src/render/glow.rs. Taps are bilinear if the format can be
// filtered.

//% include "render/smoothing.wgsl"

// The share of a finer level that is mixed in where there are very many bodies.
const MOST_PART: f32 = 0.97;
// Side in pixels of the shrunk picture of a level that is always shown: no haze is wider.
const WIDEST: f32 = 32.0;
// See glow.rs.
const LEAST_VOID: f32 = 4.0;
const VOID: f32 = 0.14;
const LEAST_SHARPENING: f32 = 0.5;
const MOST_SHARPENING: f32 = 1.5;

@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var smoothly: sampler;
// The finer level, for fs_refine, and the shrunk picture, which sizes are relative to.
@group(1) @binding(0) var own: texture_2d<f32>;
@group(1) @binding(1) var base: texture_2d<f32>;
@group(1) @binding(2) var<uniform> smoothing: Smoothing;
// The level next coarser than `own`.
@group(1) @binding(3) var wider: texture_2d<f32>;

// One triangle over the whole target.
@vertex
fn vs_screen(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4f {
    return vec4f(f32(corner & 1u) * 4.0 - 1.0, f32(corner >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}

fn tap(place_px: vec2f, size_px: vec2f) -> vec4f {
    return textureSampleLevel(source, smoothly, place_px / size_px, 0.0);
}

// Mean colour of four means; alpha is the largest mean intensity of the four.
fn mean_and_most(a: vec3f, b: vec3f, c: vec3f, d: vec3f) -> vec4f {
    let sums = vec4f(a.r + a.g + a.b, b.r + b.g + b.b, c.r + c.g + c.b, d.r + d.g + d.b);
    let brightest = max(max(sums.x, sums.y), max(sums.z, sums.w)) * (1.0 / 3.0);
    // The range of half floats, with room for the sums of the levels.
    return min(vec4f((a + b + c + d) * 0.25, brightest), vec4f(60000.0));
}

// Mean colour of 4 x 4 pixels by four taps, for pictures of 720 lines.
@fragment
fn fs_shrink_by_4(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let corner = floor(position.xy) * 4.0;
    let a = tap(corner + vec2f(1.0, 1.0), size_px).rgb;
    let b = tap(corner + vec2f(3.0, 1.0), size_px).rgb;
    let c = tap(corner + vec2f(1.0, 3.0), size_px).rgb;
    let d = tap(corner + vec2f(3.0, 3.0), size_px).rgb;
    return mean_and_most(a, b, c, d);
}

// Sum of 2 x 2 pixels, with the pixels at the picture's end repeated.
fn four(corner: vec2u, last: vec2u) -> vec3f {
    let near = min(corner, last);
    let far = min(corner + 1u, last);
    return textureLoad(source, near, 0).rgb + textureLoad(source, vec2u(far.x, near.y), 0).rgb
        + textureLoad(source, vec2u(near.x, far.y), 0).rgb + textureLoad(source, far, 0).rgb;
}

// The same for 32-bit floats, which are not filtered.
@fragment
fn fs_shrink_wide_by_4(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let last = textureDimensions(source) - 1u;
    let corner = vec2u(position.xy) * 4u;
    let a = four(corner, last) * 0.25;
    let b = four(corner + vec2u(2u, 0u), last) * 0.25;
    let c = four(corner + vec2u(0u, 2u), last) * 0.25;
    let d = four(corner + vec2u(2u, 2u), last) * 0.25;
    return mean_and_most(a, b, c, d);
}

// Mean of a block's pixels, weighted by coverage, with the pixels at the picture's end repeated.
fn block(which: vec2u, length: f32, last: vec2u) -> vec3f {
    let low = vec2f(which) * length;
    let high = vec2f(which + 1u) * length;
    let per_length = 1.0 / (high - low);
    let end = vec2u(ceil(high));
    var sum = vec3f(0.0);
    for (var y = u32(low.y); y < end.y; y++) {
        let along = (min(high.y, f32(y + 1u)) - max(low.y, f32(y))) * per_length.y;
        for (var x = u32(low.x); x < end.x; x++) {
            let across = (min(high.x, f32(x + 1u)) - max(low.x, f32(x))) * per_length.x;
            sum += textureLoad(source, min(vec2u(x, y), last), 0).rgb * (along * across);
        }
    }
    return sum;
}

// For a picture of any size, in either format.
@fragment
fn fs_shrink(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size = textureDimensions(source);
    let length = 0.5 * shrink_factor(vec2f(size));
    let first = vec2u(position.xy) * 2u;
    let a = block(first, length, size - 1u);
    let b = block(first + vec2u(1u, 0u), length, size - 1u);
    let c = block(first + vec2u(0u, 1u), length, size - 1u);
    let d = block(first + vec2u(1u, 1u), length, size - 1u);
    return mean_and_most(a, b, c, d);
}

// Halves the size by the binomial kernel 1 3 3 1 on each axis: two bilinear taps cover four pixels.
@fragment
fn fs_halve(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let centre = floor(position.xy) * 2.0 + 1.0;
    return 0.25 * (tap(centre + vec2f(-0.75, -0.75), size_px) + tap(centre + vec2f(0.75, -0.75), size_px)
        + tap(centre + vec2f(-0.75, 0.75), size_px) + tap(centre + vec2f(0.75, 0.75), size_px));
}

// Doubles the size by a quadratic B-spline. An even pixel lies a quarter to the left of its coarse pixel's centre, an
// odd one to the right: the weights are 9/32, 22/32 and 1/32. These are 9/10 of a linear tap 10/32 from the centre on
// the pixel's own side and 1/10 of its mirror image, which is the tap of the other pixel. Derivatives compare the two,
// since quads begin at even pixels (llvmpipe: the glow takes 3.5 ms at 1280x720, and 4.5 ms with four taps).
fn doubled(coarser: texture_2d<f32>, position: vec2f) -> vec4f {
    let coarse = floor(position * 0.5);
    let side = 2.0 * (floor(position) - 2.0 * coarse) - 1.0;
    let place = coarse + 0.5 + side * (10.0 / 32.0);
    let tap = textureSampleLevel(coarser, smoothly, place / vec2f(textureDimensions(coarser)), 0.0);
    let row = tap - 0.1 * side.x * dpdxFine(tap);
    return row - 0.1 * side.y * dpdyFine(row);
}

// Mixes the finer level over the result of the coarser ones: the more bodies its pixels hold, the larger its share.
// Alpha is the second scale of exposure, the gain of the neighbourhood.
@fragment
fn fs_refine(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let coarse = doubled(source, position.xy);
    let unsharp = textureLoad(own, vec2u(position.xy), 0);
    // Corrects for the width of the kernel; see glow.rs.
    let excess = intensity(unsharp) - intensity(doubled(wider, position.xy));
    let factor = 1.0 + excess / max(3.0 * intensity(unsharp), 1e-30);
    let fine = unsharp.rgb * clamp(factor, LEAST_SHARPENING, MOST_SHARPENING);
    let sides = vec2f(textureDimensions(base)) / vec2f(textureDimensions(own));
    // Sizes of levels are rounded up: finds the intended power of two.
    let cell = exp2(round(log2(max(sides.x, sides.y))));
    let crowded = smoothing.crowding * (cell * cell);
    let least = min(max(smoothing.least_part, cell / WIDEST), MOST_PART);
    // Less light than the chance of the number of bodies explains is an edge.
    let lacking = max(intensity(coarse) - (fine.r + fine.g + fine.b) * (1.0 / 3.0), 0.0);
    let square = select(0.0, lacking * lacking * crowded, cell >= LEAST_VOID);
    let void_part = square / max(square + VOID * intensity(coarse), 1e-30);
    let part = max(enough(intensity(coarse) * crowded), void_part);
    let light = mix(coarse.rgb, fine, mix(least, MOST_PART, part));
    let neighbourhood = (light.r + light.g + light.b) * (1.0 / 3.0) + smoothing.dimmest;
    let gain = exp2(-smoothing.evenness * log2(neighbourhood));
    return vec4f(light, select(coarse.a, gain, cell >= smoothing.neighbourhood));
}

// Enlarges the smooth picture by a quadratic B-spline: two bilinear taps per axis cover its three pixels.
@fragment
fn fs_enlarge(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let place = position.xy / smoothing.enlarged;
    let middle = floor(place) + 0.5;
    let aside = place - middle;
    var sum = vec4f(0.0);
    for (var i = 0u; i < 4u; i++) {
        let side = vec2f(vec2u(i & 1u, i >> 1u)) * 2.0 - 1.0;
        let near = 1.0 + side * aside;
        let reach = 0.5 + side * aside;
        let at = middle + side * reach * reach / near;
        sum += 0.25 * near.x * near.y * tap(at, size_px);
    }
    return sum;
}
