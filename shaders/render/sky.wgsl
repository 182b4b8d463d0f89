// Background stars and galaxies over the finished picture. Reference implementation on the CPU: src/render/sky.rs,
// which makes the sprites.

//% include "render/srgb.wgsl"

struct SkySprite {
    centre_px: vec2f,
    axis: vec2f,
    per_px: vec2f,
    reach_px: f32,
    pad: f32,
    colour: vec4f,
}

struct SkyUniform {
    size_px: vec2f,
    // 1 if the target holds encoded values, not linear ones.
    encodes: u32,
    pad: u32,
}

@group(0) @binding(0) var<uniform> sky: SkyUniform;
@group(0) @binding(1) var<storage, read> sprites: array<SkySprite>;

struct Varyings {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) sprite: u32,
}

// Two triangles for each sprite.
@vertex
fn vs_sky(@builtin(vertex_index) vertex: u32) -> Varyings {
    let index = vertex / 6u;
    let corner = vertex - 6u * index;
    let right = select(-1.0, 1.0, corner == 1u || corner == 2u || corner == 4u);
    let lower = select(-1.0, 1.0, corner == 2u || corner == 4u || corner == 5u);
    let sprite = sprites[index];
    let place = (sprite.centre_px + vec2f(right, lower) * sprite.reach_px) / sky.size_px * 2.0 - 1.0;
    // Cut off at the picture's edge here: llvmpipe's clipper is slow, see guard_px() in sprites.rs.
    return Varyings(vec4f(clamp(vec2f(place.x, -place.y), vec2f(-1.0), vec2f(1.0)), 0.5, 1.0), index);
}

@fragment
fn fs_sky(in: Varyings) -> @location(0) vec4f {
    let sprite = sprites[in.sprite];
    let offset = in.position.xy - sprite.centre_px;
    let along = dot(offset, sprite.axis) * sprite.per_px.x;
    let across = (offset.y * sprite.axis.x - offset.x * sprite.axis.y) * sprite.per_px.y;
    let within = max(1.0 - along * along - across * across, 0.0);
    let light = sprite.colour.rgb * (within * within);
    return vec4f(select(light, srgb_encode(light), sky.encodes != 0u), 0.0);
}
