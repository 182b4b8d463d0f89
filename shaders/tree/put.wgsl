// Copies the results of all devices from the order of the curve to the order of the bodies.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> answers: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read_write> partial_sums: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    // Bodies out of range have been marked already.
    if i < state.inside + state.outside {
        partial_sums[order[i]] = vec4(answers[i].xyz, 0.0);
    }
}
