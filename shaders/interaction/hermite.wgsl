// The pair function with derivatives: acceleration, potential, jerk (Makino and Aarseth 1992) and snap
// (Nitadori and Makino 2008), Plummer-softened, with r = x_j - x_i, v = v_j - v_i, R^2 = r^2 + eps^2:
//   A = m r / R^3
//   J = m v / R^3 - 3 alpha A             alpha = (r . v) / R^2
//   S = m a / R^3 - 6 alpha J - 3 beta A  beta = (v^2 + r . a) / R^2 + alpha^2
// Here all three are m / R^3 times a vector.
struct Sums {
    acceleration: Real3,
    potential: Real,
//% if order >= 1
    jerk: Real3,
//% endif
//% if order >= 2
    snap: Real3,
//% endif
}

fn softening_squared() -> Real {
//% if tier == "double"
    return Real(params.softening_squared) + Real(params.softening_low) + Real(params.softening_lowest);
//% else
    return params.softening_squared;
//% endif
}

fn attract(before: Sums, towards: Real3, distance_squared: Real, mass: Real
//% if order >= 1
    , velocity: Real3
//% endif
//% if order >= 2
    , acceleration: Real3
//% endif
) -> Sums {
    var sums = before;
    let softened = distance_squared + softening_squared();
//% if softened
    let inverse = inverse_root(softened);
//% else
    // eps = 0 and two bodies in one place: no force.
    let inverse = select(inverse_root(softened), Real(0.0), softened < SMALLEST);
//% endif
    let inverse_squared = inverse * inverse;
    let weight = mass * inverse;
    let pull = weight * inverse_squared;
    sums.potential -= weight;
    sums.acceleration = fma(Real3(pull), towards, sums.acceleration);
//% if order >= 1
    let alpha_3 = Real(3.0) * (dot(towards, velocity) * inverse_squared);
    let jerk = fma(Real3(-alpha_3), towards, velocity);
    sums.jerk = fma(Real3(pull), jerk, sums.jerk);
//% endif
//% if order >= 2
    let grows = dot(velocity, velocity) + dot(towards, acceleration);
    let beta_3 = fma(alpha_3 * alpha_3, Real(1.0 / 3.0), Real(3.0) * (grows * inverse_squared));
    let snap = fma(Real3(-2.0 * alpha_3), jerk, fma(Real3(-beta_3), towards, acceleration));
    sums.snap = fma(Real3(pull), snap, sums.snap);
//% endif
    return sums;
}
