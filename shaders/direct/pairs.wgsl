// Vectors of pairs of f32, for what is computed in pairs throughout. Needs direct/arithmetic.wgsl.

// The unevaluated sum of two f32, the lower below half a unit in the last place of the higher.
struct Wide {
    high: vec3<f32>,
    low: vec3<f32>,
}

// The same of a pair whose lower part has grown, up to the size of the higher one (Dekker's fast two-sum).
fn tidied(high: vec3<f32>, low: vec3<f32>) -> Wide {
    let sum = rounded_sum_3(high, low);
    return Wide(sum, rounded_sum_3(low, -rounded_sum_3(sum, -high)));
}

// The lower part may be some units in the last place of the higher one.
fn loose_sum(a: Wide, b: Wide) -> Wide {
    let high = rounded_sum_3(a.high, b.high);
    return Wide(high, lost_3(a.high, b.high, high) + (a.low + b.low));
}

fn sum(a: Wide, b: Wide) -> Wide {
    let loose = loose_sum(a, b);
    return tidied(loose.high, loose.low);
}

// Rounded on its own: a zero that the compiler cannot know keeps it from joining the product with a sum elsewhere.
fn rounded_product(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return fma(a, b, vec3(bitcast<f32>(params.zero)));
}

// What a b lost when it was rounded to `product`.
fn lost_product(a: vec3<f32>, b: vec3<f32>, product: vec3<f32>) -> vec3<f32> {
//% if fused
    // The device rounds an fma once.
    return fma(a, b, -product);
//% else
    // Exact in this order, whatever an fma is worth (Dekker 1971).
    let a_head = head(a);
    let b_head = head(b);
    let a_tail = a - a_head;
    let b_tail = b - b_head;
    let most = rounded_sum_3(fma(a_head, b_head, -product), a_head * b_tail);
    return fma(a_tail, b_tail, rounded_sum_3(most, a_tail * b_head));
//% endif
}
//% if not fused

// The leading 12 bits: products of two such are exact.
fn head(x: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(x) & vec3(0xfffff000u));
}
//% endif

fn multiple(a: Wide, by: vec3<f32>) -> Wide {
    let high = rounded_product(a.high, by);
    return Wide(high, fma(a.low, by, lost_product(a.high, by, high)));
}

fn product(a: Wide, b: Wide) -> Wide {
    let high = rounded_product(a.high, b.high);
    return Wide(high, fma(a.high, b.low, fma(a.low, b.high, lost_product(a.high, b.high, high))));
}
