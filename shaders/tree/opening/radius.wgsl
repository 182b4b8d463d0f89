// By the angle under which the sinks see the cell's radius (Dehnen 2000): r < theta d. The opening is theta.
fn critical_of(mass: f32, radius: f32, edge: f32, offset: f32, opening: f32) -> f32 {
    let least = radius / opening;
    return least * least;
}

fn reach_of(least_acceleration: f32, opening: f32) -> f32 {
    return opening * opening;
}

// Uses the radius itself, so that a run's first step can use this rule with the cells of another.
fn is_far(distance_squared: f32, reach: f32, critical: f32, radius_squared: f32) -> bool {
    return distance_squared * reach > radius_squared;
}
