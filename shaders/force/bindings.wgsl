// What every force kernel reads and writes, and the sums that each thread keeps in registers.
// Sinks and sources have separate bindings: they may be one buffer or two.
//% if uniform
// A window of the sources: some adapters have a separate path for data that all threads read at once.
@group(0) @binding(0) var<uniform> sources: array<vec4<f32>, {{ window }}>;
//% else
@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
//% endif
@group(0) @binding(1) var<storage, read> sinks: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: ForceParams;
//% if then_step
// Fused force and leapfrog: sinks, sources and these buffers all hold the same bodies. Their number is a
// constant because with few bodies the latency of loading a uniform shows.
const BODIES: u32 = {{ bodies }}u;
@group(0) @binding(2) var<storage, read_write> new_positions: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> velocities: array<vec4<f32>>;
// Only w, with the rests of positions and velocities.
@group(0) @binding(5) var<storage, read_write> accelerations: array<vec4<f32>>;
//% else
@group(0) @binding(2) var<storage, read_write> partial_sums: array<vec4<f32>>;
//% if one_mass
// The mass of the sources of each tile or block.
@group(0) @binding(4) var<storage, read> block_masses: array<f32>;
//% endif
//% endif

// P sinks side by side, Q threads for each, R sinks per thread.
const P: u32 = {{ p }}u;
const Q: u32 = {{ q }}u;
const R: u32 = {{ r }}u;
const SINKS_PER_WORKGROUP: u32 = P * R;

//% if potential
fn source_index_of(sink_index: u32, sink: vec4<f32>) -> u32 {
    if params.self_offset == IN_SINK {
        return bitcast<u32>(sink.w);
    }
    return select(sink_index + params.self_offset, FOREIGN, params.self_offset == FOREIGN);
}
//% if one_mass

// Where the mass is the block's, w holds the source's number instead, as bits of a float of at least 2, so that it is
// never denormal.
const NUMBERS: u32 = 0x40000000u;
//% endif
//% endif
