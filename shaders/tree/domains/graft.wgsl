// Joins received cells to this device's by converting their numbers of cells and bodies. A cell whose children were not
// sent gets the absent cell as its only child, a leaf without its bodies the absent body: both make forces that are not
// finite, which `missing.wgsl` counts.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/domains/absent.wgsl"

@group(0) @binding(0) var<storage, read_write> cell_open: array<vec4<u32>>;
//% if patches
// Common cells: number, child word, first body, number of bodies.
@group(0) @binding(1) var<storage, read> patches: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> params: TreeParams;
//% else
@group(0) @binding(1) var<uniform> params: TreeParams;
//% endif

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i >= params.count {
        return;
    }
//% if patches
    let patch_ = patches[i];
    cell_open[2u * patch_.x + 1u].y = patch_.y;
    cell_open[2u * patch_.x + 1u].z = patch_.z;
    cell_open[2u * patch_.x + 1u].w = patch_.w;
//% else
    // Received cells begin at `group_begin`, bodies at `first`; `singles` and `room` are the absent cell and body.
    let at = 2u * (params.group_begin + i) + 1u;
    var open = cell_open[at];
    if open.y == IS_LEAF {
        if open.z == NOT_SENT {
            open.z = params.room;
            open.w = 1u;
        } else {
            open.z += params.first;
        }
    } else if open.y == NOT_SENT - 1u {
        open.y = child_word(params.singles, 1u);
    } else {
        open.y = child_word(first_child(open.y) + params.group_begin, children_of(open.y));
    }
    cell_open[at] = open;
//% endif
}
