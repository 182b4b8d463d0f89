// Kicks and drifts of positions and velocities that have five bits more than f32. An increment is a small part of what
// it is added to, and an f32 sum drops its last digits. Along an orbit of regular steps the rounding errors are much
// the same in each revolution and add up. With five more bits, the rounding of the forces dominates.

// Three numbers and what they lack of the exact ones, in 32nds of the spacing of f32 there: from -15 to 15.
struct Fine {
    value: vec3<f32>,
    rest: vec3<f32>,
}

// The rests of a position and of a velocity.
struct Rests {
    position: vec3<f32>,
    velocity: vec3<f32>,
}

// The same numbers as far as anybody but the compiler can tell, which would otherwise reorder sums; `zero` is unknown
// to it.
fn fenced(v: vec3<f32>, zero: u32) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(v) ^ vec3(zero));
}

fn exponents(v: vec3<f32>) -> vec3<u32> {
    return max((bitcast<vec3<u32>>(v) >> vec3(23u)) & vec3(255u), vec3(28u));
}

// A 32nd of the spacing at these numbers; 0 below 2^-99, where it is no normal number.
fn unit_of(v: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>((exponents(v) - vec3(28u)) << vec3(23u));
}

fn units_per_one(v: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>((vec3(282u) - exponents(v)) << vec3(23u));
}

// 1.5 * 2^23: a small number added to it leaves the nearest integer in the last bits of the sum.
const INTEGERS = 12582912.0;

// a + increment, where the increment includes the rest of a and is usually the smaller one: then the second number is
// exactly what the sum drops (fast two-sum, Dekker 1971). If the increment is larger, at most the rounding of an f32
// sum is lost, of a number that is small for an orbit.
fn plus(a: vec3<f32>, increment: vec3<f32>, zero: u32) -> Fine {
    let sum = fenced(a + increment, zero);
    let dropped = increment - fenced(sum - a, zero);
    let counts = clamp(dropped * units_per_one(sum), vec3(-15.0), vec3(15.0));
    return Fine(sum, fenced(counts + vec3(INTEGERS), zero) - vec3(INTEGERS));
}

fn kicked(velocity: Fine, acceleration: vec3<f32>, time: f32, zero: u32) -> Fine {
    let rest = velocity.rest * unit_of(velocity.value);
    return plus(velocity.value, fma(acceleration, vec3(time), rest), zero);
}

// Six rests of five bits in a word that is a normal number if read as an f32: its bits 30 and 29 are 01. 0 holds no
// rests.
fn unpacked(word: f32) -> Rests {
    let bits = bitcast<u32>(word);
    let counts = (bits & 0x1fffffffu) | ((bits >> 2u) & 0x20000000u);
    return Rests(signed(vec3(counts) >> vec3(0u, 5u, 10u)), signed(vec3(counts) >> vec3(15u, 20u, 25u)));
}

// The last five bits as a signed integer.
fn signed(bits: vec3<u32>) -> vec3<f32> {
    let from_0 = (bits & vec3(31u)) ^ vec3(16u);
    return bitcast<vec3<f32>>(vec3(0x4b400000u) | from_0) - vec3(INTEGERS + 16.0);
}

fn last_bits(rest: vec3<f32>) -> vec3<u32> {
    return bitcast<vec3<u32>>(rest + vec3(INTEGERS)) & vec3(31u);
}

fn packed(rests: Rests) -> f32 {
    let position = last_bits(rests.position) << vec3(0u, 5u, 10u);
    let velocity = last_bits(rests.velocity) << vec3(15u, 20u, 25u);
    let both = position | velocity;
    let counts = both.x | both.y | both.z;
    return bitcast<f32>((counts & 0x1fffffffu) | ((counts & 0x20000000u) << 2u) | 0x20000000u);
}

// A body after its drift, with the rests of both.
struct Drifted {
    position: vec4<f32>,
    velocity: vec3<f32>,
    rests: f32,
}

// A body that leaves the range of f32, because its step was too long, stays in place without mass and with NaN as its
// velocity: the host then reports it, and it does not affect others. Tested by bits, because compilers may assume that
// no number is NaN; `zero` is unknown to them.
fn drifted(position: vec4<f32>, rest: vec3<f32>, velocity: Fine, time: f32, zero: u32) -> Drifted {
    let rests = fma(velocity.rest * unit_of(velocity.value), vec3(time), rest * unit_of(position.xyz));
    let moved = plus(position.xyz, fma(velocity.value, vec3(time), rests), zero);
    let infinite = vec3(0x7f800000u);
    if any((bitcast<vec3<u32>>(moved.value) & infinite) == infinite) {
        return Drifted(vec4(position.xyz, 0.0), vec3(bitcast<f32>(zero | 0x7fc00000u)), 0.0);
    }
    return Drifted(vec4(moved.value, position.w), velocity.value, packed(Rests(moved.rest, velocity.rest)));
}
