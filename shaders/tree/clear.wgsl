// Clears everything that a tree counts by atomic additions.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read_write> tally: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < TALLY {
        tally[id.x] = 0u;
    }
}
