// Bytes per second from a storage buffer larger than the caches: neighbouring threads read neighbouring entries.
//% include "measure/ceiling.wgsl"

@compute @workgroup_size({{ threads }}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var bits = vec4(id.x);
    for (var turn = 0u; turn < params.turns; turn += 1u) {
        let begin = turn * {{ u }}u * params.threads + id.x;
//% for copy in range(u)
        bits ^= entries[begin + {{ copy }}u * params.threads];
//% endfor
    }
    keep_bits(bits);
}
