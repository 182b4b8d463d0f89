// Momentum: the net force, which should vanish in a closed system, is distributed over the bodies and subtracted
// (src/forces/tree/balance.rs gives the method). Four kernels: "greatest" finds the unit of the sums; "sum" adds up the
// forces, their magnitudes and the masses; "share" the weights m min(|a|, mean); "take" subtracts. Sums are of
// integers, so that they depend neither on the order nor on how bodies are divided among devices.
//% include "tree/common.wgsl"

//% if stage == "take"
@group(0) @binding(0) var<storage, read_write> partial_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> state: TreeState;
//% else
@group(0) @binding(0) var<storage, read> partial_sums: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read> bodies: array<vec4<f32>>;
//% endif

const THREADS = 256u;
const LEAST_REST = f32({{ least_rest }});
const INFINITE = 0x7f800000u;

// Tested by bits: compilers may assume that every number is finite.
fn is_finite(x: vec3<f32>) -> bool {
    return all((bitcast<vec3<u32>>(x) & vec3(INFINITE)) != vec3(INFINITE));
}

// The length, even if its square leaves the range of f32.
fn size_of(x: vec3<f32>) -> f32 {
    let greatest = max(abs(x.x), max(abs(x.y), abs(x.z)));
    return select(0.0, greatest * length(x / greatest), greatest > 0.0);
}

//% if stage == "greatest"
var<workgroup> found: array<atomic<u32>, 2>;
//% else
// A 64-bit integer, the lower word first, in two's complement. The unit of a sum is 2^(unit - 150): with the exponent
// of the greatest number, n < 2^k of them stay below 2^62. Rounding each to the unit changes a sum by some sqrt(n)
// 2^(k - 62) of the greatest.
fn unit_for(greatest: u32) -> u32 {
    let k = 32u - countLeadingZeros(state.all_bodies);
    return max((greatest >> 23u) + min(k, 36u), 39u) - 38u;
}

fn negated(a: vec2<u32>) -> vec2<u32> {
    return vec2(~a.x + 1u, ~a.y + u32(a.x == 0u));
}

fn integer_of(x: f32, unit: u32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 0xffu;
    let mantissa = (bits & 0x7fffffu) | select(0u, 0x800000u, exponent > 0u);
    let own = max(exponent, 1u);
    var whole = vec2(0u);
    if own >= unit {
        // At most 37.
        let up = own - unit;
        if up >= 32u {
            whole.y = mantissa << (up - 32u);
        } else {
            whole.x = mantissa << up;
            whole.y = select(mantissa >> (32u - max(up, 1u)), 0u, up == 0u);
        }
    } else {
        let down = min(unit - own, 25u);
        whole.x = (mantissa + (1u << (down - 1u))) >> down;
    }
    return select(whole, negated(whole), vec2((bits >> 31u) == 1u));
}

fn plus(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + u32(low < a.x));
}

fn number_of(a: vec2<u32>, unit: u32) -> f32 {
    let is_negative = (a.y >> 31u) == 1u;
    let size = select(a, negated(a), vec2(is_negative));
    let number = f32(size.y) * 4294967296.0 + f32(size.x);
    // 2^(unit - 150) in two steps, each in the range of f32.
    return select(number, -number, is_negative) * (1.0 / 8388608.0) * bitcast<f32>(unit << 23u);
}

// The bits of the greatest force (0) or mass (1) of this device, or of all ranks in the last evaluation if those are
// greater: ranks exchange their maxima only after the sums.
fn greatest_of(k: u32) -> u32 {
    return max(atomicLoad(&tally[GREATEST + k]), atomicLoad(&tally[EXPECTED + k]));
}

fn force_unit() -> u32 {
    return unit_for(greatest_of(0u));
}
//% endif

//% if stage == "sum" or stage == "share"
//% set sums = 5 if stage == "sum" else 1
const SUMS = {{ sums }}u;
var<workgroup> found: array<atomic<u32>, {{ 2 * sums }}>;

fn add_here(k: u32, a: vec2<u32>) {
    let before = atomicAdd(&found[2u * k], a.x);
    atomicAdd(&found[2u * k + 1u], a.y + u32(before + a.x < before));
}
//% endif

//% if stage == "share" or stage == "take"
fn sum_of(k: u32) -> vec2<u32> {
    return vec2(atomicLoad(&tally[FORCES + 2u * k]), atomicLoad(&tally[FORCES + 2u * k + 1u]));
}

// The sum of the magnitudes of all forces.
fn force() -> f32 {
    return number_of(sum_of(3u), force_unit());
}

// The three leading bits of a sum. With them alone the mean is nearly always that of the step before, with which ranks
// can add up shares before they know the sums of all.
fn leading(a: vec2<u32>) -> vec2<u32> {
    let bits = select(64u - countLeadingZeros(a.y), 32u - countLeadingZeros(a.x), a.y == 0u);
    let low = max(bits, 3u) - 3u;
    let mask = vec2(0xffffffffu) << vec2(min(low, 31u), max(low, 32u) - 32u);
    return a & select(mask, vec2(0u, mask.y), low >= 32u);
}

// The sum of sizes (0) or masses (1) for the mean.
fn sum_for_mean(k: u32) -> vec2<u32> {
    let at = EXPECTED_MEAN + 2u * k;
    let expected = vec2(atomicLoad(&tally[at]), atomicLoad(&tally[at + 1u]));
    return select(leading(sum_of(3u + k)), expected, any(expected != vec2(0u)));
}

// The mean acceleration to within a quarter.
fn mean() -> f32 {
    let force = number_of(sum_for_mean(0u), force_unit());
    return force / number_of(sum_for_mean(1u), unit_for(greatest_of(1u)));
}
//% endif

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let count = state.own_bodies;
    let first = workgroup.x * THREADS + thread;
    let stride = workgroups.x * THREADS;
//% if stage == "greatest"
    if thread < 2u {
        atomicStore(&found[thread], 0u);
    }
    workgroupBarrier();
    var greatest = vec2(0.0);
    for (var i = first; i < count; i += stride) {
        let acceleration = partial_sums[i].xyz;
        if is_finite(acceleration) {
            let mass = bodies[i].w;
            greatest = max(greatest, vec2(mass * size_of(acceleration), mass));
        }
    }
    // The bits of positive numbers have their order.
    atomicMax(&found[0], bitcast<u32>(greatest.x));
    atomicMax(&found[1], bitcast<u32>(greatest.y));
    workgroupBarrier();
    if thread < 2u {
        atomicMax(&tally[GREATEST + thread], atomicLoad(&found[thread]));
    }
//% elif stage == "take"
    let force = force();
    let mean = mean();
    let unit = force_unit();
    let rest = vec3(number_of(sum_of(0u), unit), number_of(sum_of(1u), unit), number_of(sum_of(2u), unit));
    let each = rest / number_of(sum_of(5u), unit);
    // A smaller rest is rounding.
    if is_finite(vec3(force)) && size_of(rest) > LEAST_REST * force {
        for (var i = first; i < count; i += stride) {
            let sum = partial_sums[i];
            if is_finite(sum.xyz) {
                partial_sums[i] = vec4(sum.xyz - each * min(size_of(sum.xyz), mean), sum.w);
            }
        }
    }
//% else
    if thread < 2u * SUMS {
        atomicStore(&found[thread], 0u);
    }
    workgroupBarrier();
    let unit = force_unit();
    //% if stage == "sum"
    let mass_unit = unit_for(greatest_of(1u));
    //% else
    let mean = mean();
    //% endif
    //% for k in range(sums)
    var sum_{{ k }} = vec2(0u);
    //% endfor
    for (var i = first; i < count; i += stride) {
        let acceleration = partial_sums[i].xyz;
        if is_finite(acceleration) {
            let mass = bodies[i].w;
            let size = size_of(acceleration);
            //% if stage == "sum"
            let force = mass * acceleration;
            sum_0 = plus(sum_0, integer_of(force.x, unit));
            sum_1 = plus(sum_1, integer_of(force.y, unit));
            sum_2 = plus(sum_2, integer_of(force.z, unit));
            sum_3 = plus(sum_3, integer_of(mass * size, unit));
            sum_4 = plus(sum_4, integer_of(mass, mass_unit));
            //% else
            sum_0 = plus(sum_0, integer_of(mass * min(size, mean), unit));
            //% endif
        }
    }
    //% for k in range(sums)
    add_here({{ k }}u, sum_{{ k }});
    //% endfor
    workgroupBarrier();
    if thread < SUMS {
        let low = atomicLoad(&found[2u * thread]);
        let high = atomicLoad(&found[2u * thread + 1u]);
        let at = {{ "FORCES" if stage == "sum" else "SHARES" }} + 2u * thread;
        let before = atomicAdd(&tally[at], low);
        atomicAdd(&tally[at + 1u], high + u32(before + low < before));
    }
//% endif
}
