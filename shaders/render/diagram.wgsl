// Edges of boxes and marks on bodies, over a finished picture: see src/render/diagram.rs.

//% include "render/view.wgsl"

struct DiagramUniform {
    view: View,
    // Half the width of an edge, and the radius of a mark.
    half_width_px: f32,
    radius_px: f32,
    // Depth of the camera's target.
    target_depth: f32,
    // Pixels of the picture per pixel of a picture of 720 lines.
    pixels: f32,
}

struct DrawnBox {
    lower: vec3f,
    // Red in the low 8 bits, then green, blue, alpha, as a screen has them.
    colour: u32,
    upper: vec3f,
    pad: u32,
}

struct Mark {
    body: u32,
    colour: u32,
    // In pixels of a picture of 720 lines; 0 is a dot.
    ring_px: f32,
    pad: u32,
}

@group(0) @binding(0) var<uniform> diagram: DiagramUniform;
@group(0) @binding(1) var<storage, read> boxes: array<DrawnBox>;
@group(0) @binding(2) var<storage, read> marks: array<Mark>;
@group(0) @binding(3) var<storage, read> pos_mass: array<vec4f>;

// Whether the target encodes sRGB itself.
override LINEAR: bool = false;

struct Varyings {
    @builtin(position) position: vec4f,
    // Pixels from the middle of the line or mark; in z where it ends. In w how visible it is at its distance.
    @location(0) offset_px: vec4f,
    @location(1) @interpolate(flat) colour: vec4f,
    // Radius at which the line circles the middle; 0 for a straight line or a dot.
    @location(2) @interpolate(flat) ring_px: f32,
}

fn unseen() -> Varyings {
    return Varyings(vec4f(2.0, 2.0, 2.0, 1.0), vec4f(0.0), vec4f(0.0), 0.0);
}

// Right, up and depth.
fn in_view(place: vec3f) -> vec3f {
    let offset = place - diagram.view.eye_in_world;
    return vec3f(
        dot(offset, diagram.view.right_in_world),
        dot(offset, diagram.view.up_in_world),
        dot(offset, diagram.view.forward_in_world),
    );
}

fn pixel(place: vec3f) -> vec2f {
    let scale_px = diagram.view.focal_px / place.z;
    let size_px = vec2f(diagram.view.width_px, diagram.view.height_px);
    return 0.5 * size_px + vec2f(place.x, -place.y) * scale_px;
}

fn at_pixel(place_px: vec2f) -> vec4f {
    let clip = place_px / vec2f(diagram.view.width_px, diagram.view.height_px) * 2.0 - 1.0;
    return vec4f(clip.x, -clip.y, 0.5, 1.0);
}

fn screen(packed: u32) -> vec4f {
    let colour = unpack4x8unorm(packed);
    if !LINEAR {
        return colour;
    }
    let low = colour.rgb / 12.92;
    let high = pow((colour.rgb + 0.055) / 1.055, vec3f(2.4));
    return vec4f(select(high, low, colour.rgb <= vec3f(0.04045)), colour.a);
}

// Far edges are fainter than near ones, which helps to tell many boxes apart.
fn haze(depth: f32) -> f32 {
    return clamp(exp(-0.9 * (depth / diagram.target_depth - 1.0)), 0.12, 1.0);
}

// Corner 0 to 7 of a box: one bit for each axis.
fn corner(box: DrawnBox, number: u32) -> vec3f {
    let upper = (vec3u(number) >> vec3u(0u, 1u, 2u)) & vec3u(1u);
    return select(box.lower, box.upper, upper == vec3u(1u));
}

// Two triangles.
fn side_of(vertex: u32) -> vec2f {
    let second = vertex == 1u || vertex == 3u || vertex == 5u;
    let upper = vertex == 2u || vertex == 4u || vertex == 5u;
    return vec2f(select(0.0, 1.0, second), select(-1.0, 1.0, upper));
}

// 12 edges of 6 vertices; an instance is a box.
@vertex
fn vs_box(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let box = boxes[instance];
    let edge = vertex / 6u;
    let along = edge / 4u;
    let beside = edge % 4u;
    // The two other axes' bits, with a gap for this one.
    let low = beside & ((1u << along) - 1u);
    let from_corner = low | ((beside - low) << 1u);
    var from_place = in_view(corner(box, from_corner));
    var to_place = in_view(corner(box, from_corner | (1u << along)));
    let near = diagram.view.near;
    // Written so that a NaN is not drawn.
    if !(max(from_place.z, to_place.z) > near) {
        return unseen();
    }
    // Clips what is behind the eye.
    if from_place.z < near {
        from_place = mix(to_place, from_place, (to_place.z - near) / (to_place.z - from_place.z));
    }
    if to_place.z < near {
        to_place = mix(from_place, to_place, (from_place.z - near) / (from_place.z - to_place.z));
    }
    let from_px = pixel(from_place);
    let to_px = pixel(to_place);
    let size_px = vec2f(diagram.view.width_px, diagram.view.height_px);
    if any(max(from_px, to_px) < vec2f(0.0)) || any(min(from_px, to_px) > size_px) {
        return unseen();
    }
    let way = to_px - from_px;
    let length_px = length(way);
    // Edges shorter than that are not drawn.
    if !(length_px > 0.5) {
        return unseen();
    }
    let direction = way / length_px;
    let across = vec2f(-direction.y, direction.x);
    // One more pixel on each side, for the soft border.
    let reach = diagram.half_width_px + 1.0;
    let side = side_of(vertex % 6u);
    let place_px = mix(from_px, to_px, side.x) + across * (side.y * reach);
    return Varyings(
        at_pixel(place_px),
        vec4f(0.0, side.y * reach, diagram.half_width_px, haze(mix(from_place.z, to_place.z, side.x))),
        screen(box.colour),
        0.0,
    );
}

// A square around a disk or a ring; an instance is a mark.
@vertex
fn vs_mark(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let mark = marks[instance];
    let place = in_view(pos_mass[mark.body].xyz);
    if !(place.z > diagram.view.near) {
        return unseen();
    }
    let side = side_of(vertex) * vec2f(2.0, 1.0) - vec2f(1.0, 0.0);
    let ring_px = mark.ring_px * diagram.pixels;
    let thick_px = select(diagram.radius_px, 0.7 * diagram.pixels, ring_px > 0.0);
    let offset_px = side * (ring_px + thick_px + 1.0);
    return Varyings(
        at_pixel(pixel(place) + offset_px),
        vec4f(offset_px, thick_px, 1.0),
        screen(mark.colour),
        ring_px,
    );
}

@fragment
fn fs_diagram(in: Varyings) -> @location(0) vec4f {
    let covered = clamp(in.offset_px.z + 0.5 - abs(length(in.offset_px.xy) - in.ring_px), 0.0, 1.0);
    let alpha = in.colour.a * covered * in.offset_px.w;
    return vec4f(in.colour.rgb * alpha, alpha);
}
