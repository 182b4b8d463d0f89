//! Commands to a running simulation, and the events that it returns.

use std::sync::Arc;

use super::Tempo;
use crate::diagnostics::Diagnostics;
use crate::error::Error;
use crate::forces::direct::gpu::KernelRequest;
use crate::sim::State;

/// A command to a running simulation, made by the window's panel and keys and carried out by
/// [`super::Live::apply`].
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Pauses or resumes.
    Pause(bool),
    /// Takes this number of single steps, paused or not.
    Step(u64),
    /// Real time or as fast as possible.
    Tempo(Tempo),
    /// Sets the speed as a multiple of the default one, greater than 0.
    Factor(f64),
    /// Reverses the direction of time.
    Reverse,
    /// Sets the length of the time step, greater than 0; the direction stays.
    Dt(f64),
    /// Sets the softening length, >= 0.
    Softening(f64),
    /// Sets the shape of the GPU's kernel.
    Kernel(KernelRequest),
    /// Recompiles the kernels from changed shader sources.
    Recompile,
    /// Requests diagnostics as soon as possible.
    Report,
    /// Requests the bodies as soon as possible, for example for saving.
    State,
}

/// The kernel and the softening to continue with.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct KernelChange {
    pub kernel: KernelRequest,
    pub softening: f64,
    pub what: Changed,
}

/// What is new in a [`KernelChange`]; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    Softening,
    /// The shape of the kernel.
    Kernel,
    /// The text of the shaders: the diagnostics' kernels are compiled as well.
    Shaders,
}

/// An event that a running simulation returns.
#[derive(Debug)]
pub enum Event {
    /// Diagnostics of a state.
    Report(Report),
    /// The state requested with [`Command::State`].
    State(Arc<State>),
    /// A checkpoint to continue from if the device is lost; sent every few seconds without a
    /// request.
    Checkpoint(Arc<State>),
    /// An error; the simulation continues unless the device was lost.
    Failed(Error),
}

/// Diagnostics and the time they belong to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Simulated time.
    pub time: f64,
    /// Steps since the beginning.
    pub steps: u64,
    /// Softening at that time: the energy depends on it.
    pub softening: f64,
    /// The numbers.
    pub diagnostics: Diagnostics,
}
