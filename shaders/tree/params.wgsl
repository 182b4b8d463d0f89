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
    // In messages of domains: where cells of a part, or received bodies, begin.
    first: u32,
    // If the curve is cut into parts, one per device: the number of a part, and how many there are.
    part: u32,
    parts: u32,
    // Factor on squared distances in the choice of cells that another rank needs, and the least acceleration with which
    // its sinks count.
    margin: f32,
    least: f32,
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
    // Bodies inside and outside the cube, of all ranks.
    counted: u32,
    // Bodies of this device, also those out of range, and bodies of all ranks.
    own_bodies: u32,
    all_bodies: u32,
    // Where the keys of this device's bodies begin, and how many keys of other ranks are before and after them.
    ahead: u32,
    before: u32,
    after: u32,
    // The number of this device's first cell.
    base: u32,
    // This device's first and last bodies may be in leaves that reach beyond its part, and have copies among the bodies
    // of these leaves: the number of such bodies, and the index of the first copy.
    first_copied: u32,
    first_copy: u32,
    last_copied: u32,
    last_copy: u32,
}
