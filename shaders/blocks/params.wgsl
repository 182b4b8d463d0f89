// Structs of the block steps shared with the host (src/gpu/layout.rs); a test compares the offsets.

// Parameters common to all blocks of a run.
struct BlockParams {
    // Bodies.
    count: u32,
    // Blocks of at most `few` bodies use the first of two kernel shapes. For each shape: sinks side by
    // side, rows of threads, sources per tile.
    few: u32,
    few_sinks: u32,
    few_threads: u32,
    few_tile: u32,
    many_sinks: u32,
    many_threads: u32,
    many_tile: u32,
    // Number of threads that fills the device.
    fill: u32,
    // A block's forces are computed in `pieces` dispatches of at most `piece` bodies, most of them empty.
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
    // Mass / (length * velocity^2) in units of the frame, in three parts: converts accelerations and their
    // derivatives to the units of positions.
    pull: f32,
    pull_low: f32,
    pull_lowest: f32,
    eta: f32,
    eta6: f32,
    // Relative errors of accelerations and jerks.
    noise_acceleration: f32,
    noise_jerk: f32,
    // Room for partial sums (of one body in one segment) in a piece.
    room: u32,
    // Larger blocks wait until all devices share them.
    alone: u32,
    // This device's part of the sinks of a block: bodies whose number is `part` more than a multiple of `parts`.
    parts: u32,
    part: u32,
    // Whether a block is planned only if it is shared.
    shares: u32,
}

// The state of the blocks. Times are whole ticks, dt_max / 2^44, since the present dt_max began, as
// vec2(low word, high word). A body of level k has steps of 2^(44 - k) ticks and stands at the last
// multiple of its step up to now: times are not stored.
struct BlockState {
    // The time reached, the end of the current block, and the time to reach.
    now: vec2<u32>,
    next: vec2<u32>,
    end: vec2<u32>,
    // Counted since the host set them to 0; steps of bodies take two words.
    body_steps: vec2<u32>,
    blocks: u32,
    // Bodies in the current block; 0 if nothing is left to do.
    members: u32,
    // Bodies in the block before it.
    last_members: u32,
    // Bodies of the current block found so far.
    taken: atomic<u32>,
    // The lowest number of a body whose force is not finite, and of one whose step would be too short;
    // NONE if there is none.
    lost: atomic<u32>,
    too_short: atomic<u32>,
    // Smaller accelerations count as this one.
    least: f32,
    // Steps that noise made longer, and the total number of halvings left out.
    lengthened: atomic<u32>,
    lengthened_levels: atomic<u32>,
    // Bodies in the next block if it waits to be shared, or in this one if it is shared; otherwise 0.
    waiting: u32,
    // Bodies by level.
    levels: array<atomic<u32>, 46>,
}
