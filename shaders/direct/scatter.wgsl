// Writes new values of some sources, sent in one piece, to their places. A change is the source's number
// in a vec4<u32> and the first words of its record of `words` words; the others become 0. Bits are copied
// unchanged.
//% include "direct/params.wgsl"
// No source appears twice.
@group(0) @binding(0) var<storage, read> changes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sources: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> params: ScatterParams;

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let words = params.count * params.words;
    for (var at = workgroup.x * 64u + thread; at < words; at += workgroups.x * 64u) {
        let change = at / params.words;
        let word = at - change * params.words;
        let begin = params.at + change * (params.sent + 1u);
        var value = vec4(0u);
        if word < params.sent {
            value = changes[begin + 1u + word];
        }
        sources[changes[begin].x * params.words + word] = value;
    }
}
