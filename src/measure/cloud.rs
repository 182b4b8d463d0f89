//! The bodies that kernels are checked and timed on.

use glam::DVec3;

/// Bodies that are exact in f32: a cloud with a dense middle, unequal masses, two bodies in one place.
pub(super) fn cloud(n: usize) -> (Vec<DVec3>, Vec<f64>) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = move || {
        // SplitMix64: fixed, so that every run checks the same bodies.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut position = Vec::with_capacity(n);
    let mut mass = Vec::with_capacity(n);
    for _ in 0..n {
        let point = DVec3::new(uniform() - 0.5, uniform() - 0.5, uniform() - 0.5);
        position.push((point * (0.1 + 2.0 * uniform())).as_vec3().as_dvec3());
        mass.push(f64::from(((0.5 + uniform()) / n as f64) as f32));
    }
    if n > 2 {
        position[1] = position[0];
    }
    (position, mass)
}
