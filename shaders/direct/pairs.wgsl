// Vectors of pairs of f32, for computations done entirely in pairs. Needs direct/arithmetic.wgsl.

// The unevaluated sum of two f32, the lower at most half a unit in the last place of the higher.
struct Wide {
    high: vec3<f32>,
    low: vec3<f32>,
}

// Renormalises a pair whose lower part has grown up to the size of the higher one (Dekker's fast two-sum).
fn tidied(high: vec3<f32>, low: vec3<f32>) -> Wide {
    let sum = rounded_sum_3(high, low);
    return Wide(sum, rounded_sum_3(low, -rounded_sum_3(sum, -high)));
}

// The lower part of the result may be a few units in the last place of the higher one.
fn loose_sum(a: Wide, b: Wide) -> Wide {
    let high = rounded_sum_3(a.high, b.high);
    return Wide(high, lost_3(a.high, b.high, high) + (a.low + b.low));
}

fn sum(a: Wide, b: Wide) -> Wide {
    let loose = loose_sum(a, b);
    return tidied(loose.high, loose.low);
}

// Rounded separately: a zero that the compiler cannot know keeps it from fusing the product with a later sum.
fn rounded_product(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return fma(a, b, vec3(bitcast<f32>(params.zero)));
}

// The rounding error of a b, rounded to `product`.
fn lost_product(a: vec3<f32>, b: vec3<f32>, product: vec3<f32>) -> vec3<f32> {
//% if fused
    // On devices that round an fma once.
    return fma(a, b, -product);
//% else
    // Exact in this order, however an fma is rounded (Dekker 1971).
    let a_head = head(a);
    let b_head = head(b);
    let a_tail = a - a_head;
    let b_tail = b - b_head;
    let most = rounded_sum_3(fma(a_head, b_head, -product), a_head * b_tail);
    return fma(a_tail, b_tail, rounded_sum_3(most, a_tail * b_head));
//% endif
}
//% if not fused

// The leading 12 bits: the product of two such numbers is exact.
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
