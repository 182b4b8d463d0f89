// Where each cell went when they were sorted by level.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> numbers: array<u32>;
@group(0) @binding(1) var<storage, read> state: TreeState;
@group(0) @binding(2) var<storage, read_write> ranks: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let cell = entry_of(workgroup, workgroups.x, thread);
    if cell < state.cells {
        ranks[numbers[cell]] = cell;
    }
}
