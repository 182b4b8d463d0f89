// The same light as streak.wgsl's, added up in compute shaders together with splat.wgsl's.

//% include "render/body_sprite.wgsl"
//% include "render/sums.wgsl"

// Bodies that draw streaks and, in the second half of the list, those with large streaks.
struct Drawn {
    count: atomic<u32>,
    large: atomic<u32>,
    bodies: array<u32>,
}

@group(2) @binding(0) var<storage, read> accelerations: array<vec4f>;
@group(2) @binding(1) var<storage, read_write> drawn: Drawn;

//% include "render/streak_path.wgsl"

// Threads that share a streak of up to this many pixels; a whole workgroup draws a larger one.
const STREAK_LANES = 16u;
const SMALL_PX: f32 = 2048.0;
// Workgroups that share the streaks of STREAK_LANES threads each.
const STREAK_GROUPS = 8192u;

// The range of pixels whose centres (at halves) lie between two places.
fn between(low: f32, high: f32, size: f32) -> vec2i {
    return vec2i(clamp(vec2f(ceil(low - 0.5), floor(high + 0.5)), vec2f(0.0), vec2f(size)));
}

// Where a value that grows by `slope` from `start` lies between `least` and `most`; everywhere if it hardly grows.
fn crossing(start: f32, slope: f32, least: f32, most: f32) -> vec2f {
    if abs(slope) < 1e-4 {
        return vec2f(-MOST_PX, MOST_PX);
    }
    let ends = (vec2f(least, most) - start) / slope;
    return vec2f(min(ends.x, ends.y), max(ends.x, ends.y));
}

// Adds the pixels of a piece, from `start` in steps of `stride`, along the piece and across it.
fn add_piece(piece: Piece, shape: vec4f, peak: vec4f, start: vec2i, stride: vec2i) {
    let radius_px = shape.y;
    let along_piece = direction_of(piece);
    let least = -margin_px(radius_px, along_piece, piece.enters);
    let most = distance(piece.first, piece.last) + margin_px(radius_px, along_piece, piece.leaves);
    // Scan lines run across the piece: rows of the picture, or columns.
    let is_steep = abs(along_piece.y) >= abs(along_piece.x);
    let own = select(along_piece.yx, along_piece, is_steep);
    let first = select(piece.first.yx, piece.first, is_steep);
    let size_px = vec2f(sprite.view.width_px, sprite.view.height_px);
    let size = select(size_px.yx, size_px, is_steep);
    let middle = first + own * (0.5 * (least + most));
    let half = 0.5 * (most - least) * abs(own.y) + radius_px * abs(own.x);
    let rows = between(middle.y - half, middle.y + half, size.y);
    for (var y = rows.x + start.y; y < rows.y; y += stride.y) {
        // The part of the row within the rectangle around the piece.
        let down = f32(y) + 0.5 - first.y;
        let beside = crossing(own.x * down, -own.y, -radius_px, radius_px);
        let along = crossing(own.y * down, own.x, least, most);
        let inside = vec2f(max(beside.x, along.x), min(beside.y, along.y)) + first.x;
        let columns = between(inside.x, inside.y, size.x);
        for (var x = columns.x + start.x; x < columns.y; x += stride.x) {
            let pixel = select(vec2i(y, x), vec2i(x, y), is_steep);
            add_light(vec2u(pixel), peak * piece_light(piece, shape, vec2f(pixel) + 0.5));
        }
    }
}

fn add_streak(streak: Streak, start: vec2i, stride: vec2i) {
    let shape = shape_of(streak);
    var pieces = first_piece(streak);
    loop {
        add_piece(pieces.piece, shape, streak.peak, start, stride);
        if !pieces.has_next {
            break;
        }
        pieces = next_piece(streak, pieces);
    }
}

var<workgroup> chosen: atomic<u32>;
var<workgroup> first_chosen: u32;

// One thread per body: lists those that draw. The order of the list differs from run to run.
@compute @workgroup_size(GROUP)
fn choose_streaks(
    @builtin(global_invocation_id) thread: vec3u,
    @builtin(local_invocation_index) local: u32,
) {
    if local == 0u {
        atomicStore(&chosen, 0u);
    }
    workgroupBarrier();
    let body = thread.y * (GROUPS_A_ROW * GROUP) + thread.x;
    var draws = false;
    if body < sprite.count {
        let component = look.components[u32(tags[body].w) & 0xffu];
        draws = component.white_peak > 0.0 && share_of(body, course_of(body).way) > 0.0;
    }
    var at = 0u;
    if draws {
        at = atomicAdd(&chosen, 1u);
    }
    workgroupBarrier();
    if local == 0u {
        first_chosen = atomicAdd(&drawn.count, atomicLoad(&chosen));
    }
    workgroupBarrier();
    if draws {
        drawn.bodies[first_chosen + at] = body;
    }
}

// A few threads per streak; large ones are left for later.
@compute @workgroup_size(GROUP)
fn small_streaks(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let count = atomicLoad(&drawn.count);
    let lane = thread % STREAK_LANES;
    let first = group.x * (GROUP / STREAK_LANES) + thread / STREAK_LANES;
    for (var at = first; at < count; at += STREAK_GROUPS * (GROUP / STREAK_LANES)) {
        let body = drawn.bodies[at];
        let streak = streak_of(body);
        if streak.radius_px <= 0.0 {
            continue;
        }
        if (streak.length_px + 2.0 * streak.radius_px) * 2.0 * streak.radius_px > SMALL_PX {
            if lane == 0u {
                drawn.bodies[sprite.count + atomicAdd(&drawn.large, 1u)] = body;
            }
            continue;
        }
        add_streak(streak, vec2i(0, i32(lane)), vec2i(1, i32(STREAK_LANES)));
    }
}

// One workgroup per streak.
@compute @workgroup_size(GROUP)
fn large_streaks(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let count = atomicLoad(&drawn.large);
    let start = vec2i(i32(thread & 7u), i32(thread >> 3u));
    for (var at = group.x; at < count; at += LARGE_GROUPS) {
        let streak = streak_of(drawn.bodies[sprite.count + at]);
        if streak.radius_px > 0.0 {
            add_streak(streak, start, vec2i(8));
        }
    }
}
