// Kicks and drifts of positions and velocities that have five bits more than f32. A step's increments are a small part of
// what they are added to and lose their last digits there, in f32 at each step anew; along an orbit of regular steps these
// losses are much the same in each revolution and add up. Five bits are enough: what remains is the rounding of forces.

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

// The same numbers as far as anybody but the compiler can tell, which would otherwise reorder sums; `zero` is unknown to it.
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

// a + b + c, where c is small: a two-sum with what is lost kept (Kahan 1965; Dekker 1971, fast two-sum).
fn plus(a: Fine, b: vec3<f32>, c: vec3<f32>, zero: u32) -> Fine {
    let sum = fenced(a.value + b, zero);
    let is_larger = abs(a.value) >= abs(b);
    let added = fenced(sum - select(b, a.value, is_larger), zero);
    let lost = fenced(select(a.value, b, is_larger) - added, zero);
    let rest = fenced(lost + (a.rest * unit_of(a.value) + c), zero);
    let value = fenced(sum + rest, zero);
    let left = rest - fenced(value - sum, zero);
    return Fine(value, clamp(round(left * units_per_one(value)), vec3(-15.0), vec3(15.0)));
}

fn kicked(velocity: Fine, acceleration: vec3<f32>, time: f32, zero: u32) -> Fine {
    return plus(velocity, fenced(acceleration * time, zero), vec3(0.0), zero);
}

// Six rests of five bits in a word that is a normal number if read as an f32: its bits 30 and 29 are 01. 0 holds no rests.
fn unpacked(word: f32) -> Rests {
    let bits = bitcast<u32>(word);
    let counts = (bits & 0x1fffffffu) | ((bits >> 2u) & 0x20000000u);
    let high = vec3(27u, 22u, 17u);
    let low = vec3(12u, 7u, 2u);
    return Rests(
        vec3<f32>(bitcast<vec3<i32>>(vec3(counts) << high) >> vec3(27u)),
        vec3<f32>(bitcast<vec3<i32>>(vec3(counts) << low) >> vec3(27u)),
    );
}

fn packed(rests: Rests) -> f32 {
    let position = (bitcast<vec3<u32>>(vec3<i32>(rests.position)) & vec3(31u)) << vec3(0u, 5u, 10u);
    let velocity = (bitcast<vec3<u32>>(vec3<i32>(rests.velocity)) & vec3(31u)) << vec3(15u, 20u, 25u);
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
    let more = fenced(velocity.rest * unit_of(velocity.value) * time, zero);
    let moved = plus(Fine(position.xyz, rest), fenced(velocity.value * time, zero), more, zero);
    let infinite = vec3(0x7f800000u);
    if any((bitcast<vec3<u32>>(moved.value) & infinite) == infinite) {
        return Drifted(vec4(position.xyz, 0.0), vec3(bitcast<f32>(zero | 0x7fc00000u)), 0.0);
    }
    return Drifted(vec4(moved.value, position.w), velocity.value, packed(Rests(moved.rest, velocity.rest)));
}
