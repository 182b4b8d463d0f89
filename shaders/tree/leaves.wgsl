// Moments of leaves, one thread for each, which adds up the bodies in order. Leaves of very many bodies, all in one
// place as far as keys can tell, are added up by all threads of the workgroup together, also in a fixed order.
//% include "tree/common.wgsl"
//% include "tree/record.wgsl"

// Positions and masses in the order of the curve.
@group(0) @binding(5) var<storage, read> sources: array<vec4<f32>>;

const THREADS = 64u;
const MANY = 128u;

var<workgroup> sums: array<vec4<f32>, 64>;
var<workgroup> lows: array<vec4<f32>, 64>;
var<workgroup> highs: array<vec4<f32>, 64>;
// A bit for each thread whose leaf has many bodies.
var<workgroup> crowded: array<atomic<u32>, 2>;
var<workgroup> lane_totals: vec2<u32>;
var<workgroup> leaf: vec2<u32>;

// What every `stride`-th body from `begin` on adds to the first moments about `anchor`, and to the box.
struct First {
    moments: vec4<f32>,
    lower: vec3<f32>,
    upper: vec3<f32>,
}

fn first_of(begin: u32, end: u32, stride: u32, anchor: vec3<f32>) -> First {
    var first = First(vec4(0.0), anchor, anchor);
    for (var j = begin; j < end; j += stride) {
        let body = sources[j];
        first.moments += vec4(body.w * (body.xyz - anchor), body.w);
        first.lower = min(first.lower, body.xyz);
        first.upper = max(first.upper, body.xyz);
    }
    return first;
}

// The same for the second moments about `centre` (three times xx, yy, zz; xy, xz, yz) and the squared radius.
struct Second {
    diagonal: vec3<f32>,
    radius_squared: f32,
    beside: vec3<f32>,
}

fn second_of_bodies(begin: u32, end: u32, stride: u32, centre: vec3<f32>) -> Second {
    var second = Second(vec3(0.0), 0.0, vec3(0.0));
    for (var j = begin; j < end; j += stride) {
        let body = sources[j];
        let d = body.xyz - centre;
        second.diagonal += 3.0 * body.w * d * d;
        second.beside += 3.0 * body.w * vec3(d.x * d.y, d.x * d.z, d.y * d.z);
        second.radius_squared = max(second.radius_squared, dot(d, d));
    }
    return second;
}

fn finish(cell: u32, first: First, centre: vec3<f32>, second: Second) {
    var moment: Moment;
    moment.centre = centre;
    moment.mass = first.moments.w;
    moment.diagonal = second.diagonal;
    moment.beside = second.beside;
    moment.radius = sqrt(second.radius_squared) * WIDENED;
    moment.lower = first.lower;
    moment.upper = first.upper;
    record(cell, moment);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let cell = state.base + (workgroup.y * workgroups.x + workgroup.x) * THREADS + thread;
    if thread < 2u {
        atomicStore(&crowded[thread], 0u);
    }
    workgroupBarrier();
    var begin = 0u;
    var count = 0u;
    if cell < state.base + state.cells {
        let word = cell_open[2u * cell + 1u];
        if word.y == IS_LEAF {
            begin = word.z;
            count = word.w;
        }
    }
    if count > MANY {
        atomicOr(&crowded[thread / 32u], 1u << (thread % 32u));
    } else if count > 0u {
        // Relative to a body, so that bodies in one place have their centre exactly there.
        let anchor = sources[begin].xyz;
        let first = first_of(begin, begin + count, 1u, anchor);
        let centre = centre_of(anchor, first.moments, first.lower, first.upper);
        finish(cell, first, centre, second_of_bodies(begin, begin + count, 1u, centre));
    }
    workgroupBarrier();
    if thread == 0u {
        lane_totals = vec2(atomicLoad(&crowded[0]), atomicLoad(&crowded[1]));
    }
    let which = workgroupUniformLoad(&lane_totals);
    for (var k = 0u; k < THREADS; k++) {
        if ((which[k / 32u] >> (k % 32u)) & 1u) == 0u {
            continue;
        }
        if thread == k {
            leaf = vec2(begin, begin + count);
        }
        let bodies = workgroupUniformLoad(&leaf);
        let anchor = sources[bodies.x].xyz;
        let own = first_of(bodies.x + thread, bodies.y, THREADS, anchor);
        sums[thread] = own.moments;
        lows[thread] = vec4(own.lower, 0.0);
        highs[thread] = vec4(own.upper, 0.0);
        workgroupBarrier();
        for (var reach = THREADS / 2u; reach > 0u; reach = reach >> 1u) {
            if thread < reach {
                sums[thread] += sums[thread + reach];
                lows[thread] = min(lows[thread], lows[thread + reach]);
                highs[thread] = max(highs[thread], highs[thread + reach]);
            }
            workgroupBarrier();
        }
        let first = First(sums[0], lows[0].xyz, highs[0].xyz);
        let centre = centre_of(anchor, first.moments, first.lower, first.upper);
        workgroupBarrier();
        let part = second_of_bodies(bodies.x + thread, bodies.y, THREADS, centre);
        lows[thread] = vec4(part.diagonal, part.radius_squared);
        highs[thread] = vec4(part.beside, 0.0);
        workgroupBarrier();
        for (var reach = THREADS / 2u; reach > 0u; reach = reach >> 1u) {
            if thread < reach {
                let other = lows[thread + reach];
                let here = lows[thread];
                lows[thread] = vec4(here.xyz + other.xyz, max(here.w, other.w));
                highs[thread] += highs[thread + reach];
            }
            workgroupBarrier();
        }
        if thread == k {
            finish(cell, first, centre, Second(lows[0].xyz, lows[0].w, highs[0].xyz));
        }
        workgroupBarrier();
    }
}
