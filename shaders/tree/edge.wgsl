// The edge of the cube, whose centre is the origin: the smallest power of two that leaves out at most `spare` bodies,
// since a few escapers would make the cells too coarse for all others. One workgroup.
//% include "tree/common.wgsl"
//% include "scan/threads.wgsl"

@group(0) @binding(0) var<storage, read> tally: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: TreeState;
@group(0) @binding(2) var<uniform> params: TreeParams;

var<workgroup> exponent: u32;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) thread: u32) {
    let own = tally[DISTANCES + thread];
    if thread == 0u {
        exponent = 0u;
    }
    let sums = sum_before(own, thread);
    // Bodies at this distance and farther.
    let farther = sums.y - sums.x;
    if farther > params.spare && farther - own <= params.spare {
        exponent = thread;
    }
    let outermost = workgroupUniformLoad(&exponent);
    // At least 2^-61, whose inverse times 2^20 is finite.
    let edge = max(outermost + 1u, 66u);
    let held = sum_before(select(0u, own, thread < edge), thread);
    if thread == 0u {
        state.half = bitcast<f32>(edge << 23u);
        state.inside = held.y;
        state.outside = sums.y - held.y;
        state.counted = sums.y;
        state.own_bodies = params.count;
        state.all_bodies = params.count;
    }
}
