// Vectors of pairs of f32, for what is computed in pairs throughout. Needs direct/arithmetic.wgsl.

// The unevaluated sum of two f32, the lower below half a unit in the last place of the higher.
struct Wide {
    high: vec3<f32>,
    low: vec3<f32>,
}

fn sum(a: Wide, b: Wide) -> Wide {
    let high = rounded_sum_3(a.high, b.high);
    let low = lost_3(a.high, b.high, high) + (a.low + b.low);
    let sum = rounded_sum_3(high, low);
    return Wide(sum, lost_3(high, low, sum));
}

// The leading 12 bits: products of two such are exact, with or without a fused multiply-add (Dekker).
fn head(x: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(x) & vec3(0xfffff000u));
}

// The low part may be some units in the last place of the high one. What the high one lost is exact in the order of
// Dekker (1971); the product itself is always hidden, lest it is formed a second time with another rounding.
fn product(a: Wide, b: Wide) -> Wide {
    let high = bitcast<vec3<f32>>(bitcast<vec3<u32>>(a.high * b.high) ^ vec3(params.zero));
    let a_head = head(a.high);
    let b_head = head(b.high);
    let a_tail = a.high - a_head;
    let b_tail = b.high - b_head;
    let most = hide_2_3(hide_2_3(a_head * b_head - high) + a_head * b_tail);
    let lost = hide_2_3(most + a_tail * b_head) + a_tail * b_tail;
    return Wide(high, lost + (a.high * b.low + a.low * b.high));
}
