//! The observed rate of each candidate, for predicting how long a size will take.

use super::Session;
use crate::error::Result;
use crate::forces::direct::CpuSingle;
use crate::forces::direct::gpu::Masses;
use crate::gpu::DeviceClass;
use crate::measure::bench::candidate::Candidate;
use crate::measure::bench::host_timer::HostTimer;
use crate::measure::time::problem::Problem;
use crate::measure::{KernelTimer, Timer};
use crate::settings::KernelRequest;

impl Session<'_> {
    pub(super) fn learn(&mut self, candidate: Candidate, rate: f64) {
        let known =
            if candidate == Candidate::Cpu { &mut self.cpu_rate } else { &mut self.gpu_rate };
        *known = known.max(rate);
    }

    /// Interactions per second as observed; measured at a modest size the first time.
    pub(super) fn rate(&mut self, candidate: Candidate) -> Result<f64> {
        let known = if candidate == Candidate::Cpu { self.cpu_rate } else { self.gpu_rate };
        if known > 0.0 {
            return Ok(known);
        }
        let rate = match (&self.gpu, candidate) {
            (Some(gpu), Candidate::Kernel(_) | Candidate::GpuFromHost) => {
                let software = gpu.adapter.class == DeviceClass::Software;
                let n = if software { 2048 } else { 16_384 };
                let config = KernelRequest::default().resolve(gpu, n, n)?;
                let secs = KernelTimer::new(gpu, n, n)?.time(&config, 1)?;
                (n * n) as f64 / secs[0]
            }
            _ => {
                let problem = Problem::new(2048, 2048, Masses::InBlocks)?;
                let mut timer = HostTimer::prepare(Box::new(CpuSingle::new()), &problem)?;
                problem.interactions() / timer.sample()?
            }
        };
        self.learn(candidate, rate);
        Ok(rate)
    }
}
