// Reads of workgroup memory per second, as in the tile loop: all threads read the same vec4.
// They are combined by exclusive or, which is cheaper than any arithmetic and cannot be predicted.
//% include "measure/ceiling.wgsl"

const TILE: u32 = 256u;
var<workgroup> tile: array<vec4<u32>, TILE>;

@compute @workgroup_size({{ threads }}, 1, 1)
fn main(@builtin(local_invocation_id) local: vec3<u32>) {
    for (var i = local.x; i < TILE; i += {{ threads }}u) {
        tile[i] = entries[i];
    }
    workgroupBarrier();
    var bits = vec4(local.x);
    for (var turn = 0u; turn < params.turns; turn += 1u) {
        let begin = (turn * {{ u }}u) & (TILE - 1u);
//% for copy in range(u)
        bits ^= tile[begin + {{ copy }}u];
//% endfor
    }
    keep_bits(bits);
}
