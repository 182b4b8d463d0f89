// Raises the least accelerations of `count` groups and `reserve` single sinks to a thousandth of the mean over all
// ranks, which was not known when the groups were made.
//% include "tree/common.wgsl"
//% include "tree/least.wgsl"

@group(0) @binding(0) var<storage, read> state: TreeState;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> groups: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: TreeParams;

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i < params.count + params.reserve {
        let group = select(params.singles + i - params.count, i, i < params.count);
        groups[2u * group].w = max(groups[2u * group].w, least_strength());
    }
}
