// How long the next step may be, in units of the last one. All derivatives come multiplied by powers of the
// last step, so that they are accelerations, and only their ratios matter: f32 is enough in every tier.
struct Sizes {
    // |a|, |a1| h, |a2| h^2, ...; the higher ones without what may be error in them.
    a: f32,
    a1: f32,
    a2: f32,
    a3: f32,
    far_2: f32,
    far_3: f32,
    far_4: f32,
    far_5: f32,
}

// How much of a difference of forces over a step of h may be error: relative to all pulls on the body if their sizes
// are known, otherwise at least to the mean acceleration. Where forces cancel, their errors do not.
fn noise_of(pull: Pull, h: Real) -> Real {
    let mean = Real(state.least) * Real(1e8);
    let size = select(mean, pull.pull, pull.pull > Real(0.0));
    return Real(block.noise_acceleration) * max(length(narrow(pull.acceleration)), size)
        + Real(block.noise_jerk) * length(narrow(pull.jerk) * h);
}

// For |a2|, |a3|, |a4|, |a5| and what of each is noise.
fn sizes(a: Real3, a1: Real3, a2: Real3, a3: Real3, a4: Real3, a5: Real3, noise: Real4) -> Sizes {
    let near = vec4(length(a), length(a1), length(a2), length(a3));
    let far = vec4(near.zw, length(a4), length(a5)) - noise;
    // Keeps the squares of all of them in range.
    let unit = max(max(max(near.x, near.y), max(near.z, near.w)), max(far.z, far.w));
    let least = max(near.x, Real(state.least));
    let by = select(Real(1.0) / unit, Real(0.0), unit == Real(0.0));
    let clipped = max(far, Real4());
    return Sizes(f32(least * by), f32(near.y * by), f32(near.z * by), f32(near.w * by),
        f32(clipped.x * by), f32(clipped.y * by), f32(clipped.z * by), f32(clipped.w * by));
}

const ALWAYS: f32 = 1e30;

// To shorten a step, a derivative must exceed the noise by this factor; `sure` is the ratio with that much noise
// subtracted. With noise, a step is never shortened to less than an eighth.
const FAR_ABOVE: Real = Real(16.0);
const SHORTEST: f32 = 0.125;

// The mean of both criteria; the lower derivatives decide alone if the higher ones are lost in noise.
fn mean_ratio(s: Sizes) -> f32 {
    let fourth = aarseth(s);
    let other = sixth(s);
    return 0.5 * (fourth + select(other, fourth, other == ALWAYS));
}

// The multiple of the noise that is subtracted: 0, 1, and FAR_ABOVE, so that any remainder is far above the noise.
fn left_out(i: u32) -> Real {
    return select(select(FAR_ABOVE, Real(1.0), i == 1u), Real(0.0), i == 0u);
}

fn settled(ratio: f32, sure: f32) -> f32 {
    let shortest = select(0.0, SHORTEST, block.noise_jerk > 0.0);
    return select(ratio, clamp(sure, shortest, 1.0), ratio < 1.0);
}

// Aarseth's criterion (2003, equation 2.13).
fn aarseth(s: Sizes) -> f32 {
    let below = s.a1 * s.far_3 + s.far_2 * s.far_2;
    let above = s.a * s.a2 + s.a1 * s.a1;
    return select(sqrt(block.eta * above / below), ALWAYS, below == 0.0);
}

// Its form for order 6: Nitadori and Makino (2008).
fn sixth(s: Sizes) -> f32 {
    let below = s.far_3 * s.far_5 + s.far_4 * s.far_4;
    let above = s.a * s.a2 + s.a1 * s.a1;
    return select(block.eta6 * pow(above / below, 1.0 / 6.0), ALWAYS, below == 0.0);
}
