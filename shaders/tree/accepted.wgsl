// How an accepted cell acts: as a point, by an expansion, or with its quadrupole on each sink (src/forces/tree/far.rs).

// The error that a cell may cause, by the rule `acceleration`; the opening is log2 of alpha.
fn allowance_of(least_acceleration: f32, opening: f32) -> f32 {
    return exp2(opening + log2(max(least_acceleration, 7.888609e-31)));
}

// Whether a cell acts as a point: its quadrupole, at most 1.5 trace Q / d^4, is a small part of the allowance.
fn is_point(distance_squared: f32, trace: f32, allowance: f32) -> bool {
    return trace < {{ point }} * allowance * distance_squared * distance_squared;
}

// Whether the expansion of a cell about the middle of the sinks, from which `towards` leads to it, is good enough: with
// R the distance of the farthest sink, R < 0.7 d and 5 (m R^4 + 3 trace Q R^2) / d^6 is below what may be lost.
fn is_expanded(towards: vec3<f32>, extent_squared: f32, mass: f32, trace: f32, lost: f32) -> bool {
    let d2 = dot(towards, towards) + params.softening_squared;
    return extent_squared < 0.49 * d2
        && 5.0 * extent_squared * (mass * extent_squared + 2.0 * trace) < lost * d2 * d2 * d2;
}
