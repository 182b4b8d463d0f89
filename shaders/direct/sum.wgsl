// Adds the segments' sums for each sink, in an order that depends only on their number; finds the
// nearest of their nearest (among equals the lowest number); finds where each segment's part of a list begins.
// One workgroup per sink: each thread adds some segments in sequence, then threads are summed pairwise.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
@group(0) @binding(0) var<storage, read> partial_sums: array<Real4>;
@group(0) @binding(1) var<storage, read_write> neighbours: array<Neighbours>;
// Per sink what forces.wgsl keeps per segment and sink{{ ", and the nearest of its neighbours" if neighbours }}. As bits: some words are not floats.
//% set bits = neighbours and tier != "double"
@group(0) @binding(2) var<storage, read_write> sums: array<{{ "vec4<u32>" if bits else "Real4" }}>;
@group(0) @binding(3) var<uniform> params: DirectParams;

const SUMS: u32 = {{ (order + 1) * (2 if pairs else 1) }}u;
// Entries per sink in the result.
const STRIDE: u32 = {{ (order + 1) * (2 if pairs else 1) + (1 if neighbours else 0) }}u;
const THREADS: u32 = 64u;
var<workgroup> shares: array<Real4, THREADS * SUMS>;
//% if neighbours
var<workgroup> near: array<Neighbours, THREADS>;
//% endif

@compute @workgroup_size(THREADS, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let sink = params.sink_begin + workgroup.x;
    let each = (params.segments + THREADS - 1u) / THREADS;
    let first = thread * each;
    let last = min(first + each, params.segments);
//% for i in range(order + 1)
    var sum_{{ i }} = Real4();
//% if pairs
    var low_{{ i }} = Real4();
//% endif
//% endfor
//% if neighbours
    var closest = neighbours_of(FAR, FOREIGN, 0u, 0u);
//% endif
    for (var segment = first; segment < last; segment += 1u) {
        let at = segment * params.sink_count + sink;
//% for i in range(order + 1)
//% if pairs
        {
            let other = partial_sums[at * SUMS + {{ 2 * i }}u];
            let rounded = rounded_sum_4(sum_{{ i }}, other);
            low_{{ i }} += lost_4(sum_{{ i }}, other, rounded) + partial_sums[at * SUMS + {{ 2 * i + 1 }}u];
            sum_{{ i }} = rounded;
        }
//% else
        sum_{{ i }} += partial_sums[at * SUMS + {{ i }}u];
//% endif
//% endfor
//% if neighbours
        closest = nearer(closest, neighbours[at]);
//% endif
    }
//% for i in range(order + 1)
//% if pairs
    shares[thread * SUMS + {{ 2 * i }}u] = sum_{{ i }};
    shares[thread * SUMS + {{ 2 * i + 1 }}u] = low_{{ i }};
//% else
    shares[thread * SUMS + {{ i }}u] = sum_{{ i }};
//% endif
//% endfor
//% if neighbours
    near[thread] = closest;
//% endif
    workgroupBarrier();
//% if neighbours and listed

    var begin = 0u;
    for (var before = 0u; before < thread; before += 1u) {
        begin += u32(near[before].z);
    }
    for (var segment = first; segment < last; segment += 1u) {
        let at = segment * params.sink_count + sink;
        let found = neighbours[at];
        neighbours[at] = neighbours_of(distance_in(found), u32(found.y), u32(found.z), begin);
        begin += u32(found.z);
    }
    workgroupBarrier();
//% endif

    for (var apart = THREADS / 2u; apart > 0u; apart /= 2u) {
        if thread < apart {
            let mine = thread * SUMS;
            let theirs = (thread + apart) * SUMS;
//% for i in range(order + 1)
//% if pairs
            {
                let a = shares[mine + {{ 2 * i }}u];
                let b = shares[theirs + {{ 2 * i }}u];
                let rounded = rounded_sum_4(a, b);
                shares[mine + {{ 2 * i + 1 }}u] += lost_4(a, b, rounded) + shares[theirs + {{ 2 * i + 1 }}u];
                shares[mine + {{ 2 * i }}u] = rounded;
            }
//% else
            shares[mine + {{ i }}u] += shares[theirs + {{ i }}u];
//% endif
//% endfor
//% if neighbours
            near[thread] = nearer(near[thread], near[thread + apart]);
//% endif
        }
        workgroupBarrier();
    }
    if thread < SUMS {
        sums[sink * STRIDE + thread] = {{ "bitcast<vec4<u32>>(shares[thread])" if bits else "shares[thread]" }};
    }
//% if neighbours
    if thread == 0u {
        sums[sink * STRIDE + SUMS] = near[0];
    }
//% endif
}
