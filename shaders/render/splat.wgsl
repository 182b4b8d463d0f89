// The same picture as sprite.wgsl's, added up in compute shaders, for devices whose arithmetic is faster than their
// rasteriser. Sums are 64-bit integers, so that their order does not matter and each picture has the same bits on
// every run.

//% include "render/body_sprite.wgsl"
//% include "render/sums.wgsl"

// Sprites up to this radius are added by one thread, larger ones by a workgroup.
const SMALL_PX: f32 = 4.0;

struct Large {
    count: atomic<u32>,
    bodies: array<u32>,
}

@group(1) @binding(1) var<storage, read_write> large_sprites: Large;
@group(2) @binding(0) var picture: texture_storage_2d<{{ light_format }}, write>;

// Fading light behind moving bodies: see src/render/trails.rs.
struct Trailing {
    // Fraction of the trail that remains, and fraction of the picture that comes from the trail.
    kept: f32,
    shown: f32,
}

// The light of each pixel.
@group(3) @binding(0) var<storage, read_write> trail: array<vec4f>;
@group(3) @binding(1) var<uniform> trailing: Trailing;

fn add_pixel(pixel: vec2u, seen: BodySprite, inverse_square_radius: f32) {
    let part = profile(vec2f(pixel) + 0.5 - seen.centre_px, inverse_square_radius);
    add_light(pixel, vec4f(seen.peak, seen.star) * part);
}

// Pixels whose centres lie in the square around a sprite; the ends are exclusive.
struct Box {
    first: vec2u,
    end: vec2u,
}

fn box_of(seen: BodySprite) -> Box {
    let size_px = vec2f(sprite.view.width_px, sprite.view.height_px);
    let first = ceil(seen.centre_px - seen.radius_px - 0.5);
    let end = floor(seen.centre_px + seen.radius_px + 0.5);
    return Box(vec2u(clamp(first, vec2f(0.0), size_px)), vec2u(clamp(end, vec2f(0.0), size_px)));
}

// One thread per drawn body.
@compute @workgroup_size(GROUP)
fn small(@builtin(global_invocation_id) thread: vec3u) {
    let body = (thread.y * (GROUPS_A_ROW * GROUP) + thread.x) * sprite.every;
    if body >= sprite.count {
        return;
    }
    let seen = sprite_of(body);
    if seen.radius_px <= 0.0 {
        return;
    }
    if seen.radius_px > SMALL_PX {
        large_sprites.bodies[atomicAdd(&large_sprites.count, 1u)] = body;
        return;
    }
    let pixels = box_of(seen);
    let inverse_square_radius = 1.0 / (seen.radius_px * seen.radius_px);
    for (var y = pixels.first.y; y < pixels.end.y; y++) {
        for (var x = pixels.first.x; x < pixels.end.x; x++) {
            add_pixel(vec2u(x, y), seen, inverse_square_radius);
        }
    }
}

// One workgroup per sprite, whose pixels its threads share. The order of the list differs from run to run.
@compute @workgroup_size(GROUP)
fn large(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let count = atomicLoad(&large_sprites.count);
    for (var at = group.x; at < count; at += LARGE_GROUPS) {
        let seen = sprite_of(large_sprites.bodies[at]);
        let pixels = box_of(seen);
        let size = max(pixels.end, pixels.first) - pixels.first;
        let inverse_square_radius = 1.0 / (seen.radius_px * seen.radius_px);
        for (var i = thread; i < size.x * size.y; i += GROUP) {
            let row = i / size.x;
            let pixel = pixels.first + vec2u(i - row * size.x, row);
            add_pixel(pixel, seen, inverse_square_radius);
        }
    }
}

fn take(word: u32) -> f32 {
    let low = f32(atomicLoad(&sums[word]));
    let high = f32(atomicLoad(&sums[word + 1u]));
    atomicStore(&sums[word], 0u);
    atomicStore(&sums[word + 1u], 0u);
    return (high * WORD + low) * sprite.light_of_unit;
}

fn is_one(pixel: vec2u) -> bool {
    return all(pixel < vec2u(u32(sprite.view.width_px), u32(sprite.view.height_px)));
}

// Converts the sums to light and clears them for the next picture.
fn light_of(pixel: vec2u) -> vec4f {
    if all(pixel == vec2u(0u)) {
        atomicStore(&large_sprites.count, 0u);
    }
    let word = WORDS * index_of(pixel);
    return vec4f(take(word), take(word + 2u), take(word + 4u), take(word + 6u));
}

// Half floats end at 65504, and an infinity in a trail would never fade.
const LARGEST = vec4f(60000.0);

fn paint(pixel: vec2u, light: vec4f) {
//% if light_format == "rgba16float"
    textureStore(picture, pixel, min(light, LARGEST));
//% else
    textureStore(picture, pixel, light);
//% endif
}

// One thread per pixel.
@compute @workgroup_size(8, 8)
fn resolve(@builtin(global_invocation_id) pixel: vec3u) {
    if is_one(pixel.xy) {
        paint(pixel.xy, light_of(pixel.xy));
    }
}

// The same over trails. Done here, not in separate passes (trail.wgsl): devices made for arithmetic may have a
// rasteriser so small that two passes over the picture take longer than a million bodies.
@compute @workgroup_size(8, 8)
fn resolve_trailing(@builtin(global_invocation_id) pixel: vec3u) {
    if !is_one(pixel.xy) {
        return;
    }
    let light = light_of(pixel.xy);
    let at = index_of(pixel.xy);
    let after = min(light, LARGEST) * (1.0 - trailing.kept) + trail[at] * trailing.kept;
    trail[at] = after;
    paint(pixel.xy, after * trailing.shown + light * (1.0 - trailing.shown));
}
