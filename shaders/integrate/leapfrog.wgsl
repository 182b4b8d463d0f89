// Leapfrog, kick-drift-kick, one thread per body. The kick that ends a step and the kick that begins
// the next share one pass with the drift, which with the force makes two dispatches per step.
// The two kicks remain two additions, so that a run that pauses between steps gives the same bits.
// WGSL lets a compiler merge them, and Mesa does; an exclusive-or with an unknown zero in between
// prevents that. Between steps, w of an acceleration has the rests of position and velocity.
//% include "body.wgsl"
//% include "integrate/drift.wgsl"
//% if potentials
//% include "force/field.wgsl"
//% endif

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
    let last = accelerations[i];
    var acceleration = last.xyz;
    if params.slices > 0u {
        acceleration = partial_sums[own].xyz;
        for (var slice = 1u; slice < params.slices; slice += 1u) {
            acceleration += partial_sums[slice * params.count + own].xyz;
        }
        //% if potentials
        acceleration += external_acceleration(positions[i].xyz);
        //% endif
    }
    let old = velocities[i];
    let rests = unpacked(last.w);
    var velocity = Fine(old.xyz, rests.velocity);
    velocity = kicked(velocity, acceleration, params.close_kick, params.zero);
    velocity = kicked(velocity, acceleration, params.open_kick, params.zero);
    let next = drifted(positions[i], rests.position, velocity, params.drift, params.zero);
    velocities[i] = vec4(next.velocity, old.w);
    accelerations[i] = vec4(acceleration, next.rests);
    positions[i] = next.position;
}
