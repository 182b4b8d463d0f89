// How many of this device's bodies are in the cells that the box around a group touches (src/forces/tree/scattered.rs).
// Needs `keys`, `state` and an atomic `found`.
const CROWD = {{ crowd }}u;

fn is_before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// The number of keys below this one, or at most equal to it.
fn rank_of(key: vec2<u32>, is_included: bool) -> u32 {
    var low = 0u;
    var high = state.inside;
    while low < high {
        let middle = (low + high) / 2u;
        let here = keys[state.ahead + middle];
        if is_before(here, key) || (is_included && all(here == key)) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// The bodies in a cell of 2^shift intervals, by its number along each axis.
fn bodies_in(cell: vec3<u32>, shift: u32) -> u32 {
    if shift >= LEVELS {
        return state.inside;
    }
    let key = key_of(cell << vec3(shift));
    let bits = 3u * shift;
    // Below 63, of which 31 are in x.
    let lower = vec2(
        select((1u << min(bits, 31u)) - 1u, 0x7fffffffu, bits >= 31u), (1u << (max(bits, 31u) - 31u)) - 1u);
    return rank_of(key | lower, true) - rank_of(key & ~lower, false);
}

// log2 of the smallest edge, in intervals, that is larger than a box; 0 if it is in one interval.
fn edge_around(nearest: vec3<u32>, farthest: vec3<u32>) -> u32 {
    let extents = farthest - nearest;
    return 32u - countLeadingZeros(max(extents.x, max(extents.y, extents.z)));
}

// Adds the bodies in the cells of 2^shift intervals that a box touches.
fn add_bodies(nearest: vec3<u32>, farthest: vec3<u32>, shift: u32, thread: u32) {
    let corner = nearest >> vec3(shift);
    let across = (farthest >> vec3(shift)) - corner + vec3(1u);
    for (var k = thread; k < across.x * across.y * across.z; k += GROUP) {
        let row = k / across.x;
        let cell = corner + vec3(k % across.x, row % across.y, row / across.y);
        atomicAdd(&found, bodies_in(cell, shift));
    }
}
