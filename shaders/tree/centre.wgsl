// The cube's centre: the median on each axis, to two bits. It depends only on the present positions, so that an
// interrupted run finds the same centre; and bodies that fly away do not move it.
// One workgroup for each axis.
//% include "tree/common.wgsl"
//% include "scan/threads.wgsl"

@group(0) @binding(0) var<storage, read> tally: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: TreeState;

const EACH = 8u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = workgroup.x * MEDIAN_BINS + thread * EACH;
    var own = 0u;
    for (var k = 0u; k < EACH; k++) {
        own += tally[first + k];
    }
    let sums = sum_before(own, thread);
    let middle = sums.y / 2u;
    if sums.y == 0u && thread == 0u {
        state.centre[workgroup.x] = 0.0;
    }
    if sums.x <= middle && middle < sums.x + own {
        var before = sums.x;
        var k = 0u;
        for (; k < EACH - 1u && before + tally[first + k] <= middle; k++) {
            before += tally[first + k];
        }
        // The middle of the range.
        let ordered = ((thread * EACH + k) << 21u) | (1u << 20u);
        let bits = ordered ^ select(0xffffffffu, 0x80000000u, (ordered >> 31u) == 1u);
        state.centre[workgroup.x] = bitcast<f32>(bits);
    }
}
