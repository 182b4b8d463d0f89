// Counts the bodies at each distance from the origin, by powers of two.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> params: TreeParams;

const ROWS = {{ rows }}u;
var<workgroup> found: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    atomicStore(&found[thread], 0u);
    workgroupBarrier();
    let first = (workgroup.y * workgroups.x + workgroup.x) * ROWS * THREADS_EACH + thread;
    for (var row = 0u; row < ROWS; row++) {
        let i = first + row * THREADS_EACH;
        if i < params.count {
            let position = bodies[i].xyz;
            if is_somewhere(position) {
                atomicAdd(&found[exponent_of(position)], 1u);
            }
        }
    }
    workgroupBarrier();
    let count = atomicLoad(&found[thread]);
    if count > 0u {
        atomicAdd(&tally[DISTANCES + thread], count);
    }
}
