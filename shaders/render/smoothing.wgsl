// How smooth and how evenly exposed a picture should be; the host's Smoothing. On the CPU: src/render/{glow,bloom}.rs.

struct Smoothing {
    crowding: f32,
    sharp_crowding: f32,
    least_sharp: f32,
    least_part: f32,
    bloom: f32,
    evenness: f32,
    dimmest: f32,
    neighbourhood: f32,
    stars: f32,
    is_on: u32,
    enlarged: f32,
    pad: u32,
}

// Lines of the shrunk picture, along its shorter side.
const LINES: f32 = 180.0;
// The share of the sharp picture that is shown where so many bodies overlap that it is smooth by itself.
const MOST_SHARP: f32 = 0.85;

fn intensity(pixel: vec4f) -> f32 {
    return (pixel.r + pixel.g + pixel.b) * (1.0 / 3.0);
}

// The factor by which a picture of that size is shrunk.
fn shrink_factor(size_px: vec2f) -> f32 {
    return max(min(size_px.x, size_px.y) / LINES, 1.0);
}

// How sufficient the bodies are, 0 to 1, for a number of overlapping bodies in units of the number that gives a half.
// Approaching 1 faster would leave dark rings around bright cores.
fn enough(crowded: f32) -> f32 {
    return 1.0 - 1.0 / (1.0 + crowded);
}

// How much of a pixel's light is shown as single stars, where the smooth picture is `glow`.
fn star_weight(glow: vec4f, smoothing: Smoothing) -> f32 {
    return smoothing.stars * (1.0 - enough(intensity(glow) * smoothing.sharp_crowding));
}

// How much of a pixel's light comes from the smooth picture, whose value there is `glow`.
fn bloom_weight(glow: vec4f, smoothing: Smoothing) -> f32 {
    let part = enough(intensity(glow) * smoothing.sharp_crowding);
    return smoothing.bloom * (1.0 - mix(smoothing.least_sharp, MOST_SHARP, part));
}
