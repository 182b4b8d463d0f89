// Interactions per second with everything in registers: the source of the force kernel's pair function,
// 12 FP32 instructions and 1 reciprocal square root, and nothing else. Each result moves the sink, so
// that no two interactions are the same and none can be moved out of the loop.
//% include "measure/ceiling.wgsl"
//% include "interaction/gravity.wgsl"

@compute @workgroup_size({{ threads }}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let source = vec4<f32>(entries[id.x & 255u] & vec4(255u)) * 1e-3 + 1e-3;
//% for k in range(chains)
    var sink_{{ k }} = vec3(f32(id.x & 255u), {{ k }}.5, 1.0);
//% endfor
    for (var turn = 0u; turn < params.turns; turn += 1u) {
//% for copy in range(u)
//% for k in range(chains)
        sink_{{ k }} = attract(sink_{{ k }}, sink_{{ k }}, source, params.softening_squared);
//% endfor
//% endfor
    }
    var answer = vec3(0.0);
//% for k in range(chains)
    answer += sink_{{ k }};
//% endfor
    keep(answer.x + answer.y + answer.z);
}
