// Orders runs of more than RUN keys that agree in their higher digits by the lower ones: one workgroup sorts a run,
// digit by digit as `sort/count.wgsl` and `sort/scatter.wgsl` do with all keys, between the same two buffers. Bodies
// are so crowded only where many lie within 2^-13 of the tree's edge.

//% include "sort/keys.wgsl"
//% include "scan/threads.wgsl"
//% include "sort/rows.wgsl"

@group(0) @binding(0) var<storage, read_write> keys: array<Key>;
@group(0) @binding(1) var<storage, read_write> payloads: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted_keys: array<Key>;
@group(0) @binding(3) var<storage, read_write> sorted_payloads: array<u32>;
@group(0) @binding(4) var<storage, read> long_runs: array<u32>;
@group(0) @binding(5) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(6) var<uniform> params: SortParams;

// Of the runs that begin among this workgroup's: one more than where. Their order does not matter.
var<workgroup> begins: array<u32, 256>;
var<workgroup> begins_found: atomic<u32>;
// Of one run: its begin and end.
var<workgroup> bounds: vec2<u32>;
var<workgroup> found: array<atomic<u32>, 256>;

fn key_at(i: u32, is_back: bool) -> Key {
    if is_back {
        return sorted_keys[i];
    }
    return keys[i];
}

// The end of the run that begins there: at most `last`.
fn end_of(begin: u32, last: u32) -> u32 {
    let key = keys[begin];
    var low = begin + RUN + 1u;
    var high = last;
    while low < high {
        let middle = low + (high - low) / 2u;
        if agree(keys[middle], key) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// Moves the entries of a run to their order by one digit.
fn pass_over(digit: u32, begin: u32, end: u32, thread: u32) {
    let is_back = digit % 2u == 1u;
    let shift = 8u * digit;
    atomicStore(&found[thread], 0u);
    clear_masks(thread);
    workgroupBarrier();
    for (var i = begin + thread; i < end; i += DIGITS) {
        atomicAdd(&found[digit_of(key_at(i, is_back), shift)], 1u);
    }
    workgroupBarrier();
    places[thread] = begin + sum_before(atomicLoad(&found[thread]), thread).x;
    for (var row = begin; row < end; row += DIGITS) {
        let i = row + thread;
        let is_one = i < end;
        var key = Key();
        var value = 0u;
        if is_one {
            key = key_at(i, is_back);
            value = digit_of(key, shift);
        }
        let to = place_in_row(is_one, value, thread);
        if is_one {
            if is_back {
                keys[to] = key;
                payloads[to] = sorted_payloads[i];
            } else {
                sorted_keys[to] = key;
                sorted_payloads[to] = payloads[i];
            }
        }
        end_row(thread);
    }
    storageBarrier();
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let last = min(params.count, count_on_device[0]);
    let slot = block_of(workgroup, workgroups.x) * DIGITS + thread;
    if thread == 0u {
        atomicStore(&begins_found, 0u);
    }
    workgroupBarrier();
    if slot * RUN < last && long_runs[slot] > 0u {
        begins[atomicAdd(&begins_found, 1u)] = long_runs[slot];
    }
    workgroupBarrier();
    if thread == 0u {
        bounds.x = atomicLoad(&begins_found);
    }
    let runs = workgroupUniformLoad(&bounds).x;
    for (var run = 0u; run < runs; run++) {
        if thread == 0u {
            let begin = begins[run] - 1u;
            bounds = vec2(begin, end_of(begin, last));
        }
        let here = workgroupUniformLoad(&bounds);
        // An odd number of digits: they end among the sorted ones.
        for (var digit = 0u; digit < params.shift / 8u; digit++) {
            pass_over(digit, here.x, here.y, thread);
        }
    }
}
