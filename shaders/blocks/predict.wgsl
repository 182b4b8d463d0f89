// Predicts all bodies to the end of the block: they are the sources; those whose step ends there are the sinks.
// Sinks come in any order: the force on one does not depend on the others.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
//% include "blocks/params.wgsl"
//% include "blocks/time.wgsl"
@group(0) @binding(0) var<storage, read_write> state: BlockState;
@group(0) @binding(1) var<storage, read> tracks: array<Real4>;
@group(0) @binding(2) var<storage, read> levels: array<u32>;
@group(0) @binding(3) var<storage, read_write> sources: array<Real4>;
@group(0) @binding(4) var<storage, read_write> sinks: array<Real4>;
// Which body each sink is.
@group(0) @binding(5) var<storage, read_write> itself: array<u32>;
@group(0) @binding(6) var<uniform> params: DirectParams;
@group(0) @binding(7) var<uniform> block: BlockParams;
//% include "direct/wide.wgsl"
//% include "blocks/track.wgsl"
//% include "blocks/criterion.wgsl"
//% include scheme

// Words of a source, as in direct/bindings.wgsl.
const PARTS: u32 = {{ 6 if pairs else 3 }}u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= block.count {
        return;
    }
    let track = track_of(i);
    let level = levels[i];
    let h = span(minus_time(state.next, multiple_of(level, state.now)));
    let predicted = predict(track, h);
    var record: array<Real4, PARTS>;
//% if pairs
    record[0] = vec4(predicted.position.high, track.mass);
    record[1] = vec4(predicted.position.low, track.mass_low);
    record[2] = vec4(predicted.velocity.high, 0.0);
    record[3] = vec4(predicted.velocity.low, 0.0);
    record[4] = vec4(predicted.acceleration.high, 0.0);
    record[5] = vec4(predicted.acceleration.low, 0.0);
//% else
    record[0] = Real4(predicted.position, track.mass);
    record[1] = Real4(predicted.velocity, Real(0.0));
    record[2] = Real4(predicted.acceleration, Real(0.0));
//% endif
    for (var word = 0u; word < PARTS; word += 1u) {
        sources[i * PARTS + word] = record[word];
    }
    if level >= level_at(state.next) && i % block.parts == block.part {
        let k = atomicAdd(&state.taken, 1u);
        itself[k] = i;
        for (var word = 0u; word < PARTS; word += 1u) {
            sinks[k * PARTS + word] = record[word];
        }
    }
}
