//! Checks that the arithmetic of the kernels holds on this adapter, with the run's own bodies: all
//! are predicted to a time within their steps, on the device and on the host.

use super::{BlockState, Resident, records, two_words};
use crate::error::Result;
use crate::forces::Precision;
use crate::forces::direct::gpu::tiers::TierFrame;
use crate::gpu::read;
use crate::integrate::blocks::schedule::Schedule;
use crate::integrate::blocks::{Scheme, Track};

/// The largest error allowed in a predicted position or velocity, in units of the largest of all (a
/// lost low part is 2^-24, sums of pairs are accurate to 2^-46), and the additional error allowed
/// in units of the terms that are f32.
fn limits(precision: Precision) -> (f64, f64) {
    if precision == Precision::Double { (1e-14, 1e-12) } else { (2f64.powi(-40), 2f64.powi(-21)) }
}

/// The size of the terms beyond the acceleration in a velocity after `h`.
fn narrow_terms(track: &Track, h: f64) -> f64 {
    let Track { jerk, snap, crackle, .. } = *track;
    let sizes = [jerk, snap, crackle].map(|derivative| derivative.length());
    (sizes[0] / 2.0 + (sizes[1] / 6.0 + sizes[2] / 24.0 * h) * h) * h * h
}

impl Resident {
    /// Leaves the device's state as it was.
    ///
    /// # Errors
    /// Predictions outside the limits; the device failed.
    pub(super) async fn prove(
        &mut self,
        scheme: &dyn Scheme,
        tracks: &[Track],
        schedule: &Schedule,
    ) -> Result<()> {
        let now = schedule.now();
        // Within every body's step, with all bits below the shortest in use.
        let shortest = schedule.step.iter().copied().min().unwrap_or(1);
        let next = now + (shortest / 8 * 5).max(1);
        let queue = &self.gpu.queue;
        let state = BlockState { next: two_words(next), ..self.last_state };
        queue.write_buffer(&self.buffers.state, 0, bytemuck::bytes_of(&state));
        self.gpu.submit_pass(|pass| {
            self.kernels.predict.set(pass, &[0, 0]);
            pass.dispatch_workgroups(self.count.div_ceil(64) as u32, 1, 1);
        });
        let precision = self.tier.precision;
        let words = TierFrame::words(precision);
        let read = read::<u32>(&self.gpu, &[&self.buffers.sources], 4 * words * self.count).await?;
        queue.write_buffer(&self.buffers.state, 0, bytemuck::bytes_of(&self.last_state));

        let tick = f64::from(self.common.tick)
            * (self.tier.frame.length / self.tier.frame.velocity_unit());
        let value = |at: usize| match precision {
            Precision::Double => records::vector(&read[0], at, precision),
            _ => {
                records::vector(&read[0], at, precision)
                    + records::vector(&read[0], at + 1, precision)
            }
        };
        let (each, velocity) = match precision {
            Precision::Double => (3, 1),
            _ => (6, 2),
        };
        let limits = limits(precision);
        let mut worst = 0f64;
        for (i, track) in tracks.iter().enumerate() {
            let own_time = now & !(schedule.step[i] - 1);
            let h = (next - own_time) as f64 * tick;
            let right = track.after(&scheme.predict(track, h), h);
            let narrow = narrow_terms(track, h) / self.tier.frame.velocity_unit();
            let off = value(each * i) - right.position / self.tier.frame.length;
            let fast =
                value(each * i + velocity) - right.velocity / self.tier.frame.velocity_unit();
            for (error, narrow) in [
                (off, narrow * h * self.tier.frame.velocity_unit() / self.tier.frame.length),
                (fast, narrow),
            ] {
                let beyond = error.abs().max_element() - limits.1 * narrow;
                // True for NaN as well.
                worst = if beyond <= worst { worst } else { beyond };
            }
        }
        if worst <= limits.0 {
            return Ok(());
        }
        Err(self.gpu.refuse(format!(
            "predicts bodies with errors of {worst:.1e}, more than the {:.1e} of tier '{}'",
            limits.0,
            precision.name()
        )))
    }
}
