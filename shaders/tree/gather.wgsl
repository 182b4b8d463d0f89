// The tree's own copy of positions and masses, in the order of the curve.
//% if again
// The order is that of an earlier step.
//% endif
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read_write> sources: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> partial_sums: array<vec4<f32>>;
//% if keeps
// Where bodies are when the tree is built, for a run that resumes between two such steps.
@group(0) @binding(5) var<storage, read_write> built_at: array<vec4<f32>>;
@group(0) @binding(6) var<uniform> params: TreeParams;
//% else
@group(0) @binding(5) var<uniform> params: TreeParams;
//% endif

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i >= params.count {
        return;
    }
    let body = order[i];
    //% if keeps
    built_at[body] = bodies[body];
    //% endif
    //% if again
    // A body that has left the range since must not distort its cell.
    let is_known = i < state.inside + state.outside && is_somewhere(bodies[body].xyz);
    //% else
    let is_known = i < state.inside + state.outside;
    //% endif
    if is_known {
        sources[i] = bodies[body];
    } else {
        // Out of the range of f32: it attracts nothing, and its acceleration shows that it is lost.
        sources[i] = vec4(0.0);
        partial_sums[body] = vec4(bitcast<f32>(params.not_a_number));
    }
}
