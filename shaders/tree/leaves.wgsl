// Moments of leaves: 32 threads add up the bodies of each, in a fixed order.
//% include "tree/common.wgsl"
//% include "tree/record.wgsl"

// Positions and masses in the order of the curve.
@group(0) @binding(5) var<storage, read> sources: array<vec4<f32>>;

const LANES = 32u;
const LEAVES = 8u;
var<workgroup> sums: array<vec4<f32>, 256>;
var<workgroup> lows: array<vec4<f32>, 256>;
var<workgroup> highs: array<vec4<f32>, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let lane = thread % LANES;
    let cell = (workgroup.y * workgroups.x + workgroup.x) * LEAVES + thread / LANES;
    // Threads without a leaf reach every barrier, too.
    var begin = 0u;
    var end = 0u;
    var is_one = false;
    if cell < state.cells {
        let word = cell_open[2u * cell + 1u];
        is_one = word.y == IS_LEAF;
        if is_one {
            begin = word.z;
            end = word.z + word.w;
        }
    }

    // Counted from a body: bodies in one place have their centre exactly there.
    let anchor = sources[begin].xyz;
    var first = vec4(0.0);
    var lower = anchor;
    var upper = anchor;
    for (var j = begin + lane; j < end; j += LANES) {
        let body = sources[j];
        first += vec4(body.w * (body.xyz - anchor), body.w);
        lower = min(lower, body.xyz);
        upper = max(upper, body.xyz);
    }
    sums[thread] = first;
    lows[thread] = vec4(lower, 0.0);
    highs[thread] = vec4(upper, 0.0);
    workgroupBarrier();
    for (var reach = LANES / 2u; reach > 0u; reach = reach >> 1u) {
        if lane < reach {
            sums[thread] += sums[thread + reach];
            lows[thread] = min(lows[thread], lows[thread + reach]);
            highs[thread] = max(highs[thread], highs[thread + reach]);
        }
        workgroupBarrier();
    }
    let whole = thread - lane;
    first = sums[whole];
    lower = lows[whole].xyz;
    upper = highs[whole].xyz;
    let centre = centre_of(anchor, first, lower, upper);
    workgroupBarrier();

    var diagonal = vec3(0.0);
    var beside = vec3(0.0);
    var farthest = 0.0;
    for (var j = begin + lane; j < end; j += LANES) {
        let body = sources[j];
        let d = body.xyz - centre;
        diagonal += 3.0 * body.w * d * d;
        beside += 3.0 * body.w * vec3(d.x * d.y, d.x * d.z, d.y * d.z);
        farthest = max(farthest, dot(d, d));
    }
    lows[thread] = vec4(diagonal, farthest);
    highs[thread] = vec4(beside, 0.0);
    workgroupBarrier();
    for (var reach = LANES / 2u; reach > 0u; reach = reach >> 1u) {
        if lane < reach {
            let other = lows[thread + reach];
            let own = lows[thread];
            lows[thread] = vec4(own.xyz + other.xyz, max(own.w, other.w));
            highs[thread] += highs[thread + reach];
        }
        workgroupBarrier();
    }
    if is_one && lane == 0u {
        var moment: Moment;
        moment.centre = centre;
        moment.mass = first.w;
        moment.diagonal = lows[thread].xyz;
        moment.beside = highs[thread].xyz;
        moment.radius = sqrt(lows[thread].w) * WIDENED;
        moment.lower = lower;
        moment.upper = upper;
        record(cell, moment);
    }
}
