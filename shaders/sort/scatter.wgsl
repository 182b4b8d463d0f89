// Third pass for a digit: moves every key and its value to their place. Keys with equal digits keep their order.

//% include "sort/keys.wgsl"
//% include "scan/threads.wgsl"
//% include "sort/rows.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<Key>;
@group(0) @binding(1) var<storage, read> payloads: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted_keys: array<Key>;
@group(0) @binding(3) var<storage, read_write> sorted_payloads: array<u32>;
@group(0) @binding(4) var<storage, read> counts: array<u32>;
@group(0) @binding(5) var<storage, read> totals: array<u32>;
@group(0) @binding(6) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(7) var<uniform> params: SortParams;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(workgroup, workgroups.x);
    let end = min(params.count, count_on_device[0]);

    // Keys with smaller digits, then those of the same digit in the workgroups before.
    var place = sum_before(totals[thread], thread).x;
    if block < params.blocks {
        place += counts[thread * params.blocks + block];
    }
    places[thread] = place;
    clear_masks(thread);
    workgroupBarrier();

    for (var row = 0u; row < ROWS; row++) {
        let i = (block * ROWS + row) * DIGITS + thread;
        let is_one = block < params.blocks && i < end;
        var key = Key();
        var digit = 0u;
        if is_one {
            key = keys[i];
            digit = digit_of(key, params.shift);
        }
        let to = place_in_row(is_one, digit, thread);
        if is_one {
            sorted_keys[to] = key;
            sorted_payloads[to] = payloads[i];
        }
        end_row(thread);
    }
}
