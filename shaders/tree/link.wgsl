// Finds each cell's bodies and children. Cells are sorted by level and, within a level, in the order of the curve:
// siblings are neighbours, and the first child is the cell that came next in depth-first order.
//
// A cell that reaches beyond this device's part of the curve becomes a leaf without bodies here.
//% include "tree/common.wgsl"
//% include "tree/digits.wgsl"
//% include "tree/cell.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> levels: array<u32>;
@group(0) @binding(2) var<storage, read> numbers: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read> ranks: array<u32>;
@group(0) @binding(5) var<storage, read_write> state: TreeState;
@group(0) @binding(6) var<storage, read_write> cell_open: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> cell_box: array<vec4<u32>>;

// Where the run of `level` that begins at `first` ends.
fn end_of(first: u32, level: u32, inside: u32) -> u32 {
    let key = keys[first];
    var low = first;
    var high = inside;
    var step = 32u;
    while low + step < high {
        if shared_digits(key, keys[low + step]) < level {
            high = low + step;
        } else {
            low += step;
            step = step << 1u;
        }
    }
    while low + 1u < high {
        let middle = low + (high - low) / 2u;
        if shared_digits(key, keys[middle]) < level {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let cell = entry_of(workgroup, workgroups.x, thread);
    let cells = state.cells;
    if cell >= cells {
        return;
    }
    let level = levels[cell];
    let number = numbers[cell];
    let first = starts[number];
    let end = end_of(state.ahead + first, level, state.ahead + state.inside + state.after) - state.ahead;
    let is_whole = end <= state.inside;
    var word = IS_LEAF;
    if is_whole && end - first > state.leaf && level < LEVELS {
        let child = ranks[number + 1u];
        var children = 1u;
        while children < 8u && child + children < cells && levels[child + children] == level + 1u
            && starts[numbers[child + children]] < end {
            children++;
        }
        word = child_word(state.base + child, children);
        for (var k = 0u; k < children; k++) {
            cell_box[2u * (state.base + child + k) + 1u].w = state.base + cell;
        }
    }
    let record = 2u * (state.base + cell);
    cell_open[record + 1u] = vec4(0u, word, first, select(0u, end - first, is_whole));
    cell_box[record].w = level;
    if cell == 0u {
        cell_box[record + 1u].w = NO_PARENT;
    }

    // In a part of the curve some levels may have no cells.
    var above = 0u;
    if cell > 0u {
        above = levels[cell - 1u] + 1u;
    }
    for (; above <= level; above++) {
        state.levels[above] = state.base + cell;
    }
    if cell + 1u == cells {
        for (var deeper = level + 1u; deeper < 24u; deeper++) {
            state.levels[deeper] = state.base + cells;
        }
    }
}
