// Forces and potentials of an external field, the sum of the potentials in `potentials`, in the units of the bodies'
// frame. src/field/laws.rs has the same laws in f64, and docs/fields.md the formulas. Where one cancels near the centre
// there is a series of positive terms instead: the logarithm and the arctangent of WGSL have few digits there.

const FAR_SQUARE = 1e37;
const LEAST_SQUARE = 1e-37;

// 1/3 + s^2/5 + s^4/7 + .. for s <= 1/2: the rest is below 2e-9.
fn odd_series(s: f32) -> f32 {
    let square = s * s;
    var sum = 0.0;
    for (var k = 25.0; k > 2.0; k -= 2.0) {
        sum = sum * square + 1.0 / k;
    }
    return sum;
}

// ln(1 + x) for x >= 0: twice the area hyperbolic tangent of s = x/(x + 2).
fn log_1p(x: f32) -> f32 {
    let s = x / (x + 2.0);
    return select(log(1.0 + x), 2.0 * (s + s * s * s * odd_series(min(s, 0.5))), x < 2.0);
}

// (ln(1 + x) - x/(1 + x)) / x^2.
fn nfw_strength(x: f32) -> f32 {
    if x > 2.0 {
        return (log(1.0 + x) - x / (1.0 + x)) / x / x;
    }
    let s = x / (x + 2.0);
    return 0.5 * (1.0 - s) * (1.0 - s) * (1.0 / (1.0 + s) + s * odd_series(s));
}

// (1 - arctan(x)/x) (1 + u) / u for u = x^2 <= 1 by Euler's series: the rest is below 1e-8.
fn euler_series(u: f32) -> f32 {
    let w = u / (1.0 + u);
    var sum = 0.0;
    var term = 1.0;
    for (var odd = 3.0; odd < 48.0; odd += 2.0) {
        sum += term / odd;
        term *= w * (odd - 1.0) / odd;
    }
    return sum;
}

// 1 - arctan(x)/x for u = x^2.
fn core_lack(u: f32) -> f32 {
    if u <= 1.0 {
        return u / (1.0 + u) * euler_series(u);
    }
    let inverse = 1.0 / u;
    return 1.0 - 1.57079632679 * sqrt(inverse) + inverse * (1.0 - inverse / (1.0 + inverse) * euler_series(inverse));
}

// Towards the centre with this strength, which is not 0 at the centre.
fn cusp(x: vec3<f32>, square: f32, strength: f32) -> vec3<f32> {
    return select(vec3(0.0), -strength / sqrt(square) * x, square > LEAST_SQUARE && square < FAR_SQUARE);
}

fn point_acceleration(x: vec3<f32>, mass: f32, softening: f32) -> vec3<f32> {
    let square = dot(x, x);
    if softening == 0.0 {
        return cusp(x, square, mass / square);
    }
    let softened = square + softening * softening;
    return -(mass / softened / sqrt(softened)) * x;
}

fn point_potential(x: vec3<f32>, mass: f32, softening: f32) -> f32 {
    let square = dot(x, x) + softening * softening;
    return select(0.0, -mass / sqrt(square), square > LEAST_SQUARE);
}

fn plummer_acceleration(x: vec3<f32>, mass: f32, scale: f32) -> vec3<f32> {
    return point_acceleration(x, mass, scale);
}

fn plummer_potential(x: vec3<f32>, mass: f32, scale: f32) -> f32 {
    return point_potential(x, mass, scale);
}

fn hernquist_acceleration(x: vec3<f32>, mass: f32, scale: f32) -> vec3<f32> {
    let square = dot(x, x);
    let reach = sqrt(square) + scale;
    return cusp(x, square, mass / reach / reach);
}

fn hernquist_potential(x: vec3<f32>, mass: f32, scale: f32) -> f32 {
    return -mass / (length(x) + scale);
}

fn nfw_acceleration(x: vec3<f32>, mass: f32, scale: f32) -> vec3<f32> {
    let square = dot(x, x);
    return cusp(x, square, mass / scale / scale * nfw_strength(min(sqrt(square) / scale, 1e30)));
}

fn nfw_potential(x: vec3<f32>, mass: f32, scale: f32) -> f32 {
    // ln(1 + x)/x tends to 1 - x/2.
    let r = clamp(length(x) / scale, 1e-30, 1e30);
    return -mass / scale * log_1p(r) / r;
}

fn isothermal_acceleration(x: vec3<f32>, speed: f32, core: f32) -> vec3<f32> {
    let u = dot(x / core, x / core);
    let pull = select(core_lack(u) / u, euler_series(min(u, 1.0)) / (1.0 + u), u <= 1.0);
    return select(vec3(0.0), -(speed / core) * (speed / core) * pull * x, u < FAR_SQUARE);
}

fn isothermal_potential(x: vec3<f32>, speed: f32, core: f32) -> f32 {
    let u = min(dot(x / core, x / core), FAR_SQUARE);
    return speed * speed * (0.5 * log_1p(u) - core_lack(u));
}

fn logarithmic_acceleration(x: vec3<f32>, speed: f32, core: f32, flattening: f32) -> vec3<f32> {
    let thinner = vec3(x.xy, x.z / flattening / flattening);
    return -(speed * speed / (core * core + dot(x, thinner))) * thinner;
}

fn logarithmic_potential(x: vec3<f32>, speed: f32, core: f32, flattening: f32) -> f32 {
    let thinner = vec3(x.xy, x.z / flattening) / core;
    return 0.5 * speed * speed * log_1p(min(dot(thinner, thinner), FAR_SQUARE));
}

fn miyamoto_nagai_acceleration(x: vec3<f32>, mass: f32, scale: f32, height: f32) -> vec3<f32> {
    let thick = length(vec2(x.z, height));
    let sum = dot(x.xy, x.xy) + (scale + thick) * (scale + thick);
    return -(mass / sum / sqrt(sum)) * vec3(x.xy, x.z / thick * (scale + thick));
}

fn miyamoto_nagai_potential(x: vec3<f32>, mass: f32, scale: f32, height: f32) -> f32 {
    return -mass / length(vec3(x.xy, scale + length(vec2(x.z, height))));
}

fn tidal_acceleration(
    x: vec3<f32>, xx: f32, yy: f32, zz: f32, xy: f32, xz: f32, yz: f32,
) -> vec3<f32> {
    return vec3(dot(vec3(xx, xy, xz), x), dot(vec3(xy, yy, yz), x), dot(vec3(xz, yz, zz), x));
}

fn tidal_potential(x: vec3<f32>, xx: f32, yy: f32, zz: f32, xy: f32, xz: f32, yz: f32) -> f32 {
    return -0.5 * dot(x, tidal_acceleration(x, xx, yy, zz, xy, xz, yz));
}

fn external_acceleration(position: vec3<f32>) -> vec3<f32> {
    var sum = vec3(0.0);
    //% for one in potentials
    sum += {{ one.law }}_acceleration(position - vec3({{ one.centre }}), {{ one.values }});
    //% endfor
    return sum;
}

fn external_potential(position: vec3<f32>) -> f32 {
    var sum = 0.0;
    //% for one in potentials
    sum += {{ one.law }}_potential(position - vec3({{ one.centre }}), {{ one.values }});
    //% endfor
    return sum;
}
