// Bodies as soft round sprites, added up in linear light by the rasteriser. Three vertices per body, pulled from
// the engine's own buffers; no instances, which would fill each wave with only three vertices.

//% include "render/body_sprite.wgsl"

struct Varyings {
    @builtin(position) position: vec4f,
    // Centre in pixels and 1 / radius^2.
    @location(0) @interpolate(flat) place: vec3f,
    // Alpha is the light as a single star.
    @location(1) @interpolate(flat) peak: vec4f,
}

@vertex
fn vs_sprite(@builtin(vertex_index) vertex: u32) -> Varyings {
    let triangle = vertex / 3u;
    let corner = vertex - 3u * triangle;
    let seen = sprite_of(triangle * sprite.every);
    if seen.radius_px <= 0.0 {
        return Varyings(UNSEEN, vec3f(0.0), vec4f(0.0));
    }
    // The equilateral triangle around the sprite's disk: fewer vertices and blocks of pixels than a square.
    let side = vec2f((f32(corner) - 1.0) * 1.7320508, select(-1.0, 2.0, corner == 1u));
    return Varyings(
        in_clip_space(seen.centre_px + side * seen.radius_px),
        vec3f(seen.centre_px, 1.0 / (seen.radius_px * seen.radius_px)),
        vec4f(seen.peak, seen.star),
    );
}

@fragment
fn fs_sprite(in: Varyings) -> @location(0) vec4f {
    return in.peak * profile(in.position.xy - in.place.xy, in.place.z);
}
