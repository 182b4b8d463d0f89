// Structs shared with the host (src/gpu/layout.rs; a test compares every offset).

// One dispatch of the tree's kernels; each reads the fields it needs.
struct TreeParams {
    // Bodies.
    count: u32,
    // Number of cells there is room for.
    reserve: u32,
    // Level of the cells, or which size of leaves is tried.
    level: u32,
    // Bodies that the cube may leave out.
    spare: u32,
    // The walk takes the groups [group_begin, group_end).
    group_begin: u32,
    group_end: u32,
    // What makes a cell far: log2 of alpha, or theta.
    opening: f32,
    softening_squared: f32,
    // Bits of the acceleration given to a body out of range.
    not_a_number: u32,
    // Where the records of sinks that walk one by one begin, and the number of groups there is room for.
    singles: u32,
    room: u32,
    // If several devices share the sinks, this one computes [sink_begin, sink_end) along the curve.
    sink_begin: u32,
    sink_end: u32,
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
}

// Results that one kernel passes to all later ones. They stay on the device.
struct TreeState {
    // Bodies in the cube: in the order of the curve they come first. Prefix sums read it as their count.
    inside: u32,
    // Bodies outside, which come next; the remaining ones are out of the range of f32.
    outside: u32,
    cells: u32,
    // Most bodies in a leaf.
    leaf: u32,
    // Half the edge of the cube, whose centre is the origin.
    half: f32,
    // Where each level of cells begins; after the deepest one the number of cells.
    levels: array<u32, 24>,
    // Groups whose sinks walk one by one.
    scattered: u32,
}
