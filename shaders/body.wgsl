// Structs shared with the host (src/gpu/layout.rs; a test compares every offset).
// A body is three vec4: position with the gravitating mass G m in w, velocity with a number for the
// sprites in w (Bodies::tag), acceleration with more bits of position and velocity in w (integrate/drift.wgsl).

// Which part of the (sink, source) square one dispatch computes.
struct ForceParams {
    // Sinks [sink_begin, sink_end) are computed; sink_count is the length of one slice of partial sums, which
    // begins with the sink first_sink.
    sink_begin: u32,
    sink_end: u32,
    sink_count: u32,
    // Slice y holds sources [y * slice_length, (y + 1) * slice_length), cut at source_count ...
    source_count: u32,
    slice_length: u32,
    // ... and of each slice this dispatch takes [chunk_begin, chunk_end), counted from its start.
    chunk_begin: u32,
    chunk_end: u32,
    // Sink i is source i + self_offset. FOREIGN: no sink is a source. IN_SINK: the sink's w holds the number.
    self_offset: u32,
    softening_squared: f32,
    // As in LeapfrogParams, if force and leapfrog are fused.
    close_kick: f32,
    open_kick: f32,
    drift: f32,
    zero: u32,
    first_sink: u32,
    unused_0: u32,
    unused_1: u32,
}

const FOREIGN: u32 = 0xffffffffu;
const IN_SINK: u32 = 0xfffffffeu;

// Steps of all bodies in one workgroup.
struct StepsParams {
    count: u32,
    // 0: only the accelerations are updated.
    steps: u32,
    // Sources that each row of threads takes.
    per_row: u32,
    // Always 0, but the compiler cannot know that.
    zero: u32,
    // Time of each of the two kicks of a step, and of its drift.
    kick: f32,
    drift: f32,
    softening_squared: f32,
    unused_0: u32,
}

// One pass over the device's sinks by the leapfrog kernel.
struct LeapfrogParams {
    // Bodies [first, first + count).
    count: u32,
    // Slices of partial sums to add up; 0 uses the acceleration as it is.
    slices: u32,
    // Time by which the velocity is kicked to end the last step, then to begin the next.
    close_kick: f32,
    open_kick: f32,
    // Time by which the position drifts.
    drift: f32,
    // Always 0, but the compiler cannot know that.
    zero: u32,
    first: u32,
    unused_0: u32,
}
