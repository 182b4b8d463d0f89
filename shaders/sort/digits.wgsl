// Second pass for a digit: each count becomes the sum of the counts of the workgroups before. One workgroup for each
// value of the digit; the sums over all workgroups follow the counts.

//% include "sort/params.wgsl"
//% include "scan/threads.wgsl"

@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> totals: array<u32>;
@group(0) @binding(2) var<uniform> params: SortParams;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = workgroup.x * params.blocks;
    var before = 0u;
    for (var turn = 0u; turn < params.blocks; turn += THREADS) {
        let block = turn + thread;
        let is_one = block < params.blocks;
        var count = 0u;
        if is_one {
            count = counts[first + block];
        }
        let sums = sum_before(count, thread);
        if is_one {
            counts[first + block] = before + sums.x;
        }
        before += sums.y;
    }
    if thread == 0u {
        totals[workgroup.x] = before;
    }
}
