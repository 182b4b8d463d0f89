// Third pass for a digit: moves every key and its value to their place. Keys with equal digits keep their order.
//
// A workgroup takes its keys in rows of 256, and a row in waves of 32. Each key sets its bit in the mask of its wave
// and digit; the bits before its own, in its wave and in earlier ones, then give its rank among the keys with that
// digit. This needs no subgroups, and no atomic operation whose order affects the result.

//% include "sort/keys.wgsl"
//% include "scan/threads.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<Key>;
@group(0) @binding(1) var<storage, read> payloads: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted_keys: array<Key>;
@group(0) @binding(3) var<storage, read_write> sorted_payloads: array<u32>;
@group(0) @binding(4) var<storage, read> counts: array<u32>;
@group(0) @binding(5) var<storage, read> totals: array<u32>;
@group(0) @binding(6) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(7) var<uniform> params: SortParams;

const WAVES = 8u;

// Where the next key of each digit goes.
var<workgroup> places: array<u32, 256>;
// [wave][digit]
var<workgroup> masks: array<atomic<u32>, 2048>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = block_of(workgroup, workgroups.x);
    let end = min(params.count, count_on_device[0]);
    let wave = thread / 32u;
    let bit = 1u << (thread % 32u);

    // Keys with smaller digits, then those of the same digit in the workgroups before.
    var place = sum_before(totals[thread], thread).x;
    if block < params.blocks {
        place += counts[thread * params.blocks + block];
    }
    places[thread] = place;
    for (var w = 0u; w < WAVES; w++) {
        atomicStore(&masks[w * DIGITS + thread], 0u);
    }
    workgroupBarrier();

    for (var row = 0u; row < ROWS; row++) {
        let i = (block * ROWS + row) * DIGITS + thread;
        let is_one = block < params.blocks && i < end;
        var key = Key();
        var digit = 0u;
        if is_one {
            key = keys[i];
            digit = digit_of(key, params.shift);
            atomicOr(&masks[wave * DIGITS + digit], bit);
        }
        workgroupBarrier();
        if is_one {
            let own = atomicLoad(&masks[wave * DIGITS + digit]);
            var to = places[digit] + countOneBits(own & (bit - 1u));
            for (var w = 0u; w < wave; w++) {
                to += countOneBits(atomicLoad(&masks[w * DIGITS + digit]));
            }
            sorted_keys[to] = key;
            sorted_payloads[to] = payloads[i];
        }
        workgroupBarrier();
        // Now each thread handles one digit: it counts the keys placed from this row.
        var placed = 0u;
        for (var w = 0u; w < WAVES; w++) {
            let at = w * DIGITS + thread;
            placed += countOneBits(atomicLoad(&masks[at]));
            atomicStore(&masks[at], 0u);
        }
        places[thread] += placed;
        workgroupBarrier();
    }
}
