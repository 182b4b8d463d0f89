// Streaks of light behind bodies, added up by the rasteriser: a triangle around each piece.

//% include "render/body_sprite.wgsl"

@group(1) @binding(0) var<storage, read> accelerations: array<vec4f>;

//% include "render/streak_path.wgsl"

struct Varyings {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) ends: vec4f,
    @location(1) @interpolate(flat) joints: vec4f,
    @location(2) @interpolate(flat) shape: vec4f,
    @location(3) @interpolate(flat) peak: vec4f,
    // Length of the pieces before.
    @location(4) @interpolate(flat) before_px: f32,
}

@vertex
fn vs_streak(@builtin(vertex_index) vertex: u32) -> Varyings {
    let triangle = vertex / 3u;
    let corner = vertex - 3u * triangle;
    let body = triangle / sprite.streak_pieces;
    let index = triangle - body * sprite.streak_pieces;
    let streak = streak_of(body);
    let radius_px = streak.radius_px;
    var found = radius_px > 0.0;
    var pieces: Pieces;
    if found {
        pieces = first_piece(streak);
        for (var k = 0u; k < index; k++) {
            found = pieces.has_next;
            if !found {
                break;
            }
            pieces = next_piece(streak, pieces);
        }
    }
    if !found {
        return Varyings(UNSEEN, vec4f(0.0), vec4f(0.0), vec4f(0.0), vec4f(0.0), 0.0);
    }
    let piece = pieces.piece;
    let own = direction_of(piece);
    // Corners are rounded to fractions of a pixel; the margin keeps every pixel at a joint.
    let before = margin_px(radius_px, own, piece.enters) + 0.1;
    let after = margin_px(radius_px, own, piece.leaves) + 0.1;
    // The triangle is half of a rectangle with sides twice as long.
    let along = select(-before, 2.0 * (distance(piece.first, piece.last) + after) + before, corner == 1u);
    let across = select(-radius_px, 3.0 * radius_px, corner == 2u);
    let corner_px = piece.first + own * along + vec2f(-own.y, own.x) * across;
    return Varyings(
        in_clip_space(corner_px),
        vec4f(piece.first, piece.last),
        vec4f(piece.enters, piece.leaves),
        shape_of(streak),
        streak.peak,
        piece.before_px,
    );
}

@fragment
fn fs_streak(in: Varyings) -> @location(0) vec4f {
    let piece = Piece(in.ends.xy, in.ends.zw, in.joints.xy, in.joints.zw, in.before_px);
    return in.peak * piece_light(piece, in.shape, in.position.xy);
}
