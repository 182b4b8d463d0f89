// After the passes over the higher digits of 64-bit keys: entries that agree in them, a run, get their order by the
// lower bits. Runs are short: of a million bodies in a Plummer sphere no more than 14 agree in the highest 32 bits
// of 63. Each entry counts those of its run that come before it.
//
// A run of more than RUN entries stays where it is, for `sort/long_runs.wgsl`.

//% include "sort/keys.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<Key>;
@group(0) @binding(1) var<storage, read> payloads: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted_keys: array<Key>;
@group(0) @binding(3) var<storage, read_write> sorted_payloads: array<u32>;
// For each RUN entries one more than where a long run begins, after the last of those before and up to the first of
// them; 0 if none does. Two long runs cannot begin there.
@group(0) @binding(4) var<storage, read_write> long_runs: array<u32>;
@group(0) @binding(5) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(6) var<uniform> params: SortParams;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = block_of(workgroup, workgroups.x) * DIGITS + thread;
    let end = min(params.count, count_on_device[0]);
    if i >= end {
        return;
    }
    let key = keys[i];
    var before = 0u;
    while before < RUN && before < i && agree(keys[i - before - 1u], key) {
        before += 1u;
    }
    let begin = i - before;
    let is_long = before == RUN || (begin + RUN < end && agree(keys[begin + RUN], key));
    if i % RUN == 0u {
        long_runs[i / RUN] = select(0u, begin + 1u, is_long && before < RUN);
    }
    if is_long {
        return;
    }
    var to = begin;
    for (var j = begin; j < i; j++) {
        to += select(0u, 1u, keys[j].x <= key.x);
    }
    for (var j = i + 1u; j < end && agree(keys[j], key); j++) {
        to += select(0u, 1u, keys[j].x < key.x);
    }
    sorted_keys[to] = key;
    sorted_payloads[to] = payloads[i];
}
