// Writes the cells of all levels in depth-first order: each body those that begin at it.
//% include "tree/common.wgsl"
//% include "tree/digits.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
// Number of cells that begin before each body.
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read_write> levels: array<u32>;
@group(0) @binding(4) var<storage, read_write> numbers: array<u32>;
@group(0) @binding(5) var<storage, read_write> starts: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i >= state.inside {
        return;
    }
    let begin = offsets[i];
    var end = state.cells;
    if i + 1u < state.inside {
        end = min(end, offsets[i + 1u]);
    }
    if begin >= end {
        return;
    }
    var level = 0u;
    if i + state.before > 0u {
        level = shared_digits(keys[state.ahead + i - 1u], keys[state.ahead + i]) + 1u;
    }
    for (var number = begin; number < end; number++) {
        levels[number] = level + number - begin;
        numbers[number] = number;
        starts[number] = i;
    }
}
