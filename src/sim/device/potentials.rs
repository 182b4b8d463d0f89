//! Potentials of bodies on a device, by a kernel that is compiled on the first request.

use rayon::prelude::*;

use super::{DeviceState, Phase};
use crate::error::Result;
use crate::forces::{Budget, record_within};
use crate::gpu::begin_computing;

impl DeviceState {
    /// Compiles and binds the kernel with potential on the first call.
    ///
    /// # Errors
    /// A shader that does not compile.
    pub async fn make_potential(&mut self) -> Result<()> {
        if self.potential.is_none() {
            let forces = &self.stepper.forces;
            self.potential = Some(forces.with_potential(&self.gpu, &self.buffers).await?);
        }
        Ok(())
    }

    /// Restarts the evaluation of potentials, after [`DeviceState::make_potential`].
    pub fn begin_potential(&mut self) {
        self.forget_combined();
        if let Some(potential) = &mut self.potential {
            potential.restart();
        }
    }

    /// Records as much of the potentials as `budget` allows, between steps and after
    /// [`DeviceState::begin_potential`]. True once they are complete: they are then the fourth
    /// numbers of [`DeviceState::potential_sums`], to be added over the slices
    /// ([`add_potentials`]), until the next step. Call it at most once before each submission.
    pub fn record_potential(&mut self, encoder: &mut wgpu::CommandEncoder, budget: Budget) -> bool {
        let Some(forces) = self.potential.as_mut().filter(|_| self.phase == Phase::Between) else {
            return false;
        };
        forces.begin_submission();
        let mut pass = begin_computing(encoder, "potentials");
        let forces = forces.as_mut();
        let (_, _, complete) =
            record_within(forces, &self.gpu, &mut pass, &self.throughput, budget, (0, 0));
        drop(pass);
        forces.end_submission(&self.gpu);
        complete
    }
}

/// Potentials of `n` sinks from partial sums, times `unit`, the frame's unit of potential. There
/// are n entries for each slice; the potential is the fourth number of an entry.
pub fn add_potentials(partial_sums: &[[f32; 4]], n: usize, unit: f64) -> Vec<f64> {
    let slices = partial_sums.len() / n.max(1);
    let total = |i: usize| (0..slices).map(|k| f64::from(partial_sums[k * n + i][3])).sum::<f64>();
    (0..n).into_par_iter().map(|i| total(i) * unit).collect()
}
