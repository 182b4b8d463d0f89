// How long the next step may be, in units of the last one. All derivatives come multiplied by powers of the
// last step, so that they are accelerations, and only their ratios matter: f32 is enough in every tier.
struct Sizes {
    // |a|, |a1| h, |a2| h^2, ... and what may be error of them is left out of the far ones.
    a: f32,
    a1: f32,
    a2: f32,
    a3: f32,
    far_2: f32,
    far_3: f32,
    far_4: f32,
    far_5: f32,
}

// What of a difference of forces over a step of h may be error: relative to all pulls on the body, where their sizes
// are known, else to the mean acceleration at least; for where forces cancel their errors do not.
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
    // Squares of all of them stay in range.
    let unit = max(max(max(near.x, near.y), max(near.z, near.w)), max(far.z, far.w));
    let least = max(near.x, Real(state.least));
    let by = select(Real(1.0) / unit, Real(0.0), unit == Real(0.0));
    let clipped = max(far, Real4());
    return Sizes(f32(least * by), f32(near.y * by), f32(near.z * by), f32(near.w * by),
        f32(clipped.x * by), f32(clipped.y * by), f32(clipped.z * by), f32(clipped.w * by));
}

const ALWAYS: f32 = 1e30;

// A shorter step needs a sign that stands so far above the noise: `sure` is the wish without it. Where there is
// noise, a step is not shortened to less than an eighth.
const FAR_ABOVE: Real = Real(16.0);
const SHORTEST: f32 = 0.125;

// The mean of both; where the higher derivatives are lost in noise, what the lower ones say.
fn mean_wish(s: Sizes) -> f32 {
    let fourth = aarseth(s);
    let other = sixth(s);
    return 0.5 * (fourth + select(other, fourth, other == ALWAYS));
}

// Of the noise: none, once, and so many times that what is left stands far above it.
fn left_out(i: u32) -> Real {
    return select(select(FAR_ABOVE, Real(1.0), i == 1u), Real(0.0), i == 0u);
}

fn settled(wish: f32, sure: f32) -> f32 {
    let shortest = select(0.0, SHORTEST, block.noise_jerk > 0.0);
    return select(wish, clamp(sure, shortest, 1.0), wish < 1.0);
}

// Aarseth's (2003, equation 2.13).
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
