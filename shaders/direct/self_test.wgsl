// Tests whether the fence works: sums carried as pairs and differences of pairs, in loops like those of forces.wgsl.
// Entry i: b added to a, 1 + i % 4 times, and the difference of two pairs; the host knows the exact
// results. Also the rounding error of a product, which only an fma that is rounded once gives.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
@group(0) @binding(0) var<storage, read> numbers: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> answers: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: DirectParams;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= params.sink_end {
        return;
    }
    let out = id.x * 5u;
    // numbers: a, b, (of sinks) then pairs for the difference.
    let at = id.x * 4u;
    var total = numbers[at];
    var low = vec4<f32>();
    for (var turn = 0u; turn <= id.x % 4u; turn += 1u) {
        let term = numbers[at + 1u];
        let rounded = rounded_sum_4(total, term);
        low += lost_4(total, term, rounded);
        total = rounded;
    }
    answers[out] = total;
    answers[out + 1u] = low;
    // The sink stays and the source changes, which tempts a compiler to subtract the sink's low part first.
    let sink = numbers[at + 2u].xxy;
    let sink_low = numbers[at + 2u].zzw;
    var largest = vec3<f32>();
    for (var turn = 0u; turn <= id.x % 4u; turn += 1u) {
        let source = numbers[at + 3u];
        largest = max(largest, abs(difference(sink, sink_low, source.xxy, source.zzw)));
    }
    answers[out + 2u] = vec4(largest, 0.0);
    let a = numbers[at];
    let b = numbers[at + 1u];
    let product = fma(a, b, vec4(bitcast<f32>(params.zero)));
    answers[out + 3u] = product;
    answers[out + 4u] = fma(a, b, -product);
}
