// Momentum: the net force that should vanish in a closed system is distributed over the bodies and subtracted again
// (src/forces/tree/balance.rs explains why and how). Three kernels run in turn: "sum" adds up forces, their sizes and
// masses, "share" what each body may give, and "take" subtracts it. Each has the same workgroups, 256 at most; the order
// of sums is fixed.

//% if stage == "take"
@group(0) @binding(0) var<storage, read_write> partial_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> sums: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> shares: array<f32>;
//% else
@group(0) @binding(0) var<storage, read> partial_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> bodies: array<vec4<f32>>;
//% if stage == "sum"
// For each workgroup the sum of its bodies' forces, with their mass, and the sum of the forces' sizes.
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>;
//% else
@group(0) @binding(2) var<storage, read> sums: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> shares: array<f32>;
//% endif
//% endif

const THREADS = 256u;
const LEAST_REST = f32({{ least_rest }});
const INFINITE = 0x7f800000u;

var<workgroup> rests: array<vec4<f32>, THREADS>;
var<workgroup> sizes: array<f32, THREADS>;

// Tested by bits: compilers may assume that every number is finite.
fn is_finite(x: vec3<f32>) -> bool {
    return all((bitcast<vec3<u32>>(x) & vec3(INFINITE)) != vec3(INFINITE));
}

// The length, even if its square leaves the range of f32.
fn size_of(x: vec3<f32>) -> f32 {
    let greatest = max(abs(x.x), max(abs(x.y), abs(x.z)));
    return select(0.0, greatest * length(x / greatest), greatest > 0.0);
}

// The first entries become the sums of all.
fn add_up(thread: u32) {
    for (var width = THREADS / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if thread < width {
            rests[thread] += rests[thread + width];
            sizes[thread] += sizes[thread + width];
        }
    }
    workgroupBarrier();
}

//% if stage != "sum"
// The sums over all bodies: forces with masses, sizes of forces.
fn totals(thread: u32, workgroups: u32) {
    rests[thread] = vec4(0.0);
    sizes[thread] = 0.0;
    if thread < workgroups {
        rests[thread] = sums[2u * thread];
        sizes[thread] = sums[2u * thread + 1u].x;
    }
    add_up(thread);
}
//% endif

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let count = arrayLength(&partial_sums);
    let first = workgroup.x * THREADS + thread;
    let stride = workgroups.x * THREADS;
//% if stage == "sum"
    var rest = vec4(0.0);
    var size = 0.0;
    for (var i = first; i < count; i += stride) {
        let acceleration = partial_sums[i].xyz;
        if is_finite(acceleration) {
            let mass = bodies[i].w;
            rest += mass * vec4(acceleration, 1.0);
            size += mass * size_of(acceleration);
        }
    }
    rests[thread] = rest;
    sizes[thread] = size;
    add_up(thread);
    if thread == 0u {
        sums[2u * workgroup.x] = rests[0];
        sums[2u * workgroup.x + 1u] = vec4(sizes[0], 0.0, 0.0, 0.0);
    }
//% else
    totals(thread, workgroups.x);
    let rest = rests[0];
    let size = sizes[0];
    let mean = size / rest.w;
    workgroupBarrier();
//% if stage == "share"
    var share = 0.0;
    for (var i = first; i < count; i += stride) {
        let acceleration = partial_sums[i].xyz;
        if is_finite(acceleration) {
            share += bodies[i].w * min(size_of(acceleration), mean);
        }
    }
    rests[thread] = vec4(0.0);
    sizes[thread] = share;
    add_up(thread);
    if thread == 0u {
        shares[workgroup.x] = sizes[0];
    }
//% else
    rests[thread] = vec4(0.0);
    sizes[thread] = 0.0;
    if thread < workgroups.x {
        sizes[thread] = shares[thread];
    }
    add_up(thread);
    let each = rest.xyz / sizes[0];
    // A smaller rest is rounding.
    if is_finite(vec3(size)) && size_of(rest.xyz) > LEAST_REST * size {
        for (var i = first; i < count; i += stride) {
            let sum = partial_sums[i];
            if is_finite(sum.xyz) {
                partial_sums[i] = vec4(sum.xyz - each * min(size_of(sum.xyz), mean), sum.w);
            }
        }
    }
//% endif
//% endif
}
