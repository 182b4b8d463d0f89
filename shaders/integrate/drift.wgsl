// A body after its drift.
struct Drifted {
    position: vec4<f32>,
    velocity: vec3<f32>,
}

// One that leaves the numbers of f32, for which the step was too long, stays where it was, without mass, and its
// velocity is no number from then on: the host names it, and it takes nobody along. By bits, because compilers may take
// for granted that no number is NaN; `zero` is one that they do not know.
fn drifted(position: vec4<f32>, velocity: vec3<f32>, time: f32, zero: u32) -> Drifted {
    let moved = fma(velocity, vec3(time), position.xyz);
    let infinite = vec3(0x7f800000u);
    if any((bitcast<vec3<u32>>(moved) & infinite) == infinite) {
        return Drifted(vec4(position.xyz, 0.0), vec3(bitcast<f32>(zero | 0x7fc00000u)));
    }
    return Drifted(vec4(moved, position.w), velocity);
}
