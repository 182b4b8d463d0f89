// Finds which members of a chunk lie within its group's sphere.
//% include "diagnostics/visit.wgsl"
//% include "diagnostics/inside.wgsl"

@group(0) @binding(5) var<storage, read_write> parts: array<Inside>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let chunk = chunks[workgroup.x];
    let sphere = groups[chunk.group];
    let end = select(chunk.end, chunk.begin, sphere.done == 1u);
    var mine = Inside();
    for (var k = chunk.begin + lane; k < end; k += THREADS) {
        let i = member(chunk, k);
        let offset = positions[i].xyz - sphere.centre;
        let distance_squared = dot(offset, offset);
        if distance_squared <= sphere.radius_squared {
            let weight = shares[i] * sphere.weight + sphere.each;
            mine.weighted += weight * vec4(offset, 1.0);
            mine.reach_squared = max(mine.reach_squared, distance_squared);
            mine.count += 1u;
        }
    }
    let all = gathered(lane, mine);
    if lane == 0u {
        parts[workgroup.x] = all;
    }
}
