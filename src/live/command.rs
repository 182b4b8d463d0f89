//! What a watcher can ask of a running simulation, and what comes back.

use std::sync::Arc;

use super::Tempo;
use crate::diagnostics::Diagnostics;
use crate::error::Error;
use crate::forces::direct::gpu::KernelRequest;
use crate::sim::Moment;

/// A request. The window's panel and keys make them; [`super::Live::apply`] carries them out.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Pauses or resumes.
    Pause(bool),
    /// Takes this many single steps, paused or not.
    Step(u64),
    /// Real time or as fast as possible.
    Tempo(Tempo),
    /// Speed as a multiple of the usual one, greater than 0.
    Factor(f64),
    /// Reverses the direction of time.
    Reverse,
    /// Another length of the time step, greater than 0; the direction stays.
    Dt(f64),
    /// Another softening length, >= 0.
    Softening(f64),
    /// Another shape of the GPU's kernel.
    Kernel(KernelRequest),
    /// Compiles the kernels again from their changed texts.
    Recompile,
    /// Diagnostics as soon as possible.
    Report,
    /// The bodies as soon as possible, for example for saving.
    Moment,
}

/// What a running simulation reports.
#[derive(Debug)]
pub enum Event {
    /// Diagnostics of a state.
    Report(Report),
    /// The state asked for with [`Command::Moment`].
    Moment(Arc<Moment>),
    /// A state to go on from if the device is lost; comes by itself, every few seconds.
    Kept(Arc<Moment>),
    /// Something went wrong; the simulation goes on unless the device was lost.
    Failed(Error),
}

/// Diagnostics and the time they belong to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Simulated time.
    pub time: f64,
    /// Steps since the beginning.
    pub steps: u64,
    /// Softening at that time: another softening means another energy.
    pub softening: f64,
    /// The numbers.
    pub diagnostics: Diagnostics,
}
