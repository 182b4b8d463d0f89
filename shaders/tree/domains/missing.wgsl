// Counts the sinks whose forces are not finite: their walks needed a cell that was not sent.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> partial_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> params: TreeParams;

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i < params.count {
        let bits = bitcast<vec4<u32>>(partial_sums[order[i]]) & vec4(0x7f800000u);
        if any(bits == vec4(0x7f800000u)) {
            atomicAdd(&tally[MISSING], 1u);
        }
    }
}
