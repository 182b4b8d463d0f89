// The numbers in which bodies are kept, whatever the tier: `Wide` vectors and a `Span` of time.
//% if pairs
//% include "direct/pairs.wgsl"

// Exact for times of 44 bits.
struct Span {
    high: f32,
    low: f32,
}

fn plus(a: Wide, b: vec3<f32>) -> Wide {
    return sum(a, Wide(b, vec3<f32>()));
}

// By a power of two.
fn scaled(a: Wide, by: f32) -> Wide {
    return Wide(a.high * by, a.low * by);
}

fn narrow(a: Wide) -> vec3<f32> {
    return a.high + a.low;
}

// b - a.
fn change(a: Wide, b: Wide) -> vec3<f32> {
    return difference(a.high, a.low, b.high, b.low);
}

fn times(a: Wide, by: Span) -> Wide {
    let found = product(a, Wide(vec3(by.high), vec3(by.low)));
    let high = rounded_sum_3(found.high, found.low);
    return Wide(high, lost_3(found.high, found.low, high));
}

fn span(t: vec2<u32>) -> Span {
    let high = f32((t.y << 12u) | (t.x >> 20u)) * 1048576.0;
    return Span(high * block.tick, f32(t.x & 0xfffffu) * block.tick);
}

fn short(t: Span) -> f32 {
    return t.high + t.low;
}
//% else
alias Wide = vec3<f64>;
alias Span = f64;

fn sum(a: Wide, b: Wide) -> Wide {
    return a + b;
}

fn plus(a: Wide, b: Wide) -> Wide {
    return a + b;
}

fn scaled(a: Wide, by: f64) -> Wide {
    return a * by;
}

fn narrow(a: Wide) -> Wide {
    return a;
}

fn change(a: Wide, b: Wide) -> Wide {
    return b - a;
}

fn times(a: Wide, by: Span) -> Wide {
    return a * by;
}

fn span(t: vec2<u32>) -> Span {
    return (f64(t.y) * f64(4294967296.0) + f64(t.x)) * f64(block.tick);
}

fn short(t: Span) -> f64 {
    return t;
}
//% endif
