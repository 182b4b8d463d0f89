// The pulls of one source on two sinks, with the operations of `attract` in the same order. Columns are x, y and z of
// both: AMD's CDNA and VOPD have instructions for two numbers at once, which compilers rarely find in scalar code.
fn attract_both(
    sums: mat3x2<f32>,
    sinks: mat3x2<f32>,
    source: vec4<f32>,
    softening_squared: f32,
) -> mat3x2<f32> {
    let x = source.xx - sinks[0];
    let y = source.yy - sinks[1];
    let z = source.zz - sinks[2];
    let inverse = inverseSqrt(fma(z, z, fma(y, y, fma(x, x, vec2(softening_squared)))));
//% if one_mass
    let pull = inverse * (inverse * inverse);
//% else
    let pull = (source.w * inverse) * (inverse * inverse);
//% endif
    return mat3x2(fma(pull, x, sums[0]), fma(pull, y, sums[1]), fma(pull, z, sums[2]));
}
