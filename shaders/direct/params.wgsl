// Structs shared with the host (src/gpu/layout.rs); a test compares the offsets.

// As the number of a source: none.
const FOREIGN: u32 = 0xffffffffu;

// Forces with derivatives: which part of the (sink, source) square one dispatch computes.
struct DirectParams {
    // Sinks [sink_begin, sink_end) are computed; sink_count is the length of one segment of partial sums.
    sink_begin: u32,
    sink_end: u32,
    sink_count: u32,
    // Slices and chunks as in ForceParams.
    source_count: u32,
    slice_length: u32,
    chunk_begin: u32,
    chunk_end: u32,
    // Entries of a sink's list.
    capacity: u32,
    // eps^2 as an f32, and the rest of its f64 value in two more.
    softening_squared: f32,
    softening_low: f32,
    softening_lowest: f32,
    // Slices times rows of threads.
    segments: u32,
    // Always 0, but the compiler cannot know that.
    zero: u32,
    // Where sinks and their numbers begin in their buffers, in vec4 and in numbers.
    sinks_at: u32,
    itself_at: u32,
    unused: u32,
}

// New values for some sources.
struct ScatterParams {
    // Sources that change, and the words (vec4<u32>) of each.
    count: u32,
    words: u32,
    // Where changes begin in their buffer.
    at: u32,
    // Words sent for each; the words after them are 0.
    sent: u32,
}

// The time to which sources are predicted, and their frame.
struct PredictParams {
    count: u32,
    unused: u32,
    // Whether they are predicted at all.
    moves: u32,
    // Always 0, but the compiler cannot know that.
    zero: u32,
    // The time as an f32, and the rest of its f64 value in two more.
    time: vec4<f32>,
    // The common velocity that records leave out, and its low part.
    drift: vec4<f32>,
    drift_low: vec4<f32>,
}
