// The numbers of a precision tier, and how sums are carried.
//   single         f32; but positions are pairs if neighbours are requested
//   double-single  positions and velocities are pairs of f32, differences are exact to f32, the pair
//                  function is f32 (few sources: interaction/refined.wgsl), sums are carried as pairs
//   double         f64
alias Real = {{ "f64" if tier == "double" else "f32" }};
alias Real3 = vec3<Real>;
alias Real4 = vec4<Real>;

// A coordinate that no body has: farther than any neighbour, but its square is still finite.
const NOWHERE: Real = Real(1e18);
const FAR: Real = Real(1e36);
// Smallest normal f32: smaller squared distances count as zero, as on devices that flush denormals.
const SMALLEST: Real = Real(1.1754944e-38);

fn inverse_root(x: Real) -> Real {
//% if tier == "double"
    // Drivers differ in the accuracy of an f64 root: one Newton step makes all of them accurate.
    let y = inverseSqrt(x);
    return y * fma(-0.5 * x * y, y, Real(1.5));
//% elif pairs
    // Drivers' roots are off by up to a few units in the last place, more often to one side: over all pairs
    // that acts like a different constant of gravity. One Newton step removes the bias (5e-8 becomes 1e-10;
    // 1e-9 without a fused fma: there around 3/4 and not 1, as f32 is equally fine on both sides of 3/4).
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
// A 1 that the compiler cannot know.
fn one() -> f32 {
    return bitcast<f32>(params.zero ^ 0x3f800000u);
}

// Compilers simplify such terms algebraically: b - ((a + b) - a) becomes 0 in Mesa and under Metal's fast
// math. Multiplying a term by a 1 that it cannot know hides the sum from the compiler, at no cost where fma
// is one instruction. Without this fence the device's self-test finds that low parts are lost.
//% for n in [3, 4]
fn rounded_sum_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
//% if fence or not pairs
    return fma(a, vec{{ n }}(one()), b);
//% else
    return a + b;
//% endif
}

// The rounding error of a + b, rounded to `sum` (Knuth's two-sum).
fn lost_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>, sum: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
    let b_there = rounded_sum_{{ n }}(sum, -a);
    let a_there = rounded_sum_{{ n }}(sum, -b_there);
    return rounded_sum_{{ n }}(rounded_sum_{{ n }}(a, -a_there), rounded_sum_{{ n }}(b, -b_there));
}
//% endfor

// b - a of two pairs. The difference of the high parts is exact for near neighbours.
fn difference(a: vec3<f32>, a_low: vec3<f32>, b: vec3<f32>, b_low: vec3<f32>) -> vec3<f32> {
    return rounded_sum_3(b, -a) + (b_low - a_low);
}
//% endif

// The neighbours of a sink: smallest squared distance, number of that source, number of sources within
// the list's radius and, once known, where they go in the list. Bits of f32, or numbers in f64.
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
