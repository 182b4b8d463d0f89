// The pair function: Plummer-softened gravity of one source on one sink (GPU Gems 3, listing 31-1).
// 12 FP32 instructions and one reciprocal square root per acceleration, by convention counted as 20 flops. The squared
// softening is an argument: kept in a register, it is not read again in each iteration of a loop.

//% if guarded
// For softening of zero, or so small that 1/r^3 leaves the range of f32: a pair at distance 0 is left out,
// and no power beyond 1/r^2 is formed.
fn attract(sum: vec3<f32>, sink: vec3<f32>, source: vec4<f32>, softening_squared: f32) -> vec3<f32> {
    let towards = source.xyz - sink;
    let distance_squared = dot(towards, towards);
    let inverse = inverseSqrt(max(distance_squared + softening_squared, SMALLEST));
    let pull = select(0.0, source.w * inverse * inverse, distance_squared > 0.0);
    return fma(vec3(pull), towards * inverse, sum);
}
//% else
fn softened_square(towards: vec3<f32>, softening_squared: f32) -> f32 {
    return fma(towards.z, towards.z,
        fma(towards.y, towards.y, fma(towards.x, towards.x, softening_squared)));
}

fn attract(sum: vec3<f32>, sink: vec3<f32>, source: vec4<f32>, softening_squared: f32) -> vec3<f32> {
    let towards = source.xyz - sink;
    let inverse = inverseSqrt(softened_square(towards, softening_squared));
//% if one_mass
    // Sources of equal mass: only their sum is multiplied by it, one instruction less.
    let pull = inverse * (inverse * inverse);
//% else
    let pull = (source.w * inverse) * (inverse * inverse);
//% endif
    return fma(vec3(pull), towards, sum);
}
//% endif

// Smallest normal f32: keeps the reciprocal square root finite on devices that flush denormals.
const SMALLEST: f32 = 1.17549435e-38;

//% if potential
// The same pair's share of the potential; a body is left out of its own by number. The compiler computes the terms
// shared with the acceleration once.
fn potential_of(
    sum: f32,
    sink: vec3<f32>,
    source: vec4<f32>,
    softening_squared: f32,
    is_itself: bool,
) -> f32 {
    let towards = source.xyz - sink;
//% if guarded
    let softened = dot(towards, towards) + softening_squared;
    let inverse = select(inverseSqrt(max(softened, SMALLEST)), 0.0, is_itself || softened == 0.0);
//% else
    let inverse =
        select(inverseSqrt(softened_square(towards, softening_squared)), 0.0, is_itself);
//% endif
//% if one_mass
    return sum + inverse;
//% else
    return fma(-source.w, inverse, sum);
//% endif
}
//% endif
