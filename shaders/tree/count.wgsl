// Counts the cells that begin at each body. A cell of level L begins where neighbouring keys share fewer than L digits
// and the cell around it, of level L - 1, holds more bodies than a leaf may. So each body only looks at its neighbours.
//
// If there are more cells than there is room for, larger leaves are tried: this kernel runs once for each size, and
// does nothing if a smaller one was sufficient.
//
// In a part of the curve, the keys of neighbouring ranks come before and after this device's.
//% include "tree/common.wgsl"
//% include "tree/digits.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> state: TreeState;
@group(0) @binding(4) var<uniform> params: TreeParams;

var<workgroup> found: atomic<u32>;
var<workgroup> wanted: u32;

// One more than the deepest level of a run that contains both body i and body i + leaf; 0 if not even the root does.
fn reaches(i: u32, leaf: u32, end: u32) -> u32 {
    if i + leaf >= end {
        return 0u;
    }
    return shared_digits(keys[i], keys[i + leaf]) + 1u;
}

// Whether the run of `level` that contains body i, but does not begin with it, holds more bodies than a leaf.
fn is_divided(i: u32, level: u32, leaf: u32, first: u32, end: u32) -> bool {
    let key = keys[i];
    if i >= first + leaf && shared_digits(keys[i - leaf], key) >= level {
        return true;
    }
    // It begins at most leaf - 1 bodies before i.
    var low = max(i + 1u, first + leaf) - leaf;
    var high = i - 1u;
    while low < high {
        let middle = (low + high) / 2u;
        if shared_digits(keys[middle], key) >= level {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    return reaches(low, leaf, end) > level;
}

fn cells_at(i: u32, leaf: u32, first: u32, end: u32) -> u32 {
    // Cells of this level and deeper begin here; the root begins at the first body.
    var level = 0u;
    var least = 1u;
    if i > first {
        level = shared_digits(keys[i - 1u], keys[i]) + 1u;
        if level > LEVELS {
            return 0u;
        }
        least = u32(is_divided(i, level - 1u, leaf, first, end));
    }
    let deepest = min(reaches(i, leaf, end), LEVELS);
    return max(least, max(deepest + 1u, level) - level);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    if thread == 0u {
        atomicStore(&found, 0u);
        let smaller = CELLS_FOUND + max(params.level, 1u) - 1u;
        wanted = u32(params.level == 0u || atomicLoad(&tally[smaller]) > params.reserve);
    }
    if workgroupUniformLoad(&wanted) == 0u {
        return;
    }
    let i = entry_of(workgroup, workgroups.x, thread);
    if i < state.inside {
        let begin = state.ahead;
        let cells = cells_at(begin + i, {{ leaf }}u << params.level, begin - state.before,
            begin + state.inside + state.after);
        counts[i] = cells;
        atomicAdd(&found, cells);
    }
    workgroupBarrier();
    if thread == 0u {
        atomicAdd(&tally[CELLS_FOUND + params.level], atomicLoad(&found));
    }
}
