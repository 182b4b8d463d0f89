//! Lengths of vectors in loops over all bodies.

use glam::DVec3;

/// [`DVec3::length`] by the processor's square root, with the same bits: glam takes libm's, which
/// was a fifth of the time of diagnostics.
#[inline(always)]
pub fn length(vector: DVec3) -> f64 {
    vector.length_squared().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_bits_of_glam() {
        for k in 0..3000 {
            let x = f64::from(k);
            let scale = [1e-170, 1e-3, 1.0, 1e150][k as usize % 4];
            let vector = scale * DVec3::new(x.sin(), 1.0 / (x + 0.3), 0.01 * x - 7.0);
            assert_eq!(length(vector).to_bits(), vector.length().to_bits());
        }
        assert!(length(DVec3::NAN).is_nan());
    }
}
