// Integer times of two words, and their values as floats.
const LEVELS: u32 = 44u;
const NONE: u32 = 0xffffffffu;

fn is_zero(t: vec2<u32>) -> bool {
    return t.x == 0u && t.y == 0u;
}

fn same(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x == b.x && a.y == b.y;
}

fn plus_time(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn minus_time(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn is_after(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y > b.y || (a.y == b.y && a.x > b.x);
}

// The step of a level.
fn step_of(level: u32) -> vec2<u32> {
    let bit = LEVELS - level;
    return select(vec2(1u << (bit & 31u), 0u), vec2(0u, 1u << (bit & 31u)), bit >= 32u);
}

// The last multiple of a level's step up to t: where a body of that level stands.
fn multiple_of(level: u32, t: vec2<u32>) -> vec2<u32> {
    let bit = LEVELS - level;
    let mask = 0xffffffffu << (bit & 31u);
    return select(vec2(t.x & mask, t.y), vec2(0u, t.y & mask), bit >= 32u);
}

// The lowest level whose step divides t > 0: bodies of this level and above end a step at t.
fn level_at(t: vec2<u32>) -> u32 {
    let bit = select(countTrailingZeros(t.x), 32u + countTrailingZeros(t.y), t.x == 0u);
    return LEVELS - min(bit, LEVELS);
}
