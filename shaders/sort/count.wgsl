// First pass for a digit: counts how often each value occurs in each workgroup's keys.

//% include "sort/keys.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<Key>;
// [value of the digit][workgroup]
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(3) var<uniform> params: SortParams;

// Integer additions: their order does not affect the result.
var<workgroup> found: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(workgroup, workgroups.x);
    let end = min(params.count, count_on_device[0]);
    atomicStore(&found[thread], 0u);
    workgroupBarrier();
    if block < params.blocks {
        for (var row = 0u; row < ROWS; row++) {
            let i = (block * ROWS + row) * DIGITS + thread;
            if i < end {
                atomicAdd(&found[digit_of(keys[i], params.shift)], 1u);
            }
        }
    }
    workgroupBarrier();
    if block < params.blocks {
        counts[thread * params.blocks + block] = atomicLoad(&found[thread]);
    }
}
