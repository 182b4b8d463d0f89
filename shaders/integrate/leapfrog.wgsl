// Leapfrog, kick-drift-kick, one thread per body. The kick that ends a step and the kick that begins
// the next share one pass with the drift, which with the force makes two dispatches per step.
// The two kicks remain two additions, so that a run that pauses between steps gives the same bits.
// WGSL lets a compiler merge them, and Mesa does; an exclusive-or with an unknown zero in between
// prevents that.
//% include "body.wgsl"
//% include "integrate/drift.wgsl"

@group(0) @binding(0) var<storage, read_write> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> partial_sums: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> params: LeapfrogParams;

const WORKGROUP: u32 = {{ workgroup }}u;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let own = id.y * workgroups.x * WORKGROUP + id.x;
    if own >= params.count {
        return;
    }
    let i = params.first + own;
    var acceleration = accelerations[i];
    if params.slices > 0u {
        acceleration = partial_sums[own];
        for (var slice = 1u; slice < params.slices; slice += 1u) {
            acceleration += partial_sums[slice * params.count + own];
        }
        accelerations[i] = acceleration;
    }
    let old = velocities[i];
    var velocity = old.xyz;
    velocity = fma(acceleration.xyz, vec3(params.close_kick), velocity);
    velocity = bitcast<vec3<f32>>(bitcast<vec3<u32>>(velocity) ^ vec3(params.zero));
    velocity = fma(acceleration.xyz, vec3(params.open_kick), velocity);
    let next = drifted(positions[i], velocity, params.drift, params.zero);
    velocities[i] = vec4(next.velocity, old.w);
    positions[i] = next.position;
}
