// Moments of one level's cells from those of their children, which are a level deeper and done.
//% include "tree/common.wgsl"
//% include "tree/record.wgsl"

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let cell = state.levels[params.level] + (workgroup.y * workgroups.x + workgroup.x) * 64u + thread;
    if cell >= state.levels[params.level + 1u] {
        return;
    }
    let word = cell_open[2u * cell + 1u].y;
    if word == IS_LEAF {
        return;
    }
    let begin = first_child(word);
    let end = begin + children_of(word);

    let anchor = cell_force[3u * begin].xyz;
    var first = vec4(0.0);
    var moment: Moment;
    moment.lower = cell_box[2u * begin].xyz;
    moment.upper = cell_box[2u * begin + 1u].xyz;
    for (var child = begin; child < end; child++) {
        let mass = cell_force[3u * child];
        first += vec4(mass.w * (mass.xyz - anchor), mass.w);
        moment.lower = min(moment.lower, cell_box[2u * child].xyz);
        moment.upper = max(moment.upper, cell_box[2u * child + 1u].xyz);
    }
    moment.mass = first.w;
    moment.centre = centre_of(anchor, first, moment.lower, moment.upper);
    var farthest = 0.0;
    for (var child = begin; child < end; child++) {
        let mass = cell_force[3u * child];
        let d = mass.xyz - moment.centre;
        moment.diagonal += cell_force[3u * child + 1u].xyz + 3.0 * mass.w * d * d;
        moment.beside += cell_force[3u * child + 2u].xyz + 3.0 * mass.w * vec3(d.x * d.y, d.x * d.z, d.y * d.z);
        farthest = max(farthest, length(d) + sqrt(bitcast<f32>(cell_open[2u * child + 1u].x)));
    }
    let corner = max(moment.centre - moment.lower, moment.upper - moment.centre);
    moment.radius = min(farthest, length(corner)) * WIDENED;
    record(cell, moment);
}
