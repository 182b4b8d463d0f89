// Where the keys of a row of 256 go by one digit, one key for each thread. A row is taken in waves of 32. Each key sets
// its bit in the mask of its wave and digit; the bits before its own, in its wave and in earlier ones, then give its
// rank among the keys with that digit. This needs no subgroups, and no atomic operation whose order affects the result.

const WAVES = 8u;

// Where the next key of each digit goes.
var<workgroup> places: array<u32, 256>;
// [wave][digit]
var<workgroup> masks: array<atomic<u32>, 2048>;

// Before the first row: no key has come yet. All threads must reach a barrier before the row.
fn clear_masks(thread: u32) {
    for (var w = 0u; w < WAVES; w++) {
        atomicStore(&masks[w * DIGITS + thread], 0u);
    }
}

// The place of this thread's key, if it has one. All threads must call it, and `end_row` after it.
fn place_in_row(is_one: bool, digit: u32, thread: u32) -> u32 {
    let wave = thread / 32u;
    let bit = 1u << (thread % 32u);
    if is_one {
        atomicOr(&masks[wave * DIGITS + digit], bit);
    }
    workgroupBarrier();
    var to = places[digit] + countOneBits(atomicLoad(&masks[wave * DIGITS + digit]) & (bit - 1u));
    for (var w = 0u; w < wave; w++) {
        to += countOneBits(atomicLoad(&masks[w * DIGITS + digit]));
    }
    return to;
}

// After a row: each thread counts the keys of one digit.
fn end_row(thread: u32) {
    workgroupBarrier();
    var placed = 0u;
    for (var w = 0u; w < WAVES; w++) {
        let at = w * DIGITS + thread;
        placed += countOneBits(atomicLoad(&masks[at]));
        atomicStore(&masks[at], 0u);
    }
    places[thread] += placed;
    workgroupBarrier();
}
