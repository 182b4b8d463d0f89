// A body after its drift.
struct Drifted {
    position: vec4<f32>,
    velocity: vec3<f32>,
}

// A body that leaves the range of f32, because its step was too long, stays in place without mass and with NaN as its
// velocity: the host then reports it, and it does not affect others. Tested by bits, because compilers may assume that
// no number is NaN; `zero` is unknown to them.
fn drifted(position: vec4<f32>, velocity: vec3<f32>, time: f32, zero: u32) -> Drifted {
    let moved = fma(velocity, vec3(time), position.xyz);
    let infinite = vec3(0x7f800000u);
    if any((bitcast<vec3<u32>>(moved) & infinite) == infinite) {
        return Drifted(vec4(position.xyz, 0.0), vec3(bitcast<f32>(zero | 0x7fc00000u)));
    }
    return Drifted(vec4(moved, position.w), velocity);
}
