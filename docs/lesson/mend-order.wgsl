// To be mended (4). It is right, and slow: look at where neighbouring threads fetch from.
//
//   gravitile check --force-kernel docs/lesson/mend-order.wgsl

// Threads of a workgroup, and sinks that it has.
const P: u32 = 64u;

struct ForceParams {
    sink_begin: u32,        // sinks [sink_begin, sink_end) are computed
    sink_end: u32,
    sink_count: u32,        // length of one slice of partial sums
    source_count: u32,
    slice_length: u32,      // slice y holds sources [y * slice_length, (y + 1) * slice_length)
    chunk_begin: u32,       // of it this dispatch takes [chunk_begin, chunk_end)
    chunk_end: u32,
    self_offset: u32,
    softening_squared: f32,
    close_kick: f32,
    open_kick: f32,
    drift: f32,
    zero: u32,
    first_sink: u32,        // partial sums begin with this sink
    unused_0: u32,
    unused_1: u32,
}

@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> sinks: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> partial_sums: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: ForceParams;

var<workgroup> tile: array<vec4<f32>, P>;

fn attract(sum: vec3<f32>, sink: vec3<f32>, source: vec4<f32>) -> vec3<f32> {
    let towards = source.xyz - sink;
    let inverse = inverseSqrt(dot(towards, towards) + params.softening_squared);
    return sum + source.w * inverse * inverse * inverse * towards;
}

@compute @workgroup_size(P, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let i = params.sink_begin + workgroup.x * P + local.x;
    // A thread past the last sink works on the last one, and writes nothing: every thread must reach every barrier.
    let sink = sinks[min(i, params.sink_end - 1u)].xyz;
    let place = workgroup.y * params.sink_count + i - params.first_sink;
    var total = vec3<f32>(0.0);
    // A large evaluation is cut into dispatches: a later one goes on from the sums of those before it.
    if params.chunk_begin > 0u && i < params.sink_end {
        total = partial_sums[place].xyz;
    }
    let slice = workgroup.y * params.slice_length;
    let begin = slice + params.chunk_begin;
    let end = min(slice + params.chunk_end, min(slice + params.slice_length, params.source_count));
    for (var first = begin; first < end; first += P) {
        // Each thread fetches one source; past the end a body without mass.
        let slot = (local.x % 8u) * (P / 8u) + local.x / 8u;
        var source = vec4<f32>(0.0);
        if first + slot < end {
            source = sources[first + slot];
        }
        tile[slot] = source;
        workgroupBarrier();
        var sum = vec3<f32>(0.0);
        for (var k = 0u; k < P; k += 1u) {
            sum = attract(sum, sink, tile[k]);
        }
        total += sum;
        workgroupBarrier();
    }
    if i < params.sink_end {
        partial_sums[place] = vec4(total, 0.0);
    }
}
