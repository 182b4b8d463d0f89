// The glow: shrink the picture by 4, halve it again and again, add every level to the next finer
// one on the way back. The CPU twin is src/render/glow.rs. Taps are bilinear where the format can be filtered.

@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var smoothly: sampler;

// One triangle over the whole target.
@vertex
fn vs_screen(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4f {
    return vec4f(f32(corner & 1u) * 4.0 - 1.0, f32(corner >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}

fn tap(place_px: vec2f, size_px: vec2f) -> vec4f {
    return textureSampleLevel(source, smoothly, place_px / size_px, 0.0);
}

// Mean colour of four sums of `pixels` pixels each; alpha is the largest mean intensity of the four.
fn mean_and_most(a: vec3f, b: vec3f, c: vec3f, d: vec3f, pixels: f32) -> vec4f {
    let sums = vec4f(a.r + a.g + a.b, b.r + b.g + b.b, c.r + c.g + c.b, d.r + d.g + d.b);
    let brightest = max(max(sums.x, sums.y), max(sums.z, sums.w)) / (3.0 * pixels);
    // What half floats hold, with room for the sums of the levels.
    return min(vec4f((a + b + c + d) / (4.0 * pixels), brightest), vec4f(60000.0));
}

// Mean colour of 4 x 4 pixels; alpha is the largest mean intensity of their 2 x 2 blocks.
@fragment
fn fs_shrink(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let corner = floor(position.xy) * 4.0;
    let a = tap(corner + vec2f(1.0, 1.0), size_px).rgb;
    let b = tap(corner + vec2f(3.0, 1.0), size_px).rgb;
    let c = tap(corner + vec2f(1.0, 3.0), size_px).rgb;
    let d = tap(corner + vec2f(3.0, 3.0), size_px).rgb;
    return mean_and_most(a, b, c, d, 1.0);
}

// Sum of 2 x 2 pixels, the picture's last ones repeated.
fn four(corner: vec2u, last: vec2u) -> vec3f {
    let near = min(corner, last);
    let far = min(corner + 1u, last);
    return textureLoad(source, near, 0).rgb + textureLoad(source, vec2u(far.x, near.y), 0).rgb
        + textureLoad(source, vec2u(near.x, far.y), 0).rgb + textureLoad(source, far, 0).rgb;
}

// The same of 32-bit floats, which are not filtered.
@fragment
fn fs_shrink_wide(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let last = textureDimensions(source) - 1u;
    let corner = vec2u(position.xy) * 4u;
    let a = four(corner, last);
    let b = four(corner + vec2u(2u, 0u), last);
    let c = four(corner + vec2u(0u, 2u), last);
    let d = four(corner + vec2u(2u, 2u), last);
    return mean_and_most(a, b, c, d, 4.0);
}

// Half the size by the binomial kernel 1 3 3 1 on each axis: two bilinear taps hold four pixels.
@fragment
fn fs_halve(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let centre = floor(position.xy) * 2.0 + 1.0;
    return 0.25 * (tap(centre + vec2f(-0.75, -0.75), size_px) + tap(centre + vec2f(0.75, -0.75), size_px)
        + tap(centre + vec2f(-0.75, 0.75), size_px) + tap(centre + vec2f(0.75, 0.75), size_px));
}

// Twice the size by a quadratic B-spline. An even pixel lies a quarter to the left of its coarse
// pixel's centre, an odd one to the right; the weights 9/32, 22/32, 1/32 make two taps an axis.
@fragment
fn fs_double(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let size_px = vec2f(textureDimensions(source));
    let here = floor(position.xy);
    let coarse = floor(here * 0.5);
    let side = (here - coarse * 2.0) * 2.0 - 1.0;
    let centre = coarse + 0.5;
    let near = centre + side * (9.0 / 31.0);
    let far = centre - side;
    let strong = 31.0 / 32.0;
    let weak = 1.0 / 32.0;
    return strong * strong * tap(near, size_px) + strong * weak * tap(vec2f(far.x, near.y), size_px)
        + weak * strong * tap(vec2f(near.x, far.y), size_px) + weak * weak * tap(far, size_px);
}
