//! Clamping in loops over pixels.

/// The smaller one, in one instruction, unlike f32::min and max; a NaN gives the limit.
#[inline(always)]
pub fn at_most(x: f32, limit: f32) -> f32 {
    if x < limit { x } else { limit }
}

/// The larger one; see [`at_most`].
#[inline(always)]
pub fn at_least(x: f32, limit: f32) -> f32 {
    if x > limit { x } else { limit }
}
