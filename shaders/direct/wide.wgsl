// Number types for the motion of bodies, in every tier: `Wide` vectors and a `Span` of time.
//% if pairs
//% include "direct/pairs.wgsl"

// A time: a pair of f32.
struct Span {
    high: f32,
    low: f32,
}

fn plus(a: Wide, b: vec3<f32>) -> Wide {
    return sum(a, Wide(b, vec3<f32>()));
}

// Times a power of two.
fn scaled(a: Wide, by: f32) -> Wide {
    return Wide(a.high * by, a.low * by);
}

fn narrow(a: Wide) -> vec3<f32> {
    return a.high + a.low;
}

fn widened(a: vec3<f32>) -> Wide {
    return Wide(a, vec3<f32>());
}

// b - a, in full width.
fn rise(a: Wide, b: Wide) -> Wide {
    return sum(b, scaled(a, -1.0));
}

// Reduced to the bits of an f64, in which bodies are saved: a small lower part may have bits far below.
fn storable(a: Wide) -> Wide {
    let coarse = a.high * 7.450580596923828e-9;
    return Wide(a.high, rounded_sum_3(rounded_sum_3(a.low, coarse), -coarse));
}

const THIRD = Span(0.333333343267440796, -9.93410746256510417e-9);
const THIRTIETH = Span(0.0333333350718021393, -1.73846880594889323e-9);

// b - a.
fn change(a: Wide, b: Wide) -> vec3<f32> {
    return difference(a.high, a.low, b.high, b.low);
}

fn times(a: Wide, by: Span) -> Wide {
    let found = product(a, Wide(vec3(by.high), vec3(by.low)));
    let high = rounded_sum_3(found.high, found.low);
    return Wide(high, lost_3(found.high, found.low, high));
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

fn widened(a: vec3<f64>) -> Wide {
    return a;
}

fn rise(a: Wide, b: Wide) -> Wide {
    return b - a;
}

fn storable(a: Wide) -> Wide {
    return a;
}

const THIRD: f64 = 0.3333333333333333lf;
const THIRTIETH: f64 = 0.03333333333333333lf;

fn change(a: Wide, b: Wide) -> Wide {
    return b - a;
}

fn times(a: Wide, by: Span) -> Wide {
    return a * by;
}

fn short(t: Span) -> f64 {
    return t;
}
//% endif
