// Structs of the diagnostics shared with the host (src/gpu/layout.rs; a test compares every offset).

struct DiagnosisParams {
    // Bodies, and slices of partial sums that hold their potentials.
    count: u32,
    slices: u32,
    unused_0: u32,
    unused_1: u32,
}

// Bodies whose centre and radii are computed: those of a component, or all.
struct DiagnosisGroup {
    // The centre found so far, and the squared radius of the sphere around it.
    centre: vec3<f32>,
    radius_squared: f32,
    // A body weighs its share of all mass times `weight` plus `each`; the group weighs 1.
    weight: f32,
    each: f32,
    // Integer weight for the radii: the share times `units`, rounded, plus `whole`. A group's weights add up to
    // about 2^31.
    units: f32,
    whole: u32,
    // The sphere shrinks as long as it holds at least this number of bodies.
    least: u32,
    // Its chunks, [first_chunk, end_chunk).
    first_chunk: u32,
    end_chunk: u32,
    // Number of spheres so far, and whether the search is done.
    round: u32,
    done: u32,
    // Number of known digits of the radii, 8 bits each.
    digit: u32,
    unused_0: u32,
    unused_1: u32,
    // Squared radii as bits of f32, from the highest down; and the weight still to be found below them.
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
