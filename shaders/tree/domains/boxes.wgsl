// Appends boxes that cover the sinks of this part, in any order: {{ joined }} neighbours of the `count` groups share a
// box unless it would exceed `margin` or MOST_EXTENTS times the smallest of theirs; the `level` bodies outside the cube
// and up to `reserve` single sinks, from record `singles` on, have one each. Scattered groups are included if `part`
// is 1.
//% include "tree/common.wgsl"
//% include "tree/sinks.wgsl"

@group(0) @binding(0) var<storage, read> groups: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> boxes: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: TreeParams;

const JOINED = {{ joined }}u;
// Upper limit of the extent of a shared box, relative to the smallest box in it.
const MOST_EXTENTS = 2.5;

fn walks(group: u32) -> bool {
    let word = bitcast<u32>(groups[2u * group + 1u].w);
    let is_scattered = (word & (IS_SCATTERED | IS_SINGLE)) == IS_SCATTERED;
    return word != NOBODY && (params.part == 1u || !is_scattered);
}

fn extent(low: vec4<f32>, high: vec4<f32>) -> f32 {
    let extents = high.xyz - low.xyz;
    return max(extents.x, max(extents.y, extents.z));
}

fn add(low: vec4<f32>, high: vec4<f32>) {
    let at = 2u * atomicAdd(&tally[BOXES], 1u);
    if at + 1u < arrayLength(&boxes) {
        boxes[at] = low;
        boxes[at + 1u] = high;
    }
}

@compute @workgroup_size(THREADS_EACH)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let number = entry_of(workgroup, workgroups.x, thread);
    let joined = (params.count + JOINED - 1u) / JOINED;
    var begin = JOINED * number;
    var end = min(begin + JOINED, params.count);
    if number >= joined + params.level {
        let single = number - joined - params.level;
        if single >= min(params.reserve, GROUP * atomicLoad(&tally[SCATTERED])) {
            return;
        }
        begin = params.singles + single;
        end = begin + 1u;
    } else if number >= joined {
        begin = params.count + number - joined;
        end = begin + 1u;
    }
    var low: vec4<f32>;
    var high: vec4<f32>;
    var smallest = params.margin;
    var several = 0u;
    for (var k = begin; k < end; k++) {
        if walks(k) {
            let own_low = groups[2u * k];
            let own_high = groups[2u * k + 1u];
            low = select(min(low, own_low), own_low, several == 0u);
            high = select(max(high, own_high), own_high, several == 0u);
            smallest = min(smallest, extent(own_low, own_high));
            several += 1u;
        }
    }
    if several == 0u {
        return;
    }
    if several == 1u || extent(low, high) <= min(MOST_EXTENTS * smallest, params.margin) {
        add(low, high);
        return;
    }
    for (var k = begin; k < end; k++) {
        if walks(k) {
            add(groups[2u * k], groups[2u * k + 1u]);
        }
    }
}
