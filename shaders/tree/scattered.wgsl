// Number of groups whose sinks walk one by one: all scattered groups, or none if there is not enough room. (Not some of
// them, because which come first is a matter of chance.)
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read_write> tally: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: TreeState;
@group(0) @binding(2) var<uniform> params: TreeParams;

@compute @workgroup_size(1)
fn main() {
    let scattered = tally[SCATTERED];
    state.scattered = select(scattered, 0u, scattered > params.room);
    tally[SCATTERED] = 0u;
}
