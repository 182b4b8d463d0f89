//! Positions and velocities on a device have five bits more than f32, stored in the fourth
//! component of the acceleration: see `shaders/integrate/drift.wgsl`.

use glam::DVec3;

/// A 32nd of the spacing of f32 at `value`; 0 below 2^-99, where no additional bits are stored.
fn unit_of(value: f32) -> f64 {
    match (value.to_bits() >> 23) & 255 {
        exponent @ 29..=254 => f64::from(f32::from_bits((exponent - 28) << 23)),
        _ => 0.0,
    }
}

/// The rounding error of `value` relative to `exact`, in these units: at most 15 in size.
fn rest(exact: f64, value: f32) -> i32 {
    let rest = (exact - f64::from(value)) / unit_of(value);
    // NaN if the unit is 0, which the conversion to an integer makes 0.
    rest.round_ties_even().clamp(-15.0, 15.0) as i32
}

/// A position and a velocity in f32, and the word with their additional bits.
pub fn split(position: DVec3, velocity: DVec3) -> ([f32; 3], [f32; 3], f32) {
    let [x, v] = [position, velocity].map(crate::frame::narrow);
    let exact = position.to_array().into_iter().chain(velocity.to_array());
    let mut counts = 0;
    for (k, (exact, value)) in exact.zip(x.into_iter().chain(v)).enumerate() {
        counts |= (rest(exact, value) as u32 & 31) << (5 * k);
    }
    // Bits 30 and 29 are 01, so that it is a normal number.
    let word = (counts & 0x1fff_ffff) | (counts & 0x2000_0000) << 2 | 0x2000_0000;
    (x, v, f32::from_bits(word))
}

/// The position and the velocity that [`split`] was given, up to a 64th of the spacing of f32.
pub fn join(position: [f32; 3], velocity: [f32; 3], word: f32) -> (DVec3, DVec3) {
    let bits = word.to_bits();
    let counts = (bits & 0x1fff_ffff) | (bits >> 2 & 0x2000_0000);
    let exact = |values: [f32; 3], first: u32| {
        DVec3::from(std::array::from_fn(|k| {
            let rest = (counts << (27 - 5 * (first + k as u32))) as i32 >> 27;
            f64::from(values[k]) + f64::from(rest) * unit_of(values[k])
        }))
    };
    (exact(position, 0), exact(velocity, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_then_split_gives_same_bits() {
        let mut bits = 1u32;
        let mut random = || {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bits
        };
        let (mut worst, mut rests) = (0.0f64, 0);
        for _ in 0..10_000 {
            // Powers of two among them, below which the spacing is half as large; and 0.
            let number = |bits: u32, more: u32| {
                let mantissa = if bits & 7 == 0 { 0 } else { bits >> 9 };
                let sign = bits << 31;
                let value = f32::from_bits(sign | ((bits >> 4) % 200 + 20) << 23 | mantissa);
                f64::from(value) * (1.0 + f64::from(more as i32) * 2.0f64.powi(-55))
            };
            let exact: [f64; 6] = std::array::from_fn(|_| number(random(), random()));
            let [x, v] = [&exact[..3], &exact[3..]].map(DVec3::from_slice);
            let (narrow_x, narrow_v, word) = split(x, v);
            assert!(word.is_normal());
            let (wide_x, wide_v) = join(narrow_x, narrow_v, word);
            let again = split(wide_x, wide_v);
            assert_eq!((again.0, again.1), (narrow_x, narrow_v), "{exact:?}");
            assert_eq!(join(again.0, again.1, again.2), (wide_x, wide_v), "{exact:?}");
            let narrow = narrow_x.into_iter().chain(narrow_v);
            let wide = wide_x.to_array().into_iter().chain(wide_v.to_array());
            for ((exact, narrow), wide) in exact.into_iter().zip(narrow).zip(wide) {
                if narrow.abs() > 1e-29 {
                    worst = worst.max((wide - exact).abs() / exact.abs() * 2.0f64.powi(23));
                }
                rests += usize::from(wide != f64::from(narrow));
            }
        }
        assert!(worst < 1.01 / 32.0 && rests > 40_000, "{worst}, {rests}");
        // A word of 0 has no additional bits.
        assert_eq!(join([1.0; 3], [2.0; 3], 0.0), (DVec3::ONE, DVec3::splat(2.0)));
    }
}
