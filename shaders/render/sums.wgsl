// Sums of light in whole numbers, three of 64 bits for each pixel: splat.wgsl, streak_splat.wgsl. Needs the sprite uniform.

const GROUP = 64u;
// Workgroups in a row of a dispatch of one thread a body.
const GROUPS_A_ROW = 1024u;
// Workgroups that share the large sprites.
const LARGE_GROUPS = 2048u;
// 128 times what a body can give (light_unit() in adding.rs), which may have the streaks of 64: what is larger is an infinity.
const MOST_UNITS: f32 = 8796093022208.0;
const WORD: f32 = 4294967296.0;
const PER_WORD: f32 = 2.3283064365386963e-10;
// Of a pixel: low and high for red, green and blue.
const WORDS = 6u;

@group(1) @binding(0) var<storage, read_write> sums: array<atomic<u32>>;

fn add(word: u32, value: f32) {
    let units = round(value * sprite.units_of_light);
    // Written so that NaN adds nothing.
    if !(units >= 1.0 && units <= MOST_UNITS) {
        return;
    }
    // Both exact: powers of two, and a difference of no more bits than `units` has.
    let high = u32(units * PER_WORD);
    let low = u32(units - f32(high) * WORD);
    let before = atomicAdd(&sums[word], low);
    let carried = high + u32(before + low < before);
    if carried > 0u {
        atomicAdd(&sums[word + 1u], carried);
    }
}

// The number of a pixel that is one.
fn index_of(pixel: vec2u) -> u32 {
    return pixel.y * u32(sprite.view.width_px) + pixel.x;
}

fn add_light(pixel: vec2u, light: vec3f) {
    let word = WORDS * index_of(pixel);
    add(word, light.r);
    add(word + 2u, light.g);
    add(word + 4u, light.b);
}
