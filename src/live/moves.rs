//! The interface of the two drivers of a live simulation: one records steps into the frames of the
//! window's device, the other is a worker.

use std::sync::Arc;

use super::cadence::CopyPurpose;
use super::command::KernelChange;
use super::tracking::Tracker;
use super::{Event, Rates};
use crate::error::Result;
use crate::forces::Budget;
use crate::frame::Frame;
use crate::gpu::Gpu;
use crate::sim::Work;

/// The slice of the simulation that a frame records.
pub(super) struct FrameSlice<'a> {
    pub gpu: &'a Arc<Gpu>,
    pub encoder: &'a mut wgpu::CommandEncoder,
    /// Steps that are due, and their signed length.
    pub due: u64,
    pub dt: f64,
    pub budget: Budget,
    /// The frame's number.
    pub number: u64,
    pub tracker: &'a mut Tracker,
}

/// Buffers that the sprites read.
#[derive(Clone, Copy)]
pub(super) struct Drawn<'a> {
    pub position_mass: &'a wgpu::Buffer,
    pub velocity: &'a wgpu::Buffer,
    pub acceleration: &'a wgpu::Buffer,
    /// The coordinate frame of the buffers.
    pub frame: Frame,
}

/// The progress of the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reached {
    pub time: f64,
    pub steps: u64,
    /// Whether the first accelerations have been computed.
    pub ready: bool,
    /// The number of steps of the drawn state; `None` within a step.
    pub drawn_after: Option<u64>,
}

/// Moves bodies while frames are drawn. No method blocks: results of long operations come back as
/// [`Event`]s.
pub(super) trait Moves: Send {
    /// The engine and its adapter in one line.
    fn describe(&self) -> String;

    /// Records the frame's slice of the simulation. The work's steps count as done.
    fn record(&mut self, slice: FrameSlice<'_>) -> Result<Work>;

    fn reached(&self) -> Reached;

    /// The buffers that the sprites read.
    fn drawn(&self) -> Drawn<'_>;

    /// Takes in finished results, and returns the number of steps done in the background since the
    /// last call.
    fn poll(&mut self, rates: &mut Rates, events: &mut Vec<Event>) -> u64;

    /// Continues with another softening or kernel. If kernels have to be compiled, the next step
    /// begins after that; if the softening is new, after the accelerations are computed with it.
    ///
    /// # Errors
    ///
    /// Those of the kernel's selection; nothing is changed then.
    fn change(&mut self, gpu: &Gpu, change: KernelChange) -> Result<()>;

    /// Requests diagnostics.
    fn request_report(&mut self);

    /// Requests the bodies.
    fn request_bodies(&mut self, purpose: CopyPurpose);

    /// Whether it has work, or results for frames to take in, although no step is due.
    fn is_busy(&self) -> bool;
}
