//! Potentials of bodies on a device: by a kernel that is made when they are first asked for.

use super::kernels::field;
use super::{DeviceState, Phase};
use crate::error::Result;
use crate::force::{AllPairs, Budget, KernelVariant, Progress, Want};

impl DeviceState {
    /// Compiles and binds the kernel with potential, if that is not yet done.
    pub async fn bind_potential(&mut self) -> Result<()> {
        if self.potential.is_none() {
            let (config, want) = (self.config(), Want::AccelerationAndPotential);
            let variant = KernelVariant::new(config, self.softening, self.largest_mass, want);
            // The last step's partial sums have been added up: their room can be used again.
            let sums = Some(self.force.partial_sums.clone());
            let field = field(&self.buffers, self.softening);
            self.potential = Some(AllPairs::sharing(&self.gpu, variant, field, sums).await?);
        }
        Ok(())
    }

    /// Records as much of the potentials as `budget` allows from `progress` on, between steps and after
    /// [`DeviceState::bind_potential`]. True once they are complete: they are then the fourth numbers of
    /// [`DeviceState::partial_sums`], to be added over the slices ([`add_potentials`]), until the next
    /// step. At most one piece may be recorded before each submission.
    pub fn record_potential(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        progress: &mut Progress,
        budget: Budget,
    ) -> bool {
        let Some(kernel) = self.potential.as_mut().filter(|_| self.phase == Phase::Between) else {
            return false;
        };
        let (mut interactions, mut dispatches, mut complete) = (0, 0, false);
        kernel.begin_submission();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("potentials"),
            timestamp_writes: None,
        });
        while !complete
            && !kernel.is_full()
            && self.pace.secs(interactions, dispatches) < budget.submission_secs
        {
            let piece = self.pace.interactions_in(budget.dispatch_secs);
            let done;
            (done, complete) = kernel.record(&self.gpu, &mut pass, progress, piece);
            interactions += done;
            dispatches += 1;
        }
        drop(pass);
        kernel.end_submission(&self.gpu);
        complete
    }
}

/// Potentials of `n` sinks, in the frame's unit, from partial sums: n entries for each slice, the potential
/// fourth.
pub fn add_potentials(partial_sums: &[[f32; 4]], n: usize) -> Vec<f64> {
    let slices = partial_sums.len() / n.max(1);
    let total = |i: usize| (0..slices).map(|k| f64::from(partial_sums[k * n + i][3])).sum();
    (0..n).map(total).collect()
}
