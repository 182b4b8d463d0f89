//! Random numbers that are the same on every platform: ChaCha, with our own conversion of bits to
//! numbers.

use glam::DVec3;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One stream of random numbers. Streams of one seed are independent, so that drawing more numbers
/// for one component does not shift those of another.
pub(crate) struct Stream(ChaCha12Rng);

impl Stream {
    /// Stream number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha12Rng::from_seed(key);
        rng.set_stream(stream);
        Self(rng)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [-1, 1).
    pub fn symmetric(&mut self) -> f64 {
        2.0 * self.uniform() - 1.0
    }

    /// Uniform in the ball of radius 1.
    pub fn in_ball(&mut self) -> DVec3 {
        loop {
            let point = DVec3::new(self.symmetric(), self.symmetric(), self.symmetric());
            if point.length_squared() <= 1.0 {
                return point;
            }
        }
    }

    /// Uniform on the sphere of radius 1.
    pub fn direction(&mut self) -> DVec3 {
        loop {
            let point = self.in_ball();
            let length = point.length();
            // Very short vectors carry few bits of direction.
            if length > 1e-3 {
                return point / length;
            }
        }
    }

    /// Uniform on the circle of radius 1: (cosine, sine) of a random angle.
    pub fn on_circle(&mut self) -> (f64, f64) {
        loop {
            let (x, y) = (self.symmetric(), self.symmetric());
            let square = x * x + y * y;
            if (1e-6..=1.0).contains(&square) {
                let length = square.sqrt();
                return (x / length, y / length);
            }
        }
    }

    /// Normal with mean 0 and variance 1 (the polar method of Marsaglia & Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (self.symmetric(), self.symmetric());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }
}

/// Points that fill the unit square more evenly than random ones: multiples of the powers of the
/// plastic number (Roberts 2018, the sequence R2) from a random start. Radii and speeds drawn with
/// them follow the intended profiles without the 1/sqrt(n) noise, which mixes away within a few
/// orbits and would look like a drift.
pub(crate) struct Even([u64; 2]);

impl Even {
    /// A sequence with a random start.
    pub fn new(stream: &mut Stream) -> Self {
        Self([stream.0.next_u64(), stream.0.next_u64()])
    }

    /// Point number `k`, in any order of calls; both coordinates are multiples of 2^-53 in [0, 1).
    pub fn point(&self, k: usize) -> (f64, f64) {
        let along = |axis: usize, step: u64| {
            let bits = self.0[axis].wrapping_add((k as u64 + 1).wrapping_mul(step));
            (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
        };
        (along(0, 0xc13f_a9a9_02a6_328f), along(1, 0x91e1_0da5_c79e_7b1d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_have_expected_moments() {
        let mut stream = Stream::new(7, 0);
        let n = 40_000;
        let (mut uniform, mut normal, mut square, mut direction) = (0.0, 0.0, 0.0, DVec3::ZERO);
        for _ in 0..n {
            uniform += stream.uniform();
            let x = stream.normal();
            normal += x;
            square += x * x;
            direction += stream.direction();
        }
        let n = f64::from(n);
        // Five standard errors of each mean.
        assert!((uniform / n - 0.5).abs() < 5.0 * 0.289 / n.sqrt());
        assert!((normal / n).abs() < 5.0 / n.sqrt());
        assert!((square / n - 1.0).abs() < 5.0 * 1.42 / n.sqrt());
        assert!((direction / n).length() < 5.0 / n.sqrt());
    }

    #[test]
    fn even_points_are_even() {
        let even = Even::new(&mut Stream::new(1, 0));
        let points: Vec<(f64, f64)> = (0..1000).map(|k| even.point(k)).collect();
        let below = points.iter().filter(|p| p.0 < 0.3).count();
        assert!(below.abs_diff(300) <= 3, "{below} of 1000 lie below 0.3");
        let corner = points.iter().filter(|p| p.0 < 0.5 && p.1 < 0.2).count();
        assert!(corner.abs_diff(100) <= 5, "{corner} of 1000 lie in a tenth of the square");
    }

    #[test]
    fn streams_and_seeds_differ_and_repeat() {
        let first = |seed, stream| Stream::new(seed, stream).uniform();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }
}
