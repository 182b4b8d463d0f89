// Sums of light as integers, four of 64 bits per pixel, for splat.wgsl and streak_splat.wgsl. Needs the sprite uniform.

const GROUP = 64u;
// Workgroups in a row of a dispatch with one thread per body.
const GROUPS_A_ROW = 1024u;
// Workgroups that share the large sprites.
const LARGE_GROUPS = 2048u;
// 128 times the most light of a body (light_unit() in adding.rs), which may carry the streaks of 64. Anything larger is
// an infinity.
const MOST_UNITS: f32 = 8796093022208.0;
const WORD: f32 = 4294967296.0;
const PER_WORD: f32 = 2.3283064365386963e-10;
// Words per pixel: low and high for red, green, blue and the light as single stars.
const WORDS = 8u;

@group(1) @binding(0) var<storage, read_write> sums: array<atomic<u32>>;

fn add(word: u32, value: f32) {
    let units = round(value * sprite.units_of_light);
    // Written so that NaN adds nothing.
    if !(units >= 1.0 && units <= MOST_UNITS) {
        return;
    }
    // Both are exact: powers of two, and a difference with no more bits than `units`.
    let high = u32(units * PER_WORD);
    let low = u32(units - f32(high) * WORD);
    let before = atomicAdd(&sums[word], low);
    let carried = high + u32(before + low < before);
    if carried > 0u {
        atomicAdd(&sums[word + 1u], carried);
    }
}

// The number of a pixel inside the picture.
fn index_of(pixel: vec2u) -> u32 {
    return pixel.y * u32(sprite.view.width_px) + pixel.x;
}

fn add_light(pixel: vec2u, light: vec4f) {
    let word = WORDS * index_of(pixel);
    add(word, light.r);
    add(word + 2u, light.g);
    add(word + 4u, light.b);
    add(word + 6u, light.a);
}
