// A body's motion around its own time, in units of the frame. Records of WORDS vec4:
//% if pairs
//   0, 1 position (w: mass)    2, 3 velocity    4, 5 acceleration    6, 7 jerk    8, 9 snap, each with its low
//   part    10 crackle
//% else
//   0 position (w: mass)    1 velocity    2 acceleration    3 jerk    4 snap    5 crackle
//% endif
//% include "direct/taylor.wgsl"
const WORDS: u32 = {{ 11 if pairs else 6 }}u;

struct Track {
    position: Wide,
    velocity: Wide,
    acceleration: Wide,
    jerk: Wide,
    snap: Wide,
    crackle: Real3,
    mass: Real,
//% if pairs
    mass_low: f32,
//% endif
}

// A time of up to 44 bits as a number, exactly.
//% if pairs
fn span(t: vec2<u32>) -> Span {
    let high = f32((t.y << 12u) | (t.x >> 20u)) * 1048576.0;
    return Span(high * block.tick, f32(t.x & 0xfffffu) * block.tick);
}
//% else
fn span(t: vec2<u32>) -> Span {
    return (f64(t.y) * f64(4294967296.0) + f64(t.x)) * f64(block.tick);
}
//% endif

fn track_of(i: u32) -> Track {
    let at = i * WORDS;
//% if pairs
    let first = tracks[at];
    return Track(
        Wide(first.xyz, tracks[at + 1u].xyz),
        Wide(tracks[at + 2u].xyz, tracks[at + 3u].xyz),
        Wide(tracks[at + 4u].xyz, tracks[at + 5u].xyz),
        Wide(tracks[at + 6u].xyz, tracks[at + 7u].xyz),
        Wide(tracks[at + 8u].xyz, tracks[at + 9u].xyz),
        tracks[at + 10u].xyz,
        first.w,
        tracks[at + 1u].w,
    );
//% else
    let first = tracks[at];
    return Track(first.xyz, tracks[at + 1u].xyz, tracks[at + 2u].xyz, tracks[at + 3u].xyz,
        tracks[at + 4u].xyz, tracks[at + 5u].xyz, first.w);
//% endif
}

// The forces on a body at the end of its step.
struct Pull {
    acceleration: Wide,
    jerk: Wide,
    snap: Wide,
    // The sum of the sizes of all pulls; 0 if not known.
    pull: Real,
}

// A body at the end of its step, and the length that the criterion gives for its next one relative to this one; `plain`
// is the ratio without a correction for noise.
struct Corrected {
    track: Track,
    ratio: f32,
    plain: f32,
}

// Derivatives used only for extrapolation: zero if the step was too short to find them.
fn kept(derivative: Real3) -> Real3 {
    let size = abs(derivative.x) + abs(derivative.y) + abs(derivative.z);
    return select(Real3(), derivative, size < Real(1e36));
}
