// Structs of the diagnostics shared with the host (src/gpu/layout.rs; a test compares every offset).

struct DiagnosisParams {
    // Bodies, and slices of partial sums that hold their potentials.
    count: u32,
    slices: u32,
    unused_0: u32,
    unused_1: u32,
}

// Bodies whose centre and radii are wanted: those of a component, or all.
struct DiagnosisGroup {
    // The centre as known so far, and the square of the radius around it that is looked at.
    centre: vec3<f32>,
    radius_squared: f32,
    // A body weighs its share of all mass times `weight` plus `each`; the group weighs 1.
    weight: f32,
    each: f32,
    // In whole numbers for the radii: the share times `units`, rounded, plus `whole`. A group's are about 2^31
    // together.
    units: f32,
    whole: u32,
    // The sphere shrinks as long as it holds this number of bodies.
    least: u32,
    // Its chunks, [first_chunk, end_chunk).
    first_chunk: u32,
    end_chunk: u32,
    // Spheres looked at, and whether the last was the last.
    round: u32,
    done: u32,
    // Digits of the radii that are known, 8 bits each.
    digit: u32,
    unused_0: u32,
    unused_1: u32,
    // Squares of the radii as bits of f32, from the top; and the weight still to be found below that.
    found: array<u32, 4>,
    left: array<u32, 4>,
}

// Members [begin, end) of a group, which one workgroup visits: entries of the list of members, or, if
// `listed` is 0, the bodies themselves.
struct DiagnosisChunk {
    group: u32,
    begin: u32,
    end: u32,
    listed: u32,
}

const THREADS: u32 = 256u;
const RADII: u32 = 3u;
const BINS: u32 = 256u;
