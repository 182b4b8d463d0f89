// Positions on a Hilbert curve through the cube: 21 octal digits, as 31 lower bits in x and 32 upper ones in y, as the
// sort expects them.

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

// Interleaves ten bits of each.
fn woven(x: vec3<u32>) -> u32 {
    var v = x & vec3(0x3ffu);
    v = (v | (v << vec3(16u))) & vec3(0x030000ffu);
    v = (v | (v << vec3(8u))) & vec3(0x0300f00fu);
    v = (v | (v << vec3(4u))) & vec3(0x030c30c3u);
    v = (v | (v << vec3(2u))) & vec3(0x09249249u);
    return (v.x << 2u) | (v.y << 1u) | v.z;
}

// Which of the 2^21 intervals on each axis a position is in; the nearest one if it has left the cube.
fn intervals_of(position: vec3<f32>) -> vec3<u32> {
    // A power of two: only the distance from the corner is rounded.
    let scale = f32(1u << (LEVELS - 1u)) / state.half;
    let interval = max((position + vec3(state.half)) * scale, vec3(0.0));
    // The conversion of numbers beyond u32 is not defined.
    return min(vec3<u32>(min(interval, vec3(4194304.0))), vec3((1u << LEVELS) - 1u));
}

fn key_of(intervals: vec3<u32>) -> vec2<u32> {
    let x = along_curve(intervals);
    let upper = woven(x >> vec3(11u));
    let middle = (((x.x >> 10u) & 1u) << 2u) | (((x.y >> 10u) & 1u) << 1u) | ((x.z >> 10u) & 1u);
    return vec2(((middle & 1u) << 30u) | woven(x), (upper << 2u) | (middle >> 1u));
}
