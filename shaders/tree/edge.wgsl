// The cube's edge: the smallest power of two that leaves out no more bodies than allowed. Otherwise a few that fly away
// would make the cells too coarse for all others. One workgroup.
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
    let centre = vec3(state.centre[0], state.centre[1], state.centre[2]);
    let far = max(abs(centre.x), max(abs(centre.y), abs(centre.z)));
    // Far from the origin the spacing of f32 is coarse: cells need not be finer.
    let coarse = max(bitcast<u32>(far) >> 23u, LEVELS - 1u) - (LEVELS - 1u);
    // At least 2^-61, whose inverse times 2^20 is finite.
    let edge = max(max(outermost + 1u, coarse), 66u);
    let held = sum_before(select(0u, own, thread < edge), thread);
    if thread == 0u {
        state.half = bitcast<f32>(edge << 23u);
        state.inside = held.y;
        state.outside = sums.y - held.y;
    }
}
