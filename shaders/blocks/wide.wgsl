// The numbers in which bodies are kept, whatever the tier: `Wide` vectors and a `Span` of time.
//% if pairs
// The unevaluated sum of two f32, the lower below half a unit in the last place of the higher.
struct Wide {
    high: vec3<f32>,
    low: vec3<f32>,
}

// Exact for times of 44 bits.
struct Span {
    high: f32,
    low: f32,
}

fn sum(a: Wide, b: Wide) -> Wide {
    let high = rounded_sum_3(a.high, b.high);
    let low = lost_3(a.high, b.high, high) + (a.low + b.low);
    let sum = rounded_sum_3(high, low);
    return Wide(sum, lost_3(high, low, sum));
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

// The leading 12 bits: products of two such are exact, with or without a fused multiply-add (Dekker).
fn head(x: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(x) & vec3(0xfffff000u));
}

fn times(a: Wide, by: Span) -> Wide {
    let by_high = vec3(by.high);
    let a_head = head(a.high);
    let by_head = head(by_high);
    let a_tail = a.high - a_head;
    let by_tail = by_high - by_head;
    let product = hide_1_3(a_head * by_head);
    let left = hide_1_3(a_head * by_tail);
    let right = hide_1_3(a_tail * by_head);
    let first = rounded_sum_3(product, left);
    let second = rounded_sum_3(first, right);
    let low = (lost_3(product, left, first) + lost_3(first, right, second))
        + (a_tail * by_tail + (a.high * by.low + a.low * by.high));
    let high = rounded_sum_3(second, low);
    return Wide(high, lost_3(second, low, high));
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
