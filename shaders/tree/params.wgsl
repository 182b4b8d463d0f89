// Structs shared with the host (src/gpu/layout.rs; a test compares every offset).

// One dispatch of the tree's kernels; each reads what it needs of it.
struct TreeParams {
    // Bodies.
    count: u32,
    // Cells that there is room for.
    reserve: u32,
    // Level of the cells, or step of the sizes of leaves.
    level: u32,
    // Bodies that the cube may leave out.
    spare: u32,
    // The walk takes the groups [group_begin, group_end).
    group_begin: u32,
    group_end: u32,
    // What makes a cell far: log2 of alpha, or theta.
    opening: f32,
    softening_squared: f32,
    // Bits of what a body nowhere is attracted with.
    not_a_number: u32,
    // Where the records of sinks that walk one by one begin, and of how many groups there is room for them.
    singles: u32,
    room: u32,
    // The sinks [sink_begin, sink_end) along the curve are answered for, where several devices share them.
    sink_begin: u32,
    sink_end: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
}

// What one kernel finds out for all later ones. It stays on the device.
struct TreeState {
    // Bodies in the cube: in the order of the curve they come first. Prefix sums read it as their count.
    inside: u32,
    // Bodies outside, which come next; what is left is nowhere in f32.
    outside: u32,
    cells: u32,
    // Bodies in a leaf at most.
    leaf: u32,
    // The cube.
    centre: array<f32, 3>,
    half: f32,
    // Where each level of cells begins; behind the deepest one the number of cells.
    levels: array<u32, 24>,
    // Groups whose sinks walk one by one.
    scattered: u32,
}
