// Reads of a storage buffer per second, as in the untiled kernel: all threads of a workgroup read the same
// vec4, from a cache if there is one.
//% include "measure/ceiling.wgsl"

const LENGTH: u32 = {{ length }}u;

@compute @workgroup_size({{ threads }}, 1, 1)
fn main(@builtin(local_invocation_id) local: vec3<u32>) {
    var bits = vec4(local.x);
    for (var turn = 0u; turn < params.turns; turn += 1u) {
        let begin = (turn * {{ u }}u) & (LENGTH - 1u);
//% for copy in range(u)
        bits ^= entries[begin + {{ copy }}u];
//% endfor
    }
    keep_bits(bits);
}
