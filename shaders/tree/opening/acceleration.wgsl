// By the error that a cell may cause in the sinks' accelerations (Miki and Umemura 2017): m r^3 < alpha a d^5, or
// m r^2 < alpha a d^4 with monopoles. In powers that stay within f32; the opening is log2 of alpha.
fn critical_of(mass: f32, radius: f32, edge: f32, offset: f32, opening: f32) -> f32 {
    //% if quadrupole
    let size = exp2(0.4 * log2(mass) + 1.2 * log2(radius));
    //% else
    let size = exp2(0.5 * log2(mass) + log2(radius));
    //% endif
    return select(0.0, size, radius > 0.0);
}

fn reach_of(least_acceleration: f32, opening: f32) -> f32 {
    // At least 2^-100.
    return exp2({{ "0.4" if quadrupole else "0.5" }} * (opening + log2(max(least_acceleration, 7.888609e-31))));
}

fn is_far(distance_squared: f32, reach: f32, critical: f32, radius_squared: f32) -> bool {
    // Never right next to the cell: the error bound does not hold for sinks at its border.
    return distance_squared * reach > critical && distance_squared * {{ near_squared }} > radius_squared;
}
