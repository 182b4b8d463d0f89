// The same light as streak.wgsl's, added up by compute, beside splat.wgsl's.

//% include "render/body_sprite.wgsl"
//% include "render/sums.wgsl"

struct Long {
    count: atomic<u32>,
    bodies: array<u32>,
}

@group(2) @binding(0) var<storage, read> accelerations: array<vec4f>;
@group(2) @binding(1) var<storage, read_write> long_streaks: Long;

//% include "render/streak_path.wgsl"

// Streaks of up to so many pixels are added by one thread, larger ones by a workgroup.
const SMALL_PX: f32 = 256.0;

// From and up to which number the centres of pixels (at halves) lie between two places.
fn between(low: f32, high: f32, size: f32) -> vec2i {
    return vec2i(clamp(vec2f(ceil(low - 0.5), floor(high + 0.5)), vec2f(0.0), vec2f(size)));
}

// Where a line's number from `least` to `most` is, for a number that grows by `slope` from `start`; all where it hardly does.
fn crossing(start: f32, slope: f32, least: f32, most: f32) -> vec2f {
    if abs(slope) < 1e-4 {
        return vec2f(-MOST_PX, MOST_PX);
    }
    let ends = (vec2f(least, most) - start) / slope;
    return vec2f(min(ends.x, ends.y), max(ends.x, ends.y));
}

// Adds every so-many-th pixel of the streak's pieces in both directions, from these on.
fn add_streak(streak: ptr<function, Streak>, start: vec2i, stride: vec2i) {
    let shape = shape_of(streak);
    let radius_px = shape.y;
    let peak = (*streak).peak;
    for (var index = 0u; index < pieces_of((*streak).count); index++) {
        let piece = piece_of(streak, index);
        let own = direction_of(piece);
        let least = -margin_px(radius_px, own, piece.enters);
        let most = distance(piece.first, piece.last) + margin_px(radius_px, own, piece.leaves);
        let middle = piece.first + own * (0.5 * (least + most));
        let half = 0.5 * (most - least) * abs(own.y) + radius_px * abs(own.x);
        let rows = between(middle.y - half, middle.y + half, sprite.view.height_px);
        for (var y = rows.x + start.y; y < rows.y; y += stride.y) {
            // The row within the rectangle around the piece.
            let down = f32(y) + 0.5 - piece.first.y;
            let beside = crossing(own.x * down, -own.y, -radius_px, radius_px);
            let along = crossing(own.y * down, own.x, least, most);
            let inside = vec2f(max(beside.x, along.x), min(beside.y, along.y)) + piece.first.x;
            let columns = between(inside.x, inside.y, sprite.view.width_px);
            for (var x = columns.x + start.x; x < columns.y; x += stride.x) {
                let light = peak * piece_light(piece, shape, vec2f(f32(x), f32(y)) + 0.5);
                add_light(vec2u(vec2i(x, y)), light);
            }
        }
    }
}

// One thread a body.
@compute @workgroup_size(GROUP)
fn small_streak(@builtin(global_invocation_id) thread: vec3u) {
    let body = thread.y * (GROUPS_A_ROW * GROUP) + thread.x;
    if body >= sprite.count {
        return;
    }
    var streak = streak_of(body);
    if streak.count == 0u {
        return;
    }
    if (streak.length_px + 2.0 * streak.radius_px) * 2.0 * streak.radius_px > SMALL_PX {
        long_streaks.bodies[atomicAdd(&long_streaks.count, 1u)] = body;
        return;
    }
    add_streak(&streak, vec2i(0), vec2i(1));
}

// One workgroup a streak, whose pixels its threads share. The list has another order on every run.
@compute @workgroup_size(GROUP)
fn long_streak(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let count = atomicLoad(&long_streaks.count);
    let start = vec2i(i32(thread & 7u), i32(thread >> 3u));
    for (var at = group.x; at < count; at += LARGE_GROUPS) {
        var streak = streak_of(long_streaks.bodies[at]);
        if streak.count > 0u {
            add_streak(&streak, start, vec2i(8));
        }
    }
}
