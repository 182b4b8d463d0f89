// The accelerations that bodies give each other, for the rule `acceleration`: those of the last step minus the external
// field's at the current positions. A strong field in them would raise the allowed error and make the tree coarser. Of
// the `count` bodies in `order`: a part of a tree has them at any places.
//% include "tree/common.wgsl"
//% include "force/field.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read_write> own: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> params: TreeParams;

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i < params.count {
        let body = order[i];
        own[body] = vec4(accelerations[body].xyz - external_acceleration(bodies[body].xyz), 0.0);
    }
}
