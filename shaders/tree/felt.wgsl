// How strongly a sink is attracted, by its last acceleration. Needs `accelerations`, `order`, `state` and `tally`.

//% include "tree/least.wgsl"

fn strength_of(sink: u32, least: f32) -> f32 {
    var strength = length(accelerations[order[sink]].xyz);
    if !is_somewhere(vec3(strength)) {
        strength = 0.0;
    }
    return max(strength, least);
}
