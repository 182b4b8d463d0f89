// Counts what each cell adds to the message to rank `part` if that rank opens it: its children, or the bodies of a
// leaf. Prefix sums of these counts are the indices in the message.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"

@group(0) @binding(0) var<storage, read> state: TreeState;
@group(0) @binding(1) var<storage, read> cell_open: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> opened: array<u32>;
@group(0) @binding(3) var<storage, read_write> cells_before: array<u32>;
@group(0) @binding(4) var<storage, read_write> bodies_before: array<u32>;
@group(0) @binding(5) var<uniform> params: TreeParams;

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let own = entry_of(workgroup, workgroups.x, thread);
    if own >= state.cells {
        return;
    }
    let open = cell_open[2u * (state.base + own) + 1u];
    let is_opened = opened[own] == params.part + 1u;
    let is_leaf = open.y == IS_LEAF;
    cells_before[own] = select(0u, children_of(open.y), is_opened && !is_leaf);
    bodies_before[own] = select(0u, open.w, is_opened && is_leaf);
}
