// l < theta times the distance between the boxes (Gaburov, Bedorf and Portegies Zwart 2010). The opening is theta.
fn critical_of(mass: f32, radius: f32, edge: f32, offset: f32, opening: f32) -> f32 {
    let least = edge / opening;
    return least * least;
}

fn reach_of(least_acceleration: f32, opening: f32) -> f32 {
    return 1.0;
}

fn is_far(distance_squared: f32, reach: f32, critical: f32, radius_squared: f32) -> bool {
    return distance_squared > critical;
}
