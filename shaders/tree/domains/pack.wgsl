// Packs the message to a rank, from `group_begin` on: of the children of the cells that it opens, two entries each for
// the opening test, then three each for the forces; then the bodies of the leaves that it opens. Numbers are indices in
// the message.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/domains/absent.wgsl"

@group(0) @binding(0) var<storage, read> state: TreeState;
@group(0) @binding(1) var<storage, read> cell_open: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> cell_force: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> sources: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> opened: array<u32>;
@group(0) @binding(5) var<storage, read> cells_before: array<u32>;
@group(0) @binding(6) var<storage, read> bodies_before: array<u32>;
@group(0) @binding(7) var<storage, read_write> message: array<vec4<u32>>;
@group(0) @binding(8) var<uniform> params: TreeParams;

fn is_opened(own: u32) -> bool {
    return opened[own] == params.part + 1u;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let own = (workgroup.y * workgroups.x + workgroup.x) * 64u + thread;
    if own >= state.cells || !is_opened(own) {
        return;
    }
    // Capacity for `count` cells and `reserve` bodies; if there are more, the host packs again with a larger one.
    let open = cell_open[2u * (state.base + own) + 1u];
    if open.y == IS_LEAF {
        let to = params.group_begin + 5u * params.count + bodies_before[own];
        if bodies_before[own] + open.w > params.reserve {
            return;
        }
        for (var k = 0u; k < open.w; k++) {
            message[to + k] = sources[open.z + k];
        }
        return;
    }
    let first = first_child(open.y);
    if cells_before[own] + children_of(open.y) > params.count {
        return;
    }
    for (var k = 0u; k < children_of(open.y); k++) {
        let cell = first + k;
        let to = cells_before[own] + k;
        var child = cell_open[2u * cell + 1u];
        let number = cell - state.base;
        let is_sent = is_opened(number);
        if child.y == IS_LEAF {
            child.z = select(NOT_SENT, bodies_before[number], is_sent);
        } else {
            child.y = select(NOT_SENT - 1u, child_word(cells_before[number], children_of(child.y)), is_sent);
        }
        let open_at = params.group_begin + 2u * to;
        message[open_at] = cell_open[2u * cell];
        message[open_at + 1u] = child;
        let force = params.group_begin + 2u * params.count + 3u * to;
        message[force] = cell_force[3u * cell];
        message[force + 1u] = cell_force[3u * cell + 1u];
        message[force + 2u] = cell_force[3u * cell + 2u];
    }
}
