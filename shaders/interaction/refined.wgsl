// Acceleration, jerk and snap from one source, all in pairs of f32, accurate to some 1e-13. The formulas of
// interaction/hermite.wgsl: A = P r, J = P (v - 3 alpha r), S = P (a - 6 alpha J / P - 3 beta r) with P = m / R^3.
struct Refined {
    potential: f32,
    // The size of the acceleration, and the part of its rounding due to positions: see NEARNESS.
    pull: f32,
    acceleration: Wide,
//% if order >= 1
    jerk: Wide,
//% endif
//% if order >= 2
    snap: Wide,
//% endif
}

// A position x is rounded to about 2^-49 x, which changes a pull over the distance R by 2^-49 x / R of itself. If R is
// this fraction of x, that equals all other rounding, some 1e-13. For bodies that fall onto each other only noise is
// left; it is not counted as noise, so that their steps still shrink.
const NEARNESS: f32 = 0.02;
const NEAREST: f32 = 1e4;

// The same number on all three axes: compilers compute it once.
fn on_each_axis(high: f32, low: f32) -> Wide {
    return Wide(vec3(high), vec3(low));
}

fn sum_of_axes(a: Wide) -> Wide {
    let plane = loose_sum(on_each_axis(a.high.x, a.low.x), on_each_axis(a.high.y, a.low.y));
    return loose_sum(plane, on_each_axis(a.high.z, a.low.z));
}

// b - a of two pairs; the more they cancel, the larger the lower part of the result.
fn loose_difference(a: vec3<f32>, a_low: vec3<f32>, b: vec3<f32>, b_low: vec3<f32>) -> Wide {
    let high = rounded_sum_3(b, -a);
    return Wide(high, lost_3(b, -a, high) + (b_low - a_low));
}

// `reach` is how far from the origin the sink is.
fn attract_refined(towards: Wide, mass: vec2<f32>, is_itself: bool, reach: f32
//% if order >= 1
    , velocity: Wide
//% endif
//% if order >= 2
    , acceleration: Wide
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
    // Multiplied by the mass first: y^3 alone would leave the range of f32 much earlier.
    let cube = product(multiple(on_each_axis(mass.x, mass.y), y), inverse_squared);
    let potential = -(mass.x * y.x) * fma(off.x, 0.5, 1.0);
    let strength = -potential * y.x;
    let pull = Wide(cube.high, fma(cube.high, off * fma(off, vec3(1.875), vec3(1.5)), cube.low));
    let size = fma(strength, min(NEARNESS * reach * y.x, NEAREST), strength);
//% if order >= 1
    let square = Wide(inverse_squared.high,
        fma(inverse_squared.high, fma(off, off, off), inverse_squared.low));
    let alpha = product(sum_of_axes(product(towards, velocity)), square);
    let minus_3_alpha = multiple(alpha, vec3(-3.0));
    let turned = loose_sum(velocity, product(minus_3_alpha, towards));
//% endif
//% if order >= 2
    let grows = loose_sum(sum_of_axes(product(velocity, velocity)), sum_of_axes(product(towards, acceleration)));
    let beta = loose_sum(product(grows, square), product(alpha, alpha));
    let minus_6_alpha = Wide(2.0 * minus_3_alpha.high, 2.0 * minus_3_alpha.low);
    let bent = loose_sum(loose_sum(acceleration, product(minus_6_alpha, turned)),
        product(multiple(beta, vec3(-3.0)), towards));
    return Refined(potential, size, product(pull, towards), product(pull, turned), product(pull, bent));
//% elif order >= 1
    return Refined(potential, size, product(pull, towards), product(pull, turned));
//% else
    return Refined(potential, size, product(pull, towards));
//% endif
}
