// Counts the bodies in each range of a coordinate, by sign, exponent and two bits. One row of workgroups (z) for each
// axis.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> params: TreeParams;

const ROWS = {{ rows }}u;
// Integer additions: their order does not affect the result.
var<workgroup> found: array<atomic<u32>, MEDIAN_BINS>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    for (var bin = thread; bin < MEDIAN_BINS; bin += THREADS_EACH) {
        atomicStore(&found[bin], 0u);
    }
    workgroupBarrier();
    let first = (workgroup.y * workgroups.x + workgroup.x) * ROWS * THREADS_EACH + thread;
    for (var row = 0u; row < ROWS; row++) {
        let i = first + row * THREADS_EACH;
        if i < params.count {
            let body = bodies[i];
            if is_somewhere(body.xyz) {
                let bits = bitcast<u32>(body[workgroup.z]);
                // Negative numbers come before positive ones, those of largest size first.
                let ordered = bits ^ select(0x80000000u, 0xffffffffu, (bits >> 31u) == 1u);
                atomicAdd(&found[ordered >> 21u], 1u);
            }
        }
    }
    workgroupBarrier();
    for (var bin = thread; bin < MEDIAN_BINS; bin += THREADS_EACH) {
        let count = atomicLoad(&found[bin]);
        if count > 0u {
            atomicAdd(&tally[workgroup.z * MEDIAN_BINS + bin], count);
        }
    }
}
