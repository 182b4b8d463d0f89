// Acceleration and jerk by one source with all of it in pairs of f32, good to some 1e-13. The formulas of
// interaction/hermite.wgsl: A = P r, J = P (v - 3 alpha r) with P = m / R^3.
struct Refined {
    potential: f32,
    acceleration: Wide,
//% if order >= 1
    jerk: Wide,
//% endif
}

// A number for all three axes: compilers compute it once.
fn on_each_axis(high: f32, low: f32) -> Wide {
    return Wide(vec3(high), vec3(low));
}

fn sum_of_axes(a: Wide) -> Wide {
    let plane = loose_sum(on_each_axis(a.high.x, a.low.x), on_each_axis(a.high.y, a.low.y));
    return loose_sum(plane, on_each_axis(a.high.z, a.low.z));
}

// b - a of two pairs; as far as they cancel, the lower part of the result grows.
fn loose_difference(a: vec3<f32>, a_low: vec3<f32>, b: vec3<f32>, b_low: vec3<f32>) -> Wide {
    let high = rounded_sum_3(b, -a);
    return Wide(high, lost_3(b, -a, high) + (b_low - a_low));
}

fn attract_refined(towards: Wide, mass: vec2<f32>, is_itself: bool
//% if order >= 1
    , velocity: Wide
//% endif
) -> Refined {
    let softened = sum(sum_of_axes(product(towards, towards)),
        on_each_axis(params.softening_squared, params.softening_low));
    let at_once = softened.high.x;
    let y = vec3(select(inverseSqrt(at_once), 0.0, is_itself || at_once < SMALLEST));
    let inverse_squared = multiple(Wide(y, vec3<f32>()), y);
    // The driver's root y is a little off: R^-2 = y^2 / (1 - e) and R^-3 = y^3 (1 - e)^(-3/2) with e = 1 - R^2 y^2.
    let nearly_one = product(softened, inverse_squared);
    let off = rounded_sum_3(vec3(1.0), -nearly_one.high) - nearly_one.low;
    let cube = product(multiple(inverse_squared, y), on_each_axis(mass.x, mass.y));
    let potential = -(mass.x * y.x) * fma(off.x, 0.5, 1.0);
    let pull = Wide(cube.high, fma(cube.high, off * fma(off, vec3(1.875), vec3(1.5)), cube.low));
//% if order >= 1
    let square = Wide(inverse_squared.high,
        fma(inverse_squared.high, fma(off, off, off), inverse_squared.low));
    let alpha = product(sum_of_axes(product(towards, velocity)), square);
    let minus_3_alpha = multiple(alpha, vec3(-3.0));
    let turned = loose_sum(velocity, product(minus_3_alpha, towards));
    return Refined(potential, product(pull, towards), product(pull, turned));
//% else
    return Refined(potential, product(pull, towards));
//% endif
}
