// The camera; the same layout as the host's View.

struct View {
    eye_in_world: vec3f,
    focal_px: f32,
    right_in_world: vec3f,
    near: f32,
    up_in_world: vec3f,
    width_px: f32,
    forward_in_world: vec3f,
    height_px: f32,
}
