// Where and how a body is drawn, for both ways of adding up light, sprite.wgsl and splat.wgsl.
// Reference implementation on the CPU: src/render/splat.rs, with the same formulas and names.

//% include "render/view.wgsl"

struct SpriteUniform {
    view: View,
    least_radius_px: f32,
    most_radius_px: f32,
    // The unit of the sums in splat.wgsl, and its reciprocal: powers of two.
    light_of_unit: f32,
    units_of_light: f32,
    count: u32,
    // For streaks (streak_path.wgsl): factors that turn velocities and accelerations into lengths over the
    // streaks' time, the number of pieces, and the length up to which every body draws its own.
    streak_reach: f32,
    streak_bend: f32,
    streak_pieces: u32,
    streak_most: f32,
    // One of this many bodies is drawn, as bright as all of them.
    every: u32,
    // How far the viewport reaches beyond the picture.
    guard_px: f32,
}

struct ComponentLook {
    peak: vec3f,
    radius_in_world: f32,
    white_peak: f32,
    inverse_mean_mass: f32,
    by_birth: f32,
    is_gas: f32,
}

const SCALE_STEPS = 32u;
// Makes the mean of luck() 1: 256 / the sum of (i / 255)^32 over i = 0 to 255.
const LUCK: f32 = 31.07653;
// The colour of a disk's middle.
const OLD = vec3f(1.18, 0.88, 0.54);
// Gas: thin, where stars begin to form in it, and where they have.
const THIN_GAS = vec3f(0.30, 0.20, 0.18);
const GLOWING_GAS = vec3f(54.0, 6.60, 19.0);
const NEW_STARS = vec3f(28.0, 46.0, 92.0);
// Colourings from this one on are maps; the last one is of velocities.
const MAPS_FROM = 5u;
const VELOCITY = 7u;
// The range of values that a pixel's mean can have, in units of the palette's.
const MEAN_SPAN: f32 = 4.0;
// Relative absorption of red, green and blue by dust.
const REDDENING = vec3f(0.72, 1.0, 1.36);

struct LookUniform {
    colour_by: u32,
    variety: f32,
    scale_from: f32,
    scale_factor: f32,
    depth_cue: f32,
    // Density at which gas begins to shine, in octaves, and 1 / (density where it shines most - that).
    gas_from: f32,
    gas_factor: f32,
    // 1 if densities are known, 2 if there is dust, 3 for both.
    medium: u32,
    scale: array<vec4f, SCALE_STEPS>,
    components: array<ComponentLook, 256>,
}

@group(0) @binding(0) var<uniform> sprite: SpriteUniform;
@group(0) @binding(1) var<uniform> look: LookUniform;
@group(0) @binding(2) var<storage, read> pos_mass: array<vec4f>;
// Velocity or acceleration, whichever the colour shows; or the age in x, if it shows that.
@group(0) @binding(3) var<storage, read> vectors: array<vec4f>;
// An integer in w: component in the low 8 bits, 16 random bits above them (Bodies::tag).
@group(0) @binding(4) var<storage, read> tags: array<vec4f>;
// log2 of the density around a body, and the optical depth in front of it (medium.wgsl), if look.medium says so.
@group(0) @binding(5) var<storage, read> surroundings: array<vec2f>;

// A soft round spot: peak * profile(), in pixels from the picture's upper left corner.
struct BodySprite {
    centre_px: vec2f,
    // 0 if nothing of the body is seen.
    radius_px: f32,
    // As if all bodies of a component were equally bright.
    peak: vec3f,
    // Peak intensity of the body as a single star; the mean over many bodies is that of `peak`.
    star: f32,
}

fn unseen_sprite() -> BodySprite {
    return BodySprite(vec2f(0.0), 0.0, vec3f(0.0), 0.0);
}

// Thin gas is seen faintly; where it is dense it glows, and where it is densest young stars outshine it.
fn gas_colour(density: f32) -> vec3f {
    let dense = clamp((density - look.gas_from) * look.gas_factor, 0.0, 1.0);
    let glowing = mix(THIN_GAS, GLOWING_GAS, smoothstep(0.4, 0.8, dense));
    return mix(glowing, NEW_STARS, smoothstep(0.7, 1.0, dense));
}

// The body's sprite if it reaches into the picture.
fn sprite_of(body: u32) -> BodySprite {
    return sprite_within(body, 0.0);
}

// The same for a body that may lie up to `margin_px` outside the picture.
fn sprite_within(body: u32, margin_px: f32) -> BodySprite {
    let tag = u32(tags[body].w);
    let component = look.components[tag & 0xffu];
    if component.white_peak <= 0.0 {
        return unseen_sprite();
    }
    let point = pos_mass[body];
    let view = sprite.view;
    let offset = point.xyz - view.eye_in_world;
    let depth = dot(offset, view.forward_in_world);
    // Written so that a NaN position is not drawn.
    if !(depth > view.near) {
        return unseen_sprite();
    }
    let scale_px = view.focal_px / depth;
    let size_px = vec2f(view.width_px, view.height_px);
    let sideways = vec2f(dot(offset, view.right_in_world), -dot(offset, view.up_in_world));
    let centre_px = 0.5 * size_px + sideways * scale_px;
    let true_radius_px = component.radius_in_world * scale_px;
    let is_map = look.colour_by >= MAPS_FROM;
    var narrower = 1.0;
    if is_map {
        narrower = exp2(surroundings[body].x * (-1.0 / 3.0));
    }
    let radius_px = clamp(true_radius_px * narrower, sprite.least_radius_px, sprite.most_radius_px);
    let reach_px = radius_px + margin_px;
    if !(all(centre_px + reach_px > vec2f(0.0)) && all(centre_px - reach_px < size_px)) {
        return unseen_sprite();
    }
    // A sprite of another radius spreads its light: the sum over its pixels stays the same.
    let coverage = true_radius_px / radius_px;
    let towards_near = min((depth - view.near) / (3.0 * view.near), 1.0);
    let fade = towards_near * towards_near * (3.0 - 2.0 * towards_near);
    if is_map {
        // Light is mass; its mean quantity is the ratio of red to green.
        let weight = component.white_peak * coverage * coverage * max(point.w * component.inverse_mean_mass, 0.0);
        let part = (dot(vectors[body].xyz, view.forward_in_world) - look.scale_from) * look.scale_factor;
        let own = clamp((part - 0.5) * (1.0 / MEAN_SPAN) + 0.5, 0.0, 1.0);
        let mean = select(0.5, own, look.colour_by == VELOCITY);
        return BodySprite(centre_px, radius_px, 1.5 * weight * vec3f(mean, 1.0 - mean, 1.0), weight);
    }
    let heaviness = sqrt(clamp(point.w * component.inverse_mean_mass, 0.09, 9.0));
    let chance = f32((tag >> 8u) & 0xffu) * (1.0 / 255.0);
    let tint = (f32(tag >> 16u) * (2.0 / 255.0) - 1.0) * look.variety;
    // The target is 50 times as far as the near plane.
    let nearness = clamp(1.0 - depth / (50.0 * view.near), -1.0, 0.5);
    let cue = exp2(4.0 * look.depth_cue * nearness);
    let light = coverage * coverage * fade * heaviness * cue;
    var own = component.peak;
    if component.by_birth > 0.0 {
        own = mix(own, component.white_peak * OLD, clamp(vectors[body].x, 0.0, 1.0));
    }
    var colour = own * vec3f(1.0 + 0.35 * tint, 1.0, 1.0 - 0.35 * tint);
    if component.is_gas > 0.0 && (look.medium & 1u) != 0u {
        colour = component.white_peak * gas_colour(surroundings[body].x);
    }
    if look.colour_by != 0u {
        let vector = vectors[body].xyz;
        var value = 0.5 * log2(max(dot(vector, vector), 1e-30));
        if look.colour_by == 4u {
            value = surroundings[body].x;
        }
        let on_scale = (value - look.scale_from) * look.scale_factor;
        let part = clamp(select(on_scale, vector.x, look.colour_by == 3u), 0.0, 1.0);
        let along = part * f32(SCALE_STEPS - 1u);
        let first = min(u32(along), SCALE_STEPS - 2u);
        let weight = along - f32(first);
        colour = component.white_peak * mix(look.scale[first].rgb, look.scale[first + 1u].rgb, weight);
    }
    if (look.medium & 2u) != 0u {
        colour *= exp(-surroundings[body].y * REDDENING);
    }
    let peak = colour * light;
    let star = (peak.r + peak.g + peak.b) * (1.0 / 3.0) * luck(chance);
    return BodySprite(centre_px, radius_px, peak, star);
}

// The brightness of a single star relative to the mean, for chance = 0, 1/255 .. 1.
fn luck(chance: f32) -> f32 {
    let square = chance * chance;
    let fourth = square * square;
    let eighth = fourth * fourth;
    let sixteenth = eighth * eighth;
    return 1.0 + look.variety * (LUCK * sixteenth * sixteenth - 1.0);
}

// Three corners in one place, so that nothing is rasterised; inside of clip space, see guard_px() in sprites.rs.
const UNSEEN = vec4f(-1.0, -1.0, 0.5, 1.0);

// A place in the picture, in clip space.
fn in_clip_space(place_px: vec2f) -> vec4f {
    let size_px = vec2f(sprite.view.width_px, sprite.view.height_px);
    let place = (place_px + sprite.guard_px) / (size_px + 2.0 * sprite.guard_px) * 2.0 - 1.0;
    return vec4f(place.x, -place.y, 0.5, 1.0);
}

// Fraction of the peak at that offset from the centre.
fn profile(offset_px: vec2f, inverse_square_radius: f32) -> f32 {
    let within = max(1.0 - dot(offset_px, offset_px) * inverse_square_radius, 0.0);
    let square = within * within;
    return square * square;
}
