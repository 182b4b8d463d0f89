// Chooses the size of leaves: the smallest of those tried for which there is room for the cells. The largest needs room
// for 0.26 cells per body, which it always has.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> tally: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: TreeState;
@group(0) @binding(2) var<uniform> params: TreeParams;

@compute @workgroup_size(1)
fn main() {
    var step = 0u;
    while step < {{ sizes - 1 }}u && tally[CELLS_FOUND + step] > params.reserve {
        step++;
    }
    state.leaf = {{ leaf }}u << step;
    state.cells = min(tally[CELLS_FOUND + step], params.reserve);
}
