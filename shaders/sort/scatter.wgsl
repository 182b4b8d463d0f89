// Third pass for a digit: moves every key and its value to their place. Keys with equal digits keep their order.
//
// A workgroup first orders its keys in workgroup memory and then writes them in this order: with sixteen rows, sixteen
// in a sequence, on average, go to neighbouring addresses.

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

// In the workgroup's order: where the keys of each digit begin, and how much further they go in the result (modulo
// 2^32).
var<workgroup> begins: array<u32, 256>;
var<workgroup> further: array<u32, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(workgroup, workgroups.x);
    var end = 0u;
    if block < params.blocks {
        end = min(params.count, count_on_device[0]);
    }

    // Of this thread's digit: keys with smaller digits, then those of the same digit in the workgroups before.
    var place = sum_before(totals[thread], thread).x;
    if block < params.blocks {
        place += counts[thread * params.blocks + block];
    }
    places[thread] = 0u;
    clear_masks(thread);
    workgroupBarrier();

    // Of this thread's key in each row: the digit, and above it how many keys of that digit come before.
    let first = block * ROWS * DIGITS;
    var ranked: array<u32, ROWS>;
    for (var row = 0u; row < ROWS; row++) {
        let i = first + row * DIGITS + thread;
        let is_one = i < end;
        var digit = 0u;
        if is_one {
            digit = digit_of(keys[i], params.shift);
        }
        ranked[row] = digit + DIGITS * place_in_row(is_one, digit, thread);
        end_row(thread);
    }
    let sums = sum_before(places[thread], thread);
    begins[thread] = sums.x;
    further[thread] = place - sums.x;
    workgroupBarrier();

    // The masks are all 0 again. They have room for the order of 16 rows, two keys in each.
    for (var row = 0u; row < ROWS; row++) {
        let k = row * DIGITS + thread;
        if first + k < end {
            let at = begins[ranked[row] % DIGITS] + ranked[row] / DIGITS;
            atomicOr(&masks[at / 2u], k << (16u * (at % 2u)));
        }
    }
    workgroupBarrier();
    for (var row = 0u; row < ROWS; row++) {
        let k = row * DIGITS + thread;
        if k < sums.y {
            // Read again, from a cache.
            let i = first + ((atomicLoad(&masks[k / 2u]) >> (16u * (k % 2u))) & 0xffffu);
            let key = keys[i];
            let to = further[digit_of(key, params.shift)] + k;
            sorted_keys[to] = key;
            sorted_payloads[to] = payloads[i];
        }
    }
}
