// The numbers of a precision tier, and how sums are carried.
//   single         f32
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

fn softening_squared() -> Real {
//% if tier == "double"
    return Real(params.softening_squared) + Real(params.softening_low) + Real(params.softening_lowest);
//% else
    return params.softening_squared;
//% endif
}

fn inverse_root(x: Real) -> Real {
//% if tier == "double"
    // Drivers differ in what an f64 root is worth: one turn of Newton's makes all of them good.
    let y = inverseSqrt(x);
    return y * fma(-0.5 * x * y, y, Real(1.5));
//% elif pairs
    // Roots of drivers are off by up to some units in the last place, and more often to one side: over all
    // pairs that is another constant of gravity. One turn of Newton's takes the bias away (5e-8 becomes 1e-10,
    // 1e-9 where a driver has no fused fma); around 3/4 and not 1, on both sides of which f32 is as fine.
    let y = inverseSqrt(x);
    let near = 0.75 * (x * y);
    return fma(y * (2.0 / 3.0), fma(-near, y, 0.75), y);
//% else
    return inverseSqrt(x);
//% endif
}

//% if pairs
// What a compiler takes for algebra, it simplifies: b - ((a + b) - a) becomes 0 in Mesa and under Metal's
// fast math. The exclusive or with a zero that it cannot know hides the value at hand. Which results
// need hiding depends on the compiler, and the device's self-test finds out (`fence`):
//   0 none, 1 those of the first three operations, 2 all, 3 also the differences of the high parts.
//% for n in [3, 4]
//% for level in [1, 2, 3]
fn hide_{{ level }}_{{ n }}(x: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
//% if fence >= level
    return bitcast<vec{{ n }}<f32>>(bitcast<vec{{ n }}<u32>>(x) ^ vec{{ n }}(params.zero));
//% else
    return x;
//% endif
}
//% endfor

fn rounded_sum_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
    return hide_1_{{ n }}(a + b);
}

// What a + b lost when it was rounded to `sum` (Knuth's two-sum).
fn lost_{{ n }}(a: vec{{ n }}<f32>, b: vec{{ n }}<f32>, sum: vec{{ n }}<f32>) -> vec{{ n }}<f32> {
    let b_there = hide_1_{{ n }}(sum - a);
    let a_there = hide_1_{{ n }}(sum - b_there);
    return hide_2_{{ n }}(hide_2_{{ n }}(a - a_there) + hide_2_{{ n }}(b - b_there));
}
//% endfor

// b - a of two pairs. The high parts of near neighbours differ exactly.
fn difference(a: vec3<f32>, a_low: vec3<f32>, b: vec3<f32>, b_low: vec3<f32>) -> vec3<f32> {
    return hide_3_3(b - a) + (b_low - a_low);
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
