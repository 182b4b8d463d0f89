// Stores received bodies, and moves bodies to free slots. No slot is both a source and a destination of moves, so their
// order does not matter.
//% include "tree/common.wgsl"
//% include "tree/domains/record.wgsl"

@group(0) @binding(0) var<storage, read_write> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> numbers: array<u32>;
@group(0) @binding(4) var<storage, read> arrivals: array<vec4<u32>>;
// Source and destination slot.
@group(0) @binding(5) var<storage, read> moves: array<vec2<u32>>;
@group(0) @binding(6) var<uniform> params: TreeParams;

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    // `count` arrivals, then `reserve` moves.
    if i < params.count {
        let k = RECORD * i;
        let to = arrivals[k + 3u].y;
        positions[to] = bitcast<vec4<f32>>(arrivals[k]);
        velocities[to] = bitcast<vec4<f32>>(arrivals[k + 1u]);
        accelerations[to] = bitcast<vec4<f32>>(arrivals[k + 2u]);
        numbers[to] = arrivals[k + 3u].x;
    } else if i < params.count + params.reserve {
        let move_ = moves[i - params.count];
        positions[move_.y] = positions[move_.x];
        velocities[move_.y] = velocities[move_.x];
        accelerations[move_.y] = accelerations[move_.x];
        numbers[move_.y] = numbers[move_.x];
    }
}
