// Makes the records of single sinks for groups that are scattered only by the bodies of other ranks. `tree/groups.wgsl`
// does the same for those that this rank's bodies make scattered.
//% include "tree/common.wgsl"
//% include "tree/sinks.wgsl"
//% include "tree/felt.wgsl"

@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: TreeState;
@group(0) @binding(4) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> groups: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> scattered: array<u32>;
@group(0) @binding(7) var<uniform> params: TreeParams;

var<workgroup> place: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let k = workgroup.y * workgroups.x + workgroup.x;
    if k >= params.count {
        return;
    }
    let group = scattered[k];
    if thread == 0u {
        place = atomicAdd(&tally[SCATTERED], 1u);
        let word = bitcast<u32>(groups[2u * group + 1u].w) | IS_SCATTERED;
        groups[2u * group + 1u].w = bitcast<f32>(word);
    }
    let at = workgroupUniformLoad(&place);
    if at >= params.room {
        return;
    }
    let first = group * GROUP;
    let end = min(first + GROUP, state.inside);
    let sink = min(first + thread, end - 1u);
    let position = sources[sink].xyz;
    //% if rule == "acceleration"
    let strength = strength_of(sink, least_strength());
    //% else
    let strength = 0.0;
    //% endif
    let record = 2u * (params.singles + GROUP * at + thread);
    groups[record] = vec4(position, strength);
    groups[record + 1u] = vec4(position, bitcast<f32>(select(NOBODY, sink | IS_SINGLE, first + thread < end)));
}
