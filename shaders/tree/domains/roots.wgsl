// Appends the cells of this part of the curve that all ranks store, in any order: those that reach beyond the part, and
// those whose parent reaches beyond or begins before it. Eight entries each: key, level and first body; number of
// bodies (0: it reaches beyond), child word, squared radius, number of the cell; centre and critical distance; the
// three entries of the forces; the box.
//% include "tree/common.wgsl"
//% include "tree/digits.wgsl"
//% include "tree/cell.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> state: TreeState;
@group(0) @binding(2) var<storage, read> cell_open: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> cell_force: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> cell_box: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> roots: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> tally: array<atomic<u32>>;

const ROOT = 8u;

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
    let cell = state.base + own;
    let open = cell_open[2u * cell + 1u];
    let level = cell_box[2u * cell].w;
    let key = keys[state.ahead + open.z];
    if open.w > 0u && level > 0u {
        let is_after = state.before > 0u && shared_digits(keys[state.ahead - 1u], key) + 1u >= level;
        let end = state.ahead + state.inside;
        let is_before = state.after > 0u && shared_digits(keys[end], key) + 1u >= level;
        if !is_after && !is_before {
            return;
        }
    }
    let k = ROOT * atomicAdd(&tally[ROOTS], 1u);
    if k + ROOT > arrayLength(&roots) {
        return;
    }
    roots[k] = vec4(key, level, open.z);
    roots[k + 1u] = vec4(open.w, open.y, open.x, cell);
    roots[k + 2u] = cell_open[2u * cell];
    roots[k + 3u] = cell_force[3u * cell];
    roots[k + 4u] = cell_force[3u * cell + 1u];
    roots[k + 5u] = cell_force[3u * cell + 2u];
    roots[k + 6u] = cell_box[2u * cell];
    roots[k + 7u] = cell_box[2u * cell + 1u];
}
