// The acceleration of a sink by an accepted cell, and the potential there. s points from the sink to the centre of
// mass, Q are the second moments about it:
//   a = i^3 [ (m + i^2 (2.5 q i^2 - t)) s - i^2 v ],  v = 3 Q s,  q = v.s,  t = 1.5 trace Q,  i = 1 / sqrt(s.s + eps^2)
// The trace remains in Q: with softening it contributes.
//% if quadrupole
fn second_of(s: vec3<f32>, diagonal: vec3<f32>, beside: vec3<f32>) -> vec3<f32> {
    return vec3(
        fma(diagonal.x, s.x, fma(beside.x, s.y, beside.y * s.z)),
        fma(beside.x, s.x, fma(diagonal.y, s.y, beside.z * s.z)),
        fma(beside.y, s.x, fma(beside.z, s.y, diagonal.z * s.z)),
    );
}

fn pull_of(sum: vec3<f32>, sink: vec3<f32>, mass: vec4<f32>, diagonal: vec4<f32>, beside: vec4<f32>) -> vec3<f32> {
    //% if guarded
    // In multiples of the distance: no power beyond 1 / r^2 is formed.
    let towards = mass.xyz - sink;
    let inverse = inverseSqrt(max(dot(towards, towards) + params.softening_squared, SMALLEST));
    let s = towards * inverse;
    let squared = inverse * inverse;
    let v = second_of(s, diagonal.xyz, beside.xyz) * squared;
    let along = mass.w + fma(2.5, dot(v, s), -(diagonal.w * squared));
    return fma(vec3(squared), fma(vec3(along), s, -v), sum);
    //% else
    let s = mass.xyz - sink;
    let softened = fma(s.z, s.z, fma(s.y, s.y, fma(s.x, s.x, params.softening_squared)));
    let inverse = inverseSqrt(softened);
    let squared = inverse * inverse;
    let v = second_of(s, diagonal.xyz, beside.xyz);
    let q = fma(v.x, s.x, fma(v.y, s.y, v.z * s.z));
    let along = fma(squared, fma(2.5 * squared, q, -diagonal.w), mass.w);
    let cubed = squared * inverse;
    return fma(vec3(-(cubed * squared)), v, fma(vec3(cubed * along), s, sum));
    //% endif
}

fn cell_potential(sum: f32, sink: vec3<f32>, mass: vec4<f32>, diagonal: vec4<f32>, beside: vec4<f32>) -> f32 {
    let towards = mass.xyz - sink;
    let inverse = inverseSqrt(max(dot(towards, towards) + params.softening_squared, SMALLEST));
    let s = towards * inverse;
    let squared = inverse * inverse;
    let q = dot(second_of(s, diagonal.xyz, beside.xyz), s);
    return fma(-inverse, fma(squared, fma(0.5, q, -beside.w), mass.w), sum);
}
//% else
fn pull_of(sum: vec3<f32>, sink: vec3<f32>, mass: vec4<f32>) -> vec3<f32> {
    return attract(sum, sink, mass, params.softening_squared);
}

fn cell_potential(sum: f32, sink: vec3<f32>, mass: vec4<f32>) -> f32 {
    let towards = mass.xyz - sink;
    return fma(-mass.w, inverseSqrt(max(dot(towards, towards) + params.softening_squared, SMALLEST)), sum);
}
//% endif
