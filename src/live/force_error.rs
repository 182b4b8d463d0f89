//! The error of an engine's accelerations, estimated from a sample of the bodies.

use glam::DVec3;

use crate::error::Result;
use crate::forces::direct::CpuDouble;
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use crate::sim::State;

/// Number of bodies that are checked, spread evenly over the indices.
pub const SAMPLES: usize = 256;

/// Largest number of pairs: in a browser they block the only thread.
const MOST_PAIRS: usize = if cfg!(target_arch = "wasm32") { 20_000_000 } else { usize::MAX };

/// Relative errors |a - a_right| / |a_right| of the accelerations of some bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForceError {
    /// Simulated time of the state that they belong to.
    pub time: f64,
    /// Steps since the beginning.
    pub steps: u64,
    /// Number of bodies that were checked.
    pub samples: usize,
    /// Root of the mean square.
    pub rms: f64,
    /// Half of the errors are smaller.
    pub median: f64,
    /// The largest error.
    pub largest: f64,
}

impl ForceError {
    /// Compares the accelerations of a moment, at [`SAMPLES`] bodies or all, with direct summation
    /// in f64; `gravitating_mass` is G m of its bodies. Takes 256 N interactions on all cores.
    ///
    /// # Errors
    ///
    /// Values beyond the range of f64.
    pub fn of(state: &State, gravitating_mass: &[f64]) -> Result<Self> {
        let position = &state.bodies.position;
        let n = position.len();
        let samples = SAMPLES.min(n).min((MOST_PAIRS / n.max(1)).max(1));
        let index: Vec<u32> = (0..samples).map(|k| (k * n / samples) as u32).collect();
        let at: Vec<DVec3> = index.iter().map(|&i| position[i as usize]).collect();
        let sources = Sources::new(position, gravitating_mass);
        let sinks = Sinks::new(&at, Identity::Each(&index));
        let mut right = Forces::default();
        let (softening, outputs) = (state.softening, Outputs::ACCELERATION);
        CpuDouble::new().evaluate_from(&sources, &sinks, softening, &outputs, &mut right)?;
        let pairs = index.iter().zip(&right.acceleration);
        let mut errors: Vec<f64> = pairs
            .filter(|(_, right)| **right != DVec3::ZERO)
            .map(|(&i, right)| state.acceleration[i as usize].distance(*right) / right.length())
            .collect();
        errors.sort_by(f64::total_cmp);
        let mean_square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len().max(1) as f64;
        Ok(Self {
            time: state.time,
            steps: state.steps,
            samples: errors.len(),
            rms: mean_square.sqrt(),
            median: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
            largest: errors.last().copied().unwrap_or(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;
    use crate::scene::Scene;

    fn state(n: usize) -> State {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(n).unwrap();
        let bodies: Bodies = scene.build().unwrap();
        let mut right = Forces::default();
        let sources = Sources::new(&bodies.position, &bodies.mass);
        let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
        CpuDouble::new()
            .evaluate_from(&sources, &sinks, 0.02, &Outputs::ACCELERATION, &mut right)
            .unwrap();
        let acceleration = right.acceleration;
        State { time: 2.0, steps: 20, bodies, acceleration, softening: 0.02 }
    }

    #[test]
    fn exact_accelerations_have_no_error_and_scaled_ones_the_expected_error() {
        for n in [1000, 100] {
            let mut state = state(n);
            let mass = state.bodies.mass.clone();
            let right = ForceError::of(&state, &mass).unwrap();
            assert!(right.largest < 1e-12, "{right:?}");
            assert_eq!((right.samples, right.steps), (n.min(SAMPLES), 20));
            state.acceleration.iter_mut().for_each(|a| *a *= 1.01);
            // Body 0 is always in the sample.
            state.acceleration[0] *= 2.0;
            let wrong = ForceError::of(&state, &mass).unwrap();
            assert!((wrong.median - 0.01).abs() < 1e-9, "{wrong:?}");
            assert!((wrong.largest - 1.02).abs() < 1e-9, "{wrong:?}");
            let others = (wrong.samples - 1) as f64 * 1e-4;
            let rms = ((1.02f64.powi(2) + others) / wrong.samples as f64).sqrt();
            assert!((wrong.rms / rms - 1.0).abs() < 1e-9, "{wrong:?}");
            // The exact accelerations depend on the softening.
            state.softening = 0.2;
            assert!(ForceError::of(&state, &mass).unwrap().rms > 2.0 * wrong.rms);
        }
    }

    #[test]
    fn a_single_body_gives_no_samples() {
        let mut one = state(2);
        one.bodies = Bodies { mass: vec![1.0], ..one.bodies };
        one.bodies.position.truncate(1);
        one.acceleration.truncate(1);
        let error = ForceError::of(&one, &[1.0]).unwrap();
        assert_eq!((error.samples, error.rms), (0, 0.0));
    }
}
