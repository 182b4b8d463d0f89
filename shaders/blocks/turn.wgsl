// All bodies have reached the end of a dt_max: restarts time, and updates the lower bound of accelerations.
// One workgroup, whose sums have the same order each time.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
//% include "blocks/params.wgsl"
@group(0) @binding(0) var<storage, read_write> state: BlockState;
@group(0) @binding(1) var<storage, read> tracks: array<Real4>;
@group(0) @binding(2) var<uniform> params: DirectParams;
@group(0) @binding(3) var<uniform> block: BlockParams;
//% include "blocks/time.wgsl"
//% include "direct/wide.wgsl"
//% include "blocks/track.wgsl"

const THREADS: u32 = 256u;
var<workgroup> shares: array<Real, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
    var share = Real(0.0);
    for (var i = thread; i < block.count; i += THREADS) {
        share += length(narrow(track_of(i).acceleration));
    }
    shares[thread] = share;
    workgroupBarrier();
    for (var apart = THREADS / 2u; apart > 0u; apart /= 2u) {
        if thread < apart {
            shares[thread] += shares[thread + apart];
        }
        workgroupBarrier();
    }
    if thread == 0u {
        state.least = 1e-8 * f32(shares[0] / Real(block.count));
        state.now = vec2<u32>();
        state.next = vec2<u32>();
        state.members = 0u;
    }
}
