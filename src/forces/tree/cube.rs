//! The cube around the bodies, which cells divide into halves, quarters and so on.

use super::{LEVELS, PointMass};

/// The largest coordinate in a tree: squares of larger ones exceed f32.
pub const FARTHEST: f32 = f32::from_bits((127 + 60) << 23);

/// The least half edge: its inverse times 2^20 still fits f32.
const LEAST: f32 = f32::from_bits((127 - 61) << 23);

/// The root's cube, about the origin: one that followed the bodies would give many of them to other
/// ranks at each step. Its edge is a power of two, so the only rounding in a body's position within
/// it is that of the distance from the lower corner, which is the same on every device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cube {
    /// Half of the edge, a power of two.
    pub half: f32,
}

impl Cube {
    /// The smallest cube that leaves out at most [`Cube::spare`] of the bodies: a
    /// few escapers would make the cells too coarse for all others.
    pub fn around(places: &[PointMass]) -> Self {
        Self::of_counts(&Self::counts(places))
    }

    /// A histogram of the bodies by the exponent of their largest coordinate |x|, |y| or |z|; the
    /// last bin has those that no cube can hold. Histograms of several ranks can be added.
    pub fn counts(places: &[PointMass]) -> [u64; 257] {
        let mut counts = [0; 257];
        for place in places {
            let exponent = distance(place).map_or(256, |d| (d.to_bits() >> 23) as usize);
            counts[exponent] += 1;
        }
        counts
    }

    /// [`Cube::around`] for the bodies of a histogram by [`Cube::counts`].
    pub fn of_counts(counts: &[u64; 257]) -> Self {
        let mut left_out = counts[256];
        // Bodies that no cube can hold do not count towards the spare ones.
        let most = left_out + Self::spare(counts.iter().sum::<u64>() as usize) as u64;
        let mut exponent = 255;
        while exponent > 0 && left_out + counts[exponent] <= most {
            left_out += counts[exponent];
            exponent -= 1;
        }
        let half = f32::from_bits((exponent as u32 + 1).min(254) << 23).clamp(LEAST, FARTHEST);
        Self { half }
    }

    /// How many of `n` bodies the cube may leave out.
    pub fn spare(n: usize) -> usize {
        (n / 10_000).min(128)
    }

    /// Whether a body is in the cube; false for positions that are not finite.
    pub fn holds(&self, place: &PointMass) -> bool {
        distance(place).is_some_and(|distance| distance < self.half)
    }

    /// A body as a tree stores it: massless and at the origin if its position is not finite or
    /// beyond [`FARTHEST`].
    pub fn admitted(place: &PointMass) -> PointMass {
        if distance(place).is_some() { *place } else { [0.0; 4] }
    }

    /// The interval, of 2^21 along each axis, that contains a body of the cube.
    pub fn index(&self, place: &PointMass) -> [u32; 3] {
        let scale = (1u32 << (LEVELS - 1)) as f32 / self.half;
        std::array::from_fn(|axis| {
            (((place[axis] + self.half) * scale) as u32).min((1 << LEVELS) - 1)
        })
    }
}

/// The largest of |x|, |y| and |z|; `None` if it is not finite or beyond [`FARTHEST`].
fn distance(place: &PointMass) -> Option<f32> {
    let is_somewhere = |x: &f32| x.abs() <= FARTHEST;
    let farthest = || place[..3].iter().fold(0.0f32, |far, x| far.max(x.abs()));
    place[..3].iter().all(is_somewhere).then(farthest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_leaves_out_only_few_far_bodies() {
        let mut places: Vec<PointMass> =
            (0..20_000).map(|i| [(i as f32 + 0.5) / 20_000.0 - 0.5, 0.1, -0.2, 1.0]).collect();
        assert_eq!(Cube::around(&places).half, 0.5);
        places[7] = [1e6, 0.0, 0.0, 1.0];
        places[9] = [0.0, -1e9, 0.0, 1.0];
        places[11] = [f32::NAN, 0.0, 0.0, 1.0];
        let cube = Cube::around(&places);
        assert_eq!(cube.half, 0.5);
        let outside = (0..places.len()).filter(|&i| !cube.holds(&places[i])).collect::<Vec<_>>();
        assert_eq!(outside, [7, 9, 11]);
        places[13][0] = 3.0;
        assert_eq!(Cube::around(&places).half, 4.0, "three are too many");
    }

    #[test]
    fn indices_reach_from_corner_to_corner() {
        let cube = Cube { half: 2.0 };
        let below = f32::from_bits(2.0f32.to_bits() - 1);
        assert!(!cube.holds(&[-2.0, 0.0, 0.0, 0.0]) && cube.holds(&[-below, 0.0, 0.0, 0.0]));
        assert_eq!(cube.index(&[-below, 0.0, 0.0, 0.0]), [0, 1 << 20, 1 << 20]);
        // The distance from the corner is rounded up to the edge.
        assert_eq!(cube.index(&[below, 1.0, -1.0, 0.0]), [(1 << 21) - 1, 3 << 19, 1 << 19]);
    }

    #[test]
    fn zero_and_huge_extents_have_valid_cube() {
        let at = |x: f32| vec![[x, x, x, 1.0]; 3];
        for x in [0.0, 1e-30, 5.0, 1e18] {
            let cube = Cube::around(&at(x));
            assert!(cube.holds(&[x, x, x, 0.0]), "{cube:?}");
            assert!(cube.half >= LEAST, "{cube:?}");
            assert!(cube.index(&[x, x, x, 0.0])[0] < 1 << 21);
        }
        assert_eq!(Cube::around(&[]).half, LEAST);
    }
}
