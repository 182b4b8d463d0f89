//! The candidates that a session times, and how it samples them.

use super::host_timer::HostTimer;
pub use super::names::cpu_device;
pub(super) use super::names::plain;
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::{KernelTimer, Timer};

/// What to time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Candidate {
    /// A kernel on the device's own bodies.
    Kernel(KernelConfig),
    /// The GPU through the host's interface: bodies are sent and forces returned.
    GpuFromHost,
    /// The CPU engine.
    Cpu,
}

/// One point of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The curve.
    pub series: String,
    /// Value on the x axis.
    pub x: f64,
    /// Number of sinks.
    pub sinks: usize,
    /// Number of sources.
    pub sources: usize,
    /// What to time.
    pub candidate: Candidate,
}

/// A candidate ready to be sampled.
pub(super) enum Ready<'p> {
    Kernel,
    Host(Box<HostTimer<'p>>),
}

impl Ready<'_> {
    pub fn sample(&mut self, point: &Point, kernels: &mut Option<KernelTimer>) -> Result<f64> {
        match (self, point.candidate, kernels) {
            (Self::Host(timer), _, _) => timer.sample(),
            (Self::Kernel, Candidate::Kernel(config), Some(timer)) => timer.sample(&config),
            _ => unreachable!("a kernel is prepared with its timer"),
        }
    }

    pub fn sample_secs(&self, point: &Point, kernels: &Option<KernelTimer>) -> f64 {
        match (self, point.candidate, kernels) {
            (Self::Host(timer), _, _) => timer.sample_secs(),
            (_, Candidate::Kernel(config), Some(timer)) => {
                timer.sample_secs_of(&config).unwrap_or(0.0)
            }
            _ => 0.0,
        }
    }

    pub fn repeats(&self, point: &Point, kernels: &Option<KernelTimer>) -> u32 {
        match (self, point.candidate, kernels) {
            (Self::Host(timer), _, _) => timer.repeats,
            (_, Candidate::Kernel(config), Some(timer)) => timer.repeats_of(&config).unwrap_or(1),
            _ => 1,
        }
    }

    pub fn rms_error(&self, point: &Point, kernels: &Option<KernelTimer>) -> f64 {
        match (self, point.candidate, kernels) {
            (Self::Host(timer), _, _) => timer.error.rms,
            (_, Candidate::Kernel(config), Some(timer)) => {
                timer.error_of(&config).map_or(0.0, |error| error.rms)
            }
            _ => 0.0,
        }
    }

    pub fn method(&self, kernels: &Option<KernelTimer>) -> String {
        match (self, kernels) {
            (Self::Kernel, Some(timer)) => timer.stopwatch().method().name().to_owned(),
            _ => "wall clock, from host to host".to_owned(),
        }
    }
}
