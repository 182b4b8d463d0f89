// Each body's position on the curve.
//% include "tree/common.wgsl"
//% include "tree/hilbert.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> state: TreeState;
@group(0) @binding(2) var<storage, read_write> keys: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> order: array<u32>;
@group(0) @binding(4) var<uniform> params: TreeParams;

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
    order[i] = i;
    let position = bodies[i].xyz;
    if !is_somewhere(position) {
        // Out of range: the last key.
        keys[i] = vec2(0xffffffffu);
        return;
    }
    if exponent_of(position) >= bitcast<u32>(state.half) >> 23u {
        keys[i] = vec2(0xfffffffeu, 0xffffffffu);
        return;
    }
    keys[i] = key_of(intervals_of(position));
}
