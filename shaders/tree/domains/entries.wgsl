// For each root of this part of the curve the index of its first child or body in the message to rank `part`, or
// NOT_SENT; then the numbers of cells and bodies in the message. Cell numbers of the part begin at `first`.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/domains/absent.wgsl"

@group(0) @binding(0) var<storage, read> roots: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> tally: array<u32>;
@group(0) @binding(2) var<storage, read> opened: array<u32>;
@group(0) @binding(3) var<storage, read> cells_before: array<u32>;
@group(0) @binding(4) var<storage, read> bodies_before: array<u32>;
@group(0) @binding(5) var<storage, read> all_cells: array<u32>;
@group(0) @binding(6) var<storage, read> all_bodies: array<u32>;
@group(0) @binding(7) var<storage, read_write> entries: array<u32>;
@group(0) @binding(8) var<uniform> params: TreeParams;

const ROOT = 8u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let most = arrayLength(&roots) / ROOT;
    let begin = (most + 2u) * params.part;
    if id.x == 0u {
        entries[begin + most] = all_cells[0];
        entries[begin + most + 1u] = all_bodies[0];
    }
    if id.x >= min(tally[ROOTS], most) {
        return;
    }
    let header = roots[ROOT * id.x + 1u];
    var entry = NOT_SENT;
    if header.x > 0u {
        let own = header.w - params.first;
        if opened[own] == params.part + 1u {
            entry = select(cells_before[own], bodies_before[own], header.y == IS_LEAF);
        }
    }
    entries[begin + id.x] = entry;
}
