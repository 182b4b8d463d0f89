// Moves the bodies of the block to its end with the forces found there, and chooses their next steps.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
//% include "blocks/params.wgsl"
//% include "blocks/time.wgsl"
@group(0) @binding(0) var<storage, read_write> state: BlockState;
@group(0) @binding(1) var<storage, read_write> tracks: array<Real4>;
@group(0) @binding(2) var<storage, read_write> levels: array<u32>;
@group(0) @binding(3) var<storage, read> itself: array<u32>;
// SUMS vec4 per sink, as written by direct/sum.wgsl.
@group(0) @binding(4) var<storage, read> sums: array<Real4>;
@group(0) @binding(5) var<uniform> params: DirectParams;
@group(0) @binding(6) var<uniform> block: BlockParams;
//% include "direct/wide.wgsl"
//% include "blocks/track.wgsl"
//% include "blocks/criterion.wgsl"
//% include scheme

const SUMS: u32 = {{ (order + 1) * (2 if pairs else 1) }}u;

// Sum `which` of sink k in the units of positions.
fn pull_of(k: u32, which: u32) -> Wide {
//% if pairs
    let at = k * SUMS + 2u * which;
    return times(Wide(sums[at].xyz, sums[at + 1u].xyz), Span(block.pull, block.pull_low));
//% else
    let unit = Real(block.pull) + Real(block.pull_low) + Real(block.pull_lowest);
    return sums[k * SUMS + which].xyz * unit;
//% endif
}

fn is_finite(x: Real3) -> bool {
//% if pairs
    // Tested by bits: a compiler may assume that nothing is infinite.
    let bits = bitcast<vec3<u32>>(x) & vec3(0x7f800000u);
    return all(bits != vec3(0x7f800000u));
//% else
    return all(abs(x) <= Real3(1e300lf));
//% endif
}

fn keep(i: u32, track: Track) {
    let at = i * WORDS;
//% if pairs
    tracks[at] = vec4(track.position.high, track.mass);
    tracks[at + 1u] = vec4(track.position.low, track.mass_low);
    tracks[at + 2u] = vec4(track.velocity.high, 0.0);
    tracks[at + 3u] = vec4(track.velocity.low, 0.0);
    tracks[at + 4u] = vec4(track.acceleration.high, 0.0);
    tracks[at + 5u] = vec4(track.acceleration.low, 0.0);
    tracks[at + 6u] = vec4(track.jerk.high, 0.0);
    tracks[at + 7u] = vec4(track.jerk.low, 0.0);
    tracks[at + 8u] = vec4(track.snap.high, 0.0);
    tracks[at + 9u] = vec4(track.snap.low, 0.0);
    tracks[at + 10u] = vec4(track.crackle, 0.0);
//% else
    tracks[at] = Real4(track.position, track.mass);
    tracks[at + 1u] = Real4(track.velocity, Real(0.0));
    tracks[at + 2u] = Real4(track.acceleration, Real(0.0));
    tracks[at + 3u] = Real4(track.jerk, Real(0.0));
    tracks[at + 4u] = Real4(track.snap, Real(0.0));
    tracks[at + 5u] = Real4(track.crackle, Real(0.0));
//% endif
}

// The level of the largest power of two that is at most `ratio` times the last step; at most twice the last step, and
// twice only if the time is a multiple of it.
fn next_level(i: u32, level: u32, ratio: f32) -> u32 {
    if ratio >= 2.0 {
        let doubled = max(level, 1u) - 1u;
        return select(level, doubled, same(multiple_of(doubled, state.next), state.next));
    }
    var left = ratio;
    var next = level;
    while left < 1.0 && next <= LEVELS {
        left *= 2.0;
        next += 1u;
    }
    if next > LEVELS {
        atomicMin(&state.too_short, i);
        return LEVELS;
    }
    return next;
}

// How often a step is halved for this ratio; -1 if it is doubled. As in src/integrate/blocks/stats.rs.
fn halvings(ratio: f32) -> i32 {
    return i32(clamp(ceil(-log2(ratio)), -1.0, 44.0));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = id.x;
    if k >= state.members {
        return;
    }
    let i = itself[k];
    let acceleration = pull_of(k, 0u);
    let jerk = pull_of(k, 1u);
//% if order >= 2
    let snap = pull_of(k, 2u);
//% else
    let snap = widened(Real3());
//% endif
//% if refined
    let size = sums[k * SUMS + 2u].w * block.pull;
//% else
    let size = Real(0.0);
//% endif
    // In f32 the squares must be in range as well.
    if !(all(abs(narrow(acceleration)) < Real3({{ "1e19" if pairs else "1e150lf" }})) && is_finite(narrow(acceleration)) && is_finite(narrow(jerk)) && is_finite(narrow(snap))) {
        atomicMin(&state.lost, i);
        return;
    }
    let level = levels[i];
    let h = short(span(step_of(level)));
    let corrected = correct(track_of(i), h, Pull(acceleration, jerk, snap, size));
    var after = corrected.track;
    after.position = storable(after.position);
    after.velocity = storable(after.velocity);
    after.acceleration = storable(after.acceleration);
    after.jerk = storable(after.jerk);
    after.snap = storable(after.snap);
    keep(i, after);
    let longer = halvings(corrected.plain) - halvings(corrected.ratio);
    if longer > 0 {
        atomicAdd(&state.lengthened, 1u);
        atomicAdd(&state.lengthened_levels, u32(longer));
    }
    let next = next_level(i, level, corrected.ratio);
    if next != level {
        levels[i] = next;
        atomicSub(&state.levels[level], 1u);
        atomicAdd(&state.levels[next], 1u);
    }
}
