// Of each root of this part of the curve: the place of its first child, or of its first body, among what is sent.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/domains/absent.wgsl"

@group(0) @binding(0) var<storage, read> state: TreeState;
@group(0) @binding(1) var<storage, read> roots: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> tally: array<u32>;
@group(0) @binding(3) var<storage, read> opened: array<u32>;
@group(0) @binding(4) var<storage, read> cells_before: array<u32>;
@group(0) @binding(5) var<storage, read> bodies_before: array<u32>;
@group(0) @binding(6) var<storage, read_write> entries: array<u32>;
@group(0) @binding(7) var<uniform> params: TreeParams;

const ROOT = 8u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let most = arrayLength(&roots) / ROOT;
    if id.x >= min(tally[ROOTS], most) {
        return;
    }
    let header = roots[ROOT * id.x + 1u];
    var entry = NOT_SENT;
    if header.x > 0u {
        let own = header.w - state.base;
        if ((opened[own] >> params.part) & 1u) != 0u {
            entry = select(cells_before[own], bodies_before[own], header.y == IS_LEAF);
        }
    }
    entries[most * params.part + id.x] = entry;
}
