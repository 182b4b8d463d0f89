//% include "sort/params.wgsl"

const DIGITS = 256u;
// Rows of 256 keys that a workgroup takes, one after the other.
const ROWS = {{ rows }}u;

//% if words == 2
// A 64-bit number as stored in memory: the low word comes first.
alias Key = vec2<u32>;
//% else
alias Key = u32;
//% endif

fn digit_of(key: Key, shift: u32) -> u32 {
    //% if words == 2
    let word = select(key.x, key.y, shift >= 32u);
    //% else
    let word = key;
    //% endif
    return (word >> (shift & 31u)) & (DIGITS - 1u);
}

// Workgroups take consecutive blocks of keys; a dispatch of many workgroups arranges them in several rows.
fn block_of(workgroup: vec3<u32>, row: u32) -> u32 {
    return workgroup.y * row + workgroup.x;
}
//% if words == 2

// The most keys of a run that each find their place by themselves.
const RUN = 64u;

// Whether two keys agree in the bits from `params.shift` on, which is below 32.
fn agree(a: Key, b: Key) -> bool {
    return a.y == b.y && ((a.x ^ b.x) >> params.shift) == 0u;
}
//% endif
