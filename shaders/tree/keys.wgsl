// Each body's place on a Hilbert curve through the cube: 21 octal digits, as 32 upper and 31 lower bits.
//% include "tree/common.wgsl"

@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> state: TreeState;
// The lower bits come first, as the sort wants them.
@group(0) @binding(2) var<storage, read_write> keys: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> order: array<u32>;
@group(0) @binding(4) var<uniform> params: TreeParams;

// Skilling (2004): from coordinates to the transpose of the Hilbert index.
fn along_curve(place: vec3<u32>) -> vec3<u32> {
    var x = place;
    for (var bit = 1u << (LEVELS - 1u); bit > 1u; bit = bit >> 1u) {
        let below = bit - 1u;
        if (x.x & bit) != 0u {
            x.x ^= below;
        }
        if (x.y & bit) != 0u {
            x.x ^= below;
        } else {
            let swap = (x.x ^ x.y) & below;
            x.x ^= swap;
            x.y ^= swap;
        }
        if (x.z & bit) != 0u {
            x.x ^= below;
        } else {
            let swap = (x.x ^ x.z) & below;
            x.x ^= swap;
            x.z ^= swap;
        }
    }
    x.y ^= x.x;
    x.z ^= x.y;
    var flip = 0u;
    for (var bit = 1u << (LEVELS - 1u); bit > 1u; bit = bit >> 1u) {
        if (x.z & bit) != 0u {
            flip ^= bit - 1u;
        }
    }
    return x ^ vec3(flip);
}

// Ten bits of each, taken in turn.
fn woven(x: vec3<u32>) -> u32 {
    var v = x & vec3(0x3ffu);
    v = (v | (v << vec3(16u))) & vec3(0x030000ffu);
    v = (v | (v << vec3(8u))) & vec3(0x0300f00fu);
    v = (v | (v << vec3(4u))) & vec3(0x030c30c3u);
    v = (v | (v << vec3(2u))) & vec3(0x09249249u);
    return (v.x << 2u) | (v.y << 1u) | v.z;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = entry_of(workgroup, workgroups.x, thread);
    if i >= params.count {
        return;
    }
    order[i] = i;
    let position = bodies[i].xyz;
    if !is_somewhere(position) {
        // Behind all others.
        keys[i] = vec2(0xffffffffu);
        return;
    }
    let centre = vec3(state.centre[0], state.centre[1], state.centre[2]);
    if exponent_of(position, centre) >= bitcast<u32>(state.half) >> 23u {
        keys[i] = vec2(0xfffffffeu, 0xffffffffu);
        return;
    }
    // A power of two: nothing is rounded but the distance from the corner.
    let scale = f32(1u << (LEVELS - 1u)) / state.half;
    let place = ((position - centre) + vec3(state.half)) * scale;
    let x = along_curve(min(vec3<u32>(place), vec3((1u << LEVELS) - 1u)));
    let upper = woven(x >> vec3(11u));
    let middle = (((x.x >> 10u) & 1u) << 2u) | (((x.y >> 10u) & 1u) << 1u) | ((x.z >> 10u) & 1u);
    keys[i] = vec2(((middle & 1u) << 30u) | woven(x), (upper << 2u) | (middle >> 1u));
}
