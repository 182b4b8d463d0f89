// Packs the first `count` bodies of this device's part of the curve as records, in order.
//% include "tree/common.wgsl"
//% include "tree/domains/record.wgsl"

@group(0) @binding(0) var<storage, read> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> numbers: array<u32>;
@group(0) @binding(4) var<storage, read> ordered: array<u32>;
@group(0) @binding(5) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(7) var<uniform> params: TreeParams;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) thread: u32) {
    if thread >= params.count {
        return;
    }
    let i = ordered[thread];
    let k = RECORD * thread;
    records[k] = bitcast<vec4<u32>>(positions[i]);
    records[k + 1u] = bitcast<vec4<u32>>(velocities[i]);
    records[k + 2u] = bitcast<vec4<u32>>(accelerations[i]);
    records[k + 3u] = vec4(numbers[i], i, keys[thread]);
}
