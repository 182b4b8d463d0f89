// Structs of the block steps shared with the host (src/gpu/layout.rs); a test compares the offsets.

// What the blocks of a run have in common.
struct BlockParams {
    // Bodies.
    count: u32,
    // Blocks of at most `few` bodies are computed in the first of two shapes. Of each: sinks side by
    // side, rows of threads, sources per tile.
    few: u32,
    few_sinks: u32,
    few_threads: u32,
    few_tile: u32,
    many_sinks: u32,
    many_threads: u32,
    many_tile: u32,
    // Threads that fill the device.
    fill: u32,
    // A block's forces come in `pieces` dispatches of at most `piece` bodies, most of them empty.
    piece: u32,
    pieces: u32,
    // Rows of DirectParams from one piece to the next.
    stride: u32,
    // eps^2, in three parts.
    softening_squared: f32,
    softening_low: f32,
    softening_lowest: f32,
    // The shortest step as a time, a power of two.
    tick: f32,
    // Units of mass / (length * velocity^2), in three parts: what accelerations and their derivatives are
    // multiplied by to become those of positions.
    pull: f32,
    pull_low: f32,
    pull_lowest: f32,
    eta: f32,
    eta6: f32,
    // Relative errors of accelerations and jerks.
    noise_acceleration: f32,
    noise_jerk: f32,
    // Partial sums (of one body in one segment) that there is room for in a piece.
    room: u32,
    // Blocks of more bodies wait until all devices share them.
    alone: u32,
    // This device's part of the sinks of a block: bodies whose numbers are `part` beyond a multiple of `parts`.
    parts: u32,
    part: u32,
    unused: u32,
}

// Where the blocks stand. Times are whole ticks, dt_max / 2^44, since the present dt_max began, as
// vec2(low word, high word). A body of level k has steps of 2^(44 - k) ticks and stands at the last
// multiple of its step up to now: times are not stored.
struct BlockState {
    // Up to where blocks are done, where the block under way ends, and up to where to go.
    now: vec2<u32>,
    next: vec2<u32>,
    end: vec2<u32>,
    // Since the host set them to 0; of bodies' steps two words.
    body_steps: vec2<u32>,
    blocks: u32,
    // Bodies of the block under way: 0, and nothing is due any more.
    members: u32,
    // Of the block before it.
    last_members: u32,
    // Bodies of it found so far.
    taken: atomic<u32>,
    // The lowest number of a body on which no finite force acts, and of one whose step would be too
    // short; NONE if there is none.
    lost: atomic<u32>,
    too_short: atomic<u32>,
    // Accelerations below it count as this one.
    least: f32,
    // Steps that noise made longer, and by how many halvings in all.
    lengthened: atomic<u32>,
    lengthened_levels: atomic<u32>,
    // Bodies of the next block, if it waits to be shared; else 0.
    waiting: u32,
    // Bodies by level.
    levels: array<atomic<u32>, 46>,
}
