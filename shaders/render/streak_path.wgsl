// The light that a body left behind it, as straight pieces along the circle that its velocity and acceleration say:
// for streak.wgsl and streak_splat.wgsl, which declare `accelerations`. The CPU twin is src/render/streaks/path.rs.

// Most points of a streak.
const POINTS = 25u;
// Most that a piece turns, and that a streak does, in radians.
const PIECE_TURN: f32 = 0.6;
const STREAK_TURN: f32 = 4.7;
// Points nearer than this to the one before are left out, and farther ones end the streak.
const LEAST_PX: f32 = 0.5;
const MOST_PX: f32 = 1e6;
// Half the width of the tail, in that of the head and in pixels.
const TAIL_PART: f32 = 0.4;
const TAIL_PX: f32 = 1.5;
// Light of a streak, in that of its sprite.
const STREAK_LIGHT: f32 = 1.5;
// Of profile(): across a line of half the width 1, and half of a disk of radius 1.
const LINE_LIGHT: f32 = 0.8126984;
const HALF_DISK_LIGHT: f32 = 0.31415927;

struct Streak {
    // From the head on, in pixels.
    points: array<vec2f, POINTS>,
    // 0 where nothing is seen.
    count: u32,
    length_px: f32,
    // Half the width at the head, and the part of it that the tail lacks.
    radius_px: f32,
    taper: f32,
    // How far the light fades towards the tail: 0 for a body at rest, towards 1 for a long streak.
    fading: f32,
    peak: vec3f,
}

// The body's way back through the last streak_reach: along a circle, which circular orbits are and others are for a
// while, and which stays near where a parabola leaves.
fn streak_of(body: u32) -> Streak {
    var streak: Streak;
    let seen = sprite_within(body, MOST_PX);
    if seen.radius_px <= 0.0 {
        return streak;
    }
    let view = sprite.view;
    let pieces = min(sprite.streak_pieces, POINTS - 1u);
    let velocity = tags[body].xyz * sprite.streak_reach;
    let pull = accelerations[body].xyz * sprite.streak_bend;
    let square = dot(velocity, velocity);
    streak.points[0] = seen.centre_px;
    streak.count = 1u;
    var length_px = 0.0;
    // False for NaN, and for what f32 does not hold.
    if square > 1e-36 && square < 1e36 {
        let way = sqrt(square);
        let forward = velocity / way;
        let aside = pull - forward * dot(forward, pull);
        let bend = length(aside);
        let turn = bend / way;
        let is_bent = turn > 1e-3 && turn < 1e12;
        let most = min(PIECE_TURN * f32(pieces), STREAK_TURN);
        // Of one piece: angle, its sine and cosine.
        let angle = min(turn, most) / f32(pieces);
        let square_angle = angle * angle;
        let sine = angle * (1.0 - square_angle * (1.0 / 6.0 - square_angle * (1.0 / 120.0 - square_angle / 5040.0)));
        let cosine = 1.0 - square_angle * (0.5 - square_angle * (1.0 / 24.0 - square_angle / 720.0));
        let inward = select(vec3f(0.0), aside / bend, is_bent);
        let radius = select(0.0, way / turn, is_bent);
        let head = pos_mass[body].xyz - view.eye_in_world;
        let size_px = vec2f(view.width_px, view.height_px);
        var turned = vec2f(1.0, 0.0);
        var last = seen.centre_px;
        for (var k = 1u; k <= pieces; k++) {
            turned = vec2f(turned.x * cosine - turned.y * sine, turned.y * cosine + turned.x * sine);
            let arc = radius * (inward * (1.0 - turned.x) - forward * turned.y);
            let straight = -velocity * (f32(k) / f32(pieces));
            let offset = head + select(straight, arc, is_bent);
            let depth = dot(offset, view.forward_in_world);
            if !(depth > view.near) {
                break;
            }
            let sideways = vec2f(dot(offset, view.right_in_world), -dot(offset, view.up_in_world));
            let point = 0.5 * size_px + sideways * (view.focal_px / depth);
            let step = distance(point, last);
            if !(step < MOST_PX) {
                break;
            }
            if step >= LEAST_PX {
                streak.points[streak.count] = point;
                streak.count += 1u;
                length_px += step;
                last = point;
            }
        }
    }
    let radius_px = seen.radius_px;
    let fading = length_px / (length_px + 2.0 * radius_px);
    let taper = fading * max(1.0 - max(TAIL_PART, TAIL_PX / radius_px), 0.0);
    let line = LINE_LIGHT * radius_px * length_px * (1.0 - 0.5 * taper + 0.25 * taper * fading);
    let tail = (1.0 - taper) * (1.0 - taper) * (1.0 - fading);
    let ends = HALF_DISK_LIGHT * radius_px * radius_px * (1.0 + 2.0 * fading + tail);
    let sprite_light = 2.0 * HALF_DISK_LIGHT * radius_px * radius_px;
    streak.length_px = length_px;
    streak.radius_px = radius_px;
    streak.taper = taper;
    streak.fading = fading;
    streak.peak = seen.peak * (STREAK_LIGHT * sprite_light / (line + ends));
    return streak;
}

struct Piece {
    first: vec2f,
    last: vec2f,
    // Across the joints with the pieces before and after; 0 where there is none.
    enters: vec2f,
    leaves: vec2f,
    // Length of the pieces before.
    before_px: f32,
}

fn pieces_of(count: u32) -> u32 {
    return select(max(count - 1u, 1u), 0u, count == 0u);
}

// Of length 1; to the right where there is no way.
fn unit(way: vec2f) -> vec2f {
    let size = length(way);
    return select(vec2f(1.0, 0.0), way / size, size > 0.0);
}

fn direction_of(piece: Piece) -> vec2f {
    return unit(piece.last - piece.first);
}

// Along the bisector of two neighbours, which leaves neither gap nor overlap; across the one where they fold back.
fn joint(own: vec2f, other: vec2f) -> vec2f {
    let both = own + other;
    return select(own, both, dot(both, both) >= 1.0);
}

fn piece_of(streak: ptr<function, Streak>, index: u32) -> Piece {
    var piece: Piece;
    let count = (*streak).count;
    piece.first = (*streak).points[index];
    piece.last = (*streak).points[min(index + 1u, count - 1u)];
    let own = direction_of(piece);
    for (var k = 0u; k < index; k++) {
        piece.before_px += distance((*streak).points[k], (*streak).points[k + 1u]);
    }
    if index > 0u {
        piece.enters = joint(own, unit(piece.first - (*streak).points[index - 1u]));
    }
    if index + 2u < count {
        piece.leaves = joint(own, unit((*streak).points[index + 2u] - piece.last));
    }
    return piece;
}

// How far light reaches beyond an end of a piece.
fn margin_px(radius_px: f32, own: vec2f, end: vec2f) -> f32 {
    if all(end == vec2f(0.0)) {
        return radius_px;
    }
    return radius_px * abs(own.x * end.y - own.y * end.x) / dot(own, end);
}

// What all pieces of a streak have in common: length, half the width, taper and fading.
fn shape_of(streak: ptr<function, Streak>) -> vec4f {
    return vec4f((*streak).length_px, (*streak).radius_px, (*streak).taper, (*streak).fading);
}

// Part of the peak at that place.
fn piece_light(piece: Piece, shape: vec4f, place: vec2f) -> f32 {
    let own = direction_of(piece);
    let behind = place - piece.first;
    let ahead = place - piece.last;
    let is_first = all(piece.enters == vec2f(0.0));
    let is_last = all(piece.leaves == vec2f(0.0));
    if dot(behind, piece.enters) < 0.0 || (!is_last && dot(ahead, piece.leaves) >= 0.0) {
        return 0.0;
    }
    let along = dot(behind, own);
    let across = own.x * behind.y - own.y * behind.x;
    var beyond = 0.0;
    if is_first {
        beyond = max(-along, 0.0);
    }
    if is_last {
        beyond = max(beyond, dot(ahead, own));
    }
    let part = clamp((piece.before_px + along) / max(shape.x, 1e-6), 0.0, 1.0);
    let width = shape.y * (1.0 - shape.z * part);
    let rest = 1.0 - part;
    let light = 1.0 - shape.w + 3.0 * shape.w * rest * rest;
    return light * profile(vec2f(across, beyond), 1.0 / (width * width));
}
