// Lists the groups for which other ranks must count bodies, because the cells around the group may extend beyond this
// part of the curve: two entries each, in any order, with the group's number, log2 of the cells' edge, and the corners
// of its box in intervals.
//% include "tree/common.wgsl"
//% include "tree/digits.wgsl"
//% include "tree/hilbert.wgsl"
//% include "tree/sinks.wgsl"

@group(0) @binding(0) var<storage, read> groups: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> state: TreeState;
@group(0) @binding(3) var<storage, read_write> questions: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> tally: array<atomic<u32>>;

fn is_before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = entry_of(workgroup, workgroups.x, thread);
    if group >= (state.inside + GROUP - 1u) / GROUP {
        return;
    }
    // This rank's bodies alone make it scattered: counts of other ranks cannot change that.
    if (bitcast<u32>(groups[2u * group + 1u].w) & IS_SCATTERED) != 0u {
        return;
    }
    let nearest = intervals_of(groups[2u * group].xyz);
    let farthest = intervals_of(groups[2u * group + 1u].xyz);
    let extents = farthest - nearest;
    let coarse = 32u - countLeadingZeros(max(extents.x, max(extents.y, extents.z)));
    if coarse == 0u {
        return;
    }
    let level = LEVELS - min(coarse, LEVELS);
    let end = state.ahead + state.inside;
    var is_asked = false;
    for (var k = 0u; k < 8u; k++) {
        let cell = (nearest >> vec3(coarse)) + vec3(k & 1u, (k >> 1u) & 1u, k >> 2u);
        if any(cell > (farthest >> vec3(coarse))) {
            continue;
        }
        let key = key_of(cell << vec3(coarse));
        if state.before > 0u {
            let other = keys[state.ahead - 1u];
            is_asked |= !(is_before(other, key) && shared_digits(other, key) < level);
        }
        if state.after > 0u {
            let other = keys[end];
            is_asked |= !(is_before(key, other) && shared_digits(other, key) < level);
        }
    }
    if is_asked {
        let k = 2u * atomicAdd(&tally[QUESTIONS], 1u);
        questions[k] = vec4(group, nearest);
        questions[k + 1u] = vec4(coarse, farthest);
    }
}
