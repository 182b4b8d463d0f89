// Appends a record for each body that belongs to another rank, and for each free slot, in any order. Part k owns the
// keys from cut k - 1 up to, but not including, cut k; the last part also owns the bodies outside the cube. Bodies
// beyond the range of the tree stay.
//% include "tree/common.wgsl"
//% include "tree/hilbert.wgsl"
//% include "tree/domains/record.wgsl"

@group(0) @binding(0) var<storage, read> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> numbers: array<u32>;
@group(0) @binding(4) var<storage, read> state: TreeState;
@group(0) @binding(5) var<storage, read> cuts: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> records: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> params: TreeParams;

// The part that owns a key.
fn part_of(key: vec2<u32>) -> u32 {
    var low = 0u;
    var high = params.parts - 1u;
    while low < high {
        let middle = (low + high) / 2u;
        let cut = cuts[middle];
        if cut.y < key.y || (cut.y == key.y && cut.x <= key.x) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i >= params.count {
        return;
    }
    let number = numbers[i];
    let position = positions[i];
    var key = vec2(0xffffffffu);
    if number != NO_BODY {
        if !is_somewhere(position.xyz) {
            return;
        }
        if exponent_of(position.xyz) < bitcast<u32>(state.half) >> 23u {
            key = key_of(intervals_of(position.xyz));
            if part_of(key) == params.part {
                return;
            }
        } else if params.part + 1u == params.parts {
            return;
        }
    }
    let k = RECORD * atomicAdd(&tally[LEAVING], 1u);
    if k + RECORD > arrayLength(&records) {
        return;
    }
    records[k] = bitcast<vec4<u32>>(position);
    records[k + 1u] = bitcast<vec4<u32>>(velocities[i]);
    records[k + 2u] = bitcast<vec4<u32>>(accelerations[i]);
    records[k + 3u] = vec4(number, i, key);
}
