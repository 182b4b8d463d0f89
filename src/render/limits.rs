//! Limits of numbers in loops over pixels.

/// The smaller one. One instruction, which f32::min and max are not; a NaN gives the limit.
#[inline(always)]
pub fn at_most(x: f32, limit: f32) -> f32 {
    if x < limit { x } else { limit }
}

/// The larger one; see [`at_most`].
#[inline(always)]
pub fn at_least(x: f32, limit: f32) -> f32 {
    if x > limit { x } else { limit }
}
