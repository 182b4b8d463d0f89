// FP32 multiply-adds per second: several chains side by side, so that others work while one waits.
//% include "measure/ceiling.wgsl"

@compute @workgroup_size({{ threads }}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
//% for k in range(chains)
    var x_{{ k }} = f32(id.x & 255u) + {{ k }}.5;
//% endfor
    for (var turn = 0u; turn < params.turns; turn += 1u) {
//% for copy in range(u)
//% for k in range(chains)
        x_{{ k }} = fma(x_{{ k }}, params.a, params.b);
//% endfor
//% endfor
    }
    var answer = 0.0;
//% for k in range(chains)
    answer += x_{{ k }};
//% endfor
    keep(answer);
}
