// The next sphere of each group, one workgroup per group: see density_centre in src/diagnostics.rs, which
// does the same in f64.
//% include "diagnostics/params.wgsl"
//% include "diagnostics/inside.wgsl"

@group(0) @binding(0) var<storage, read> parts: array<Inside>;
@group(0) @binding(1) var<storage, read_write> groups: array<DiagnosisGroup>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let before = groups[workgroup.x];
    var mine = Inside();
    for (var k = before.first_chunk + lane; k < before.end_chunk; k += THREADS) {
        let part = parts[k];
        mine.weighted += part.weighted;
        mine.reach_squared = max(mine.reach_squared, part.reach_squared);
        mine.count += part.count;
    }
    let inside = gathered(lane, mine);
    if lane != 0u || before.done == 1u {
        return;
    }
    groups[workgroup.x].round = before.round + 1u;
    if inside.count < before.least || inside.weighted.w <= 0.0 {
        groups[workgroup.x].done = 1u;
        return;
    }
    let shift = inside.weighted.xyz / inside.weighted.w;
    groups[workgroup.x].centre = before.centre + shift;
    // The first sphere holds everything, around an arbitrary point; so does the second, around the mean.
    if before.round > 0u {
        let reach = sqrt(inside.reach_squared) + length(shift);
        let radius = {{ shrink }} * min(sqrt(before.radius_squared), reach);
        groups[workgroup.x].radius_squared = radius * radius;
        if inside.count <= before.least || radius == 0.0 {
            groups[workgroup.x].done = 1u;
        }
    }
}
