// The sum of the logarithms of the last accelerations: in the rule `acceleration`, every body counts with at least a
// thousandth of the mean.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(4) var<uniform> params: TreeParams;

// At most 256 x 2^14.
var<workgroup> sum: atomic<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    if thread == 0u {
        atomicStore(&sum, 0u);
    }
    workgroupBarrier();
    let i = entry_of(workgroup, workgroups.x, thread);
    if i < state.inside + state.outside {
        var strength = length(accelerations[order[i]].xyz);
        if !is_somewhere(vec3(strength)) {
            strength = 0.0;
        }
        // 64 log2, as an integer, whose sums are the same in any order. At least 2^-100.
        atomicAdd(&sum, u32((log2(max(strength, 7.888609e-31)) + 128.0) * 64.0));
    }
    workgroupBarrier();
    if thread == 0u {
        let added = atomicLoad(&sum);
        let before = atomicAdd(&tally[LOG_LOW], added);
        // A carry exactly when the sum is less than what was there.
        if before + added < before {
            atomicAdd(&tally[LOG_HIGH], 1u);
        }
    }
}
