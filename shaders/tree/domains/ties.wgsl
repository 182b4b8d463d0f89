// Sorts bodies with equal keys by their numbers. The stable sort left them in the order of their slots, which depends
// on the ranks that they came from.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> numbers: array<u32>;
@group(0) @binding(3) var<storage, read_write> ordered: array<u32>;
@group(0) @binding(4) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(5) var<uniform> params: TreeParams;

// The most bodies with one key that are sorted here, in a time proportional to the square of their number.
const MOST = {{ most_ties }}u;

fn is_before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
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
    let key = keys[i];
    let body = order[i];
    let is_alone = (i == 0u || any(keys[max(i, 1u) - 1u] != key))
        && (i + 1u == params.count || any(keys[min(i + 1u, params.count - 1u)] != key));
    // Bodies out of range, which have the last key, are left unsorted.
    if is_alone || all(key == vec2(0xffffffffu)) {
        ordered[i] = body;
        return;
    }
    var begin = 0u;
    var high = i;
    while begin < high {
        let middle = (begin + high) / 2u;
        if is_before(keys[middle], key) {
            begin = middle + 1u;
        } else {
            high = middle;
        }
    }
    var end = i + 1u;
    high = params.count;
    while end < high {
        let middle = (end + high) / 2u;
        if all(keys[middle] == key) {
            end = middle + 1u;
        } else {
            high = middle;
        }
    }
    if end - begin > MOST {
        atomicMax(&tally[LONGEST_TIE], end - begin);
        ordered[i] = body;
        return;
    }
    let number = numbers[body];
    var to = begin;
    for (var j = begin; j < end; j++) {
        to += u32(numbers[order[j]] < number);
    }
    ordered[to] = body;
}
