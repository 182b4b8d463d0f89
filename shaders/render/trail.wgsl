// Mixes one picture in linear light into another of the same size; the blend constant sets the share
// of each. Reference implementation on the CPU: src/render/trails.rs.

@group(0) @binding(0) var source: texture_2d<f32>;

// Half floats end at 65504, and an infinity would never fade.
const LARGEST: f32 = 60000.0;

// One triangle over the whole target.
@vertex
fn vs_screen(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4f {
    return vec4f(f32(corner & 1u) * 4.0 - 1.0, f32(corner >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}

@fragment
fn fs_mix(@builtin(position) position: vec4f) -> @location(0) vec4f {
    return min(textureLoad(source, vec2u(position.xy), 0), vec4f(LARGEST));
}
