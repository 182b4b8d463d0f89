// How strongly a sink is attracted, by its last acceleration. Needs `accelerations`, `order`, `state` and `tally`.

// A body at a centre of symmetry feels almost no force: at least a thousandth of the (logarithmic) mean counts.
fn least_strength() -> f32 {
    let logs = f32(atomicLoad(&tally[LOG_LOW])) + 4294967296.0 * f32(atomicLoad(&tally[LOG_HIGH]));
    return 0.001 * exp2(logs / (64.0 * f32(state.counted)) - 128.0);
}

fn strength_of(sink: u32, least: f32) -> f32 {
    var strength = length(accelerations[order[sink]].xyz);
    if !is_somewhere(vec3(strength)) {
        strength = 0.0;
    }
    return max(strength, least);
}
