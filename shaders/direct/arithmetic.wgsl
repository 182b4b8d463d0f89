// The numbers of a precision tier, and how sums are carried.
//   single         f32; but positions are pairs where it is asked who is near
//   double-single  positions and velocities are pairs of f32, differences are exact to f32, the pair
//                  function is f32 (few sources: interaction/refined.wgsl), sums are carried as pairs
//   double         f64
alias Real = {{ "f64" if tier == "double" else "f32" }};
alias Real3 = vec3<Real>;
alias Real4 = vec4<Real>;

// A coordinate that no body has: its square is still a number, and farther than any neighbour.
const NOWHERE: Real = Real(1e18);
const FAR: Real = Real(1e36);
// Smallest normal f32: squared distances below it count as zero, as where denormals are flushed.
const SMALLEST: Real = Real(1.1754944e-38);

fn inverse_root(x: Real) -> Real {
//% if tier == "double"
    // Drivers differ in what an f64 root is worth: one turn of Newton's makes all of them good.
    let y = inverseSqrt(x);
    return y * fma(-0.5 * x * y, y, Real(1.5));
//% elif pairs
    // Roots of drivers are off by up to some units in the last place, and more often to one side: over all
    // pairs that is another constant of gravity. One turn of Newton's takes the bias away (5e-8 becomes 1e-10,
    // 1e-9 where a driver has no fused fma: there around 3/4 and not 1, on both sides of which f32 is as fine).
    let y = inverseSqrt(x);
//% if fused
    return fma(y, fma(-(x * y), 0.5 * y, 0.5), y);
//% else
    let near = 0.75 * (x * y);
    return fma(y * (2.0 / 3.0), fma(-near, y, 0.75), y);
//% endif
//% else
    return inverseSqrt(x);
//% endif
}

//% if tier != "double"
// A one that the compiler cannot know.
fn one() -> f32 {
    return bitcast<f32>(params.zero ^ 0x3f800000u);
}

// What a compiler takes for algebra, it simplifies: b - ((a + b) - a) becomes 0 in Mesa and under Metal's
// fast math. A term multiplied by a one that it cannot know hides the sum from it, at no cost where fma is one
// instruction. Without the fence the device's self-test sees low parts being lost.
//% for n in [3, 4]
fn rounded_sum_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
//% if fence or not pairs
    return fma(a, vec{{ n }}(one()), b);
//% else
    return a + b;
//% endif
}

// What a + b lost when it was rounded to `sum` (Knuth's two-sum).
fn lost_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>, sum: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
    let b_there = rounded_sum_{{ n }}(sum, -a);
    let a_there = rounded_sum_{{ n }}(sum, -b_there);
    return rounded_sum_{{ n }}(rounded_sum_{{ n }}(a, -a_there), rounded_sum_{{ n }}(b, -b_there));
}
//% endfor

// b - a of two pairs. The high parts of near neighbours differ exactly.
fn difference(a: vec3<f32>, a_low: vec3<f32>, b: vec3<f32>, b_low: vec3<f32>) -> vec3<f32> {
    return rounded_sum_3(b, -a) + (b_low - a_low);
}
//% endif

// The neighbours of a sink: smallest squared distance, number of the source at it, number of sources in
// the list's radius, and once that is known where in the list they go. Bits of f32, or numbers in f64.
//% if tier == "double"
alias Neighbours = vec4<f64>;

fn neighbours_of(distance: f64, nearest: u32, within: u32, begin: u32) -> Neighbours {
    return vec4(distance, f64(nearest), f64(within), f64(begin));
}

fn distance_in(n: Neighbours) -> f64 {
    return n.x;
}
//% else
alias Neighbours = vec4<u32>;

fn neighbours_of(distance: f32, nearest: u32, within: u32, begin: u32) -> Neighbours {
    return vec4(bitcast<u32>(distance), nearest, within, begin);
}

fn distance_in(n: Neighbours) -> f32 {
    return bitcast<f32>(n.x);
}
//% endif

// The nearer of two; the count of both.
fn nearer(a: Neighbours, b: Neighbours) -> Neighbours {
    let takes_b = distance_in(b) < distance_in(a) || (distance_in(b) == distance_in(a) && b.y < a.y);
    return Neighbours(select(a.xy, b.xy, takes_b), a.z + b.z, a.w);
}
