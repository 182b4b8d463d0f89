// The light that a body left behind it, as straight pieces along the circle given by its velocity and acceleration:
// for streak.wgsl and streak_splat.wgsl, which declare `accelerations`. Reference implementation on the CPU:
// src/render/streaks/path.rs and share.rs. Points are recomputed wherever they are needed: arrays of them would take
// memory in every thread.

// Most pieces of a streak.
const MOST_PIECES = 24u;
// Largest turn of a piece, and of a whole streak, in radians.
const PIECE_TURN: f32 = 0.6;
const STREAK_TURN: f32 = 4.7;
// Points nearer than this to the one before are left out, and farther ones end the streak.
const LEAST_PX: f32 = 0.5;
const MOST_PX: f32 = 1e6;
// Half the width of the tail, relative to that of the head, and in pixels.
const TAIL_PART: f32 = 0.4;
const TAIL_PX: f32 = 1.5;
// Light of a streak, relative to that of its sprite.
const STREAK_LIGHT: f32 = 1.5;
// Integrals of profile(): across a line of half-width 1, and over half a disk of radius 1.
const LINE_LIGHT: f32 = 0.8126984;
const HALF_DISK_LIGHT: f32 = 0.31415927;
// If not all bodies draw streaks: the smallest share that do and, relative to that share, how many more are fading in.
const LEAST_SHARE: f32 = 0.015625;
const ENTERING: f32 = 0.25;

// The body's path back over the streaks' time, as a circle: exact for circular orbits, good for a while for others, and
// unlike a parabola it stays near the orbit.
struct Course {
    velocity: vec3f,
    // Length of the path, 0 for a body at rest.
    way: f32,
    forward: vec3f,
    // Radius of the circle, 0 for a straight path.
    radius: f32,
    inward: vec3f,
    // 0 for a body at rest.
    pieces: u32,
    // Cosine and sine of the angle of a piece.
    turn: vec2f,
}

fn course_of(body: u32) -> Course {
    var course: Course;
    course.velocity = tags[body].xyz * sprite.streak_reach;
    let square = dot(course.velocity, course.velocity);
    // False for NaN and for values out of range.
    if !(square > 1e-36 && square < 1e36) {
        return course;
    }
    let pull = accelerations[body].xyz * sprite.streak_bend;
    let pieces = min(sprite.streak_pieces, MOST_PIECES);
    let way = sqrt(square);
    let forward = course.velocity / way;
    let aside = pull - forward * dot(forward, pull);
    let bend = length(aside);
    let turn = bend / way;
    course.pieces = pieces;
    course.way = way;
    course.forward = forward;
    if turn > 1e-3 && turn < 1e12 {
        let most = min(PIECE_TURN * f32(pieces), STREAK_TURN);
        // The angle of one piece.
        let angle = min(turn, most) / f32(pieces);
        let square_angle = angle * angle;
        let sine = angle * (1.0 - square_angle * (1.0 / 6.0 - square_angle * (1.0 / 120.0 - square_angle / 5040.0)));
        let cosine = 1.0 - square_angle * (0.5 - square_angle * (1.0 / 24.0 - square_angle / 720.0));
        course.turn = vec2f(cosine, sine);
        course.inward = aside / bend;
        course.radius = way / turn;
        course.way = way * min(most / turn, 1.0);
    }
    return course;
}

// A random number from 0 to 1, fixed for each body.
fn chance_of(body: u32) -> f32 {
    let mixed = body * 747796405u + 2891336453u;
    let word = ((mixed >> ((mixed >> 28u) + 4u)) ^ mixed) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) * 5.9604645e-8;
}

// Brightness factor of a body's streak, with mean 1. If all paths together are longer than can be seen, some bodies
// draw the long ones on behalf of the others.
fn share_of(body: u32, way: f32) -> f32 {
    let part = max(sprite.streak_most / max(way, 1e-30), LEAST_SHARE);
    if part >= 1.0 {
        return 1.0;
    }
    let range = ENTERING * part;
    let up_to = part + range;
    let beyond = max(up_to - 1.0, 0.0);
    let mean = part + (range * range - beyond * beyond) / (2.0 * range);
    return clamp((up_to - chance_of(body)) / range, 0.0, 1.0) / mean;
}

// A body's streak on the picture.
struct Streak {
    course: Course,
    // From the eye to the body.
    head: vec3f,
    // 0 if nothing is seen.
    radius_px: f32,
    centre_px: vec2f,
    // Length of all pieces together.
    length_px: f32,
    // Fraction of the half-width at the head, radius_px, that is missing at the tail.
    taper: f32,
    // Alpha is the light as a single star.
    peak: vec4f,
    // How far the light fades towards the tail: 0 for a body at rest, towards 1 for a long streak.
    fading: f32,
}

// State of a walk from point to point of a streak.
struct Walk {
    place: vec2f,
    step_px: f32,
    // Points passed, and cosine and sine of the angle so far.
    passed: u32,
    turned: vec2f,
}

fn walk_from(centre_px: vec2f) -> Walk {
    return Walk(centre_px, 0.0, 0u, vec2f(1.0, 0.0));
}

// Moves to the next point; false if there is none.
fn go_on(course: Course, head: vec3f, walk: ptr<function, Walk>) -> bool {
    let view = sprite.view;
    while (*walk).passed < course.pieces {
        (*walk).passed += 1u;
        let before = (*walk).turned;
        let turned = vec2f(
            before.x * course.turn.x - before.y * course.turn.y,
            before.y * course.turn.x + before.x * course.turn.y,
        );
        (*walk).turned = turned;
        let arc = course.radius * (course.inward * (1.0 - turned.x) - course.forward * turned.y);
        let straight = -course.velocity * (f32((*walk).passed) / f32(course.pieces));
        let offset = head + select(straight, arc, course.radius > 0.0);
        let depth = dot(offset, view.forward_in_world);
        let sideways = vec2f(dot(offset, view.right_in_world), -dot(offset, view.up_in_world));
        let place = 0.5 * vec2f(view.width_px, view.height_px) + sideways * (view.focal_px / depth);
        let step_px = distance(place, (*walk).place);
        if !(depth > view.near && step_px < MOST_PX) {
            (*walk).passed = course.pieces;
            return false;
        }
        if step_px >= LEAST_PX {
            (*walk).place = place;
            (*walk).step_px = step_px;
            return true;
        }
    }
    return false;
}

// The streak of a body; empty if the body draws none or is not seen.
fn streak_of(body: u32) -> Streak {
    var streak: Streak;
    let course = course_of(body);
    let share = share_of(body, course.way);
    if share <= 0.0 {
        return streak;
    }
    let seen = sprite_within(body, MOST_PX);
    if seen.radius_px <= 0.0 {
        return streak;
    }
    let head = pos_mass[body].xyz - sprite.view.eye_in_world;
    var length_px = 0.0;
    var walk = walk_from(seen.centre_px);
    while go_on(course, head, &walk) {
        length_px += walk.step_px;
    }
    let radius_px = seen.radius_px;
    let fading = length_px / (length_px + 2.0 * radius_px);
    let taper = fading * max(1.0 - max(TAIL_PART, TAIL_PX / radius_px), 0.0);
    let line = LINE_LIGHT * radius_px * length_px * (1.0 - 0.5 * taper + 0.25 * taper * fading);
    let tail = (1.0 - taper) * (1.0 - taper) * (1.0 - fading);
    let ends = HALF_DISK_LIGHT * radius_px * radius_px * (1.0 + 2.0 * fading + tail);
    let sprite_light = 2.0 * HALF_DISK_LIGHT * radius_px * radius_px;
    streak.course = course;
    streak.head = head;
    streak.centre_px = seen.centre_px;
    streak.length_px = length_px;
    streak.radius_px = radius_px;
    streak.taper = taper;
    streak.fading = fading;
    streak.peak = vec4f(seen.peak, seen.star) * (share * STREAK_LIGHT * sprite_light / (line + ends));
    return streak;
}

struct Piece {
    first: vec2f,
    last: vec2f,
    // Normals of the joints with the pieces before and after; 0 if there is none.
    enters: vec2f,
    leaves: vec2f,
    // Length of the pieces before.
    before_px: f32,
}

// The pieces of a streak, one after the other. There is at least one; for a body at rest its length is 0.
struct Pieces {
    piece: Piece,
    walk: Walk,
    has_next: bool,
}

fn first_piece(streak: Streak) -> Pieces {
    var pieces: Pieces;
    pieces.piece.first = streak.centre_px;
    var walk = walk_from(streak.centre_px);
    let moves = go_on(streak.course, streak.head, &walk);
    pieces.piece.last = walk.place;
    pieces.has_next = moves && go_on(streak.course, streak.head, &walk);
    pieces.walk = walk;
    if pieces.has_next {
        let own = direction_of(pieces.piece);
        pieces.piece.leaves = joint(own, unit(walk.place - pieces.piece.last));
    }
    return pieces;
}

fn next_piece(streak: Streak, before: Pieces) -> Pieces {
    var pieces: Pieces;
    let old = before.piece;
    pieces.piece.first = old.last;
    pieces.piece.last = before.walk.place;
    pieces.piece.before_px = old.before_px + distance(old.first, old.last);
    let own = direction_of(pieces.piece);
    pieces.piece.enters = joint(own, direction_of(old));
    var walk = before.walk;
    pieces.has_next = go_on(streak.course, streak.head, &walk);
    pieces.walk = walk;
    if pieces.has_next {
        pieces.piece.leaves = joint(own, unit(walk.place - pieces.piece.last));
    }
    return pieces;
}

// The unit vector; to the right if the length is 0.
fn unit(way: vec2f) -> vec2f {
    let size = length(way);
    return select(vec2f(1.0, 0.0), way / size, size > 0.0);
}

fn direction_of(piece: Piece) -> vec2f {
    return unit(piece.last - piece.first);
}

// The normal of the joint: cutting along the bisector of two neighbours leaves neither gap nor overlap; if they fold
// back, the cut is across this piece.
fn joint(own: vec2f, other: vec2f) -> vec2f {
    let both = own + other;
    return select(own, both, dot(both, both) >= 1.0);
}

// How far light reaches beyond an end of a piece.
fn margin_px(radius_px: f32, own: vec2f, end: vec2f) -> f32 {
    if all(end == vec2f(0.0)) {
        return radius_px;
    }
    return radius_px * abs(own.x * end.y - own.y * end.x) / dot(own, end);
}

// Values common to all pieces of a streak: length, half-width, taper and fading.
fn shape_of(streak: Streak) -> vec4f {
    return vec4f(streak.length_px, streak.radius_px, streak.taper, streak.fading);
}

// Fraction of the peak at that place.
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
