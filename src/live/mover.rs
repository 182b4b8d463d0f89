//! The interface of what moves the bodies: a device or a worker.

use std::sync::Arc;

use super::cadence::Purpose;
use super::tracking::Tracker;
use super::{BlockFacts, Event, Rates};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelRequest, KernelVariant};
use crate::forces::{Budget, Throughput};
use crate::frame::Frame;
use crate::gpu::{DevicePart, FrameTimes, Gpu};
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
}

/// Moves bodies while frames are drawn. No method blocks: results of long operations come back as
/// [`Event`]s.
pub(super) trait Mover: Send {
    /// The engine and its adapter in one line.
    fn describe(&self) -> String;

    /// Records the frame's slice of the simulation. The work's steps count as done.
    fn record(&mut self, slice: FrameSlice<'_>) -> Result<Work>;

    fn reached(&self) -> Reached;

    /// The number of steps of the drawn state; `None` within a step.
    fn drawn_after(&self) -> Option<u64>;

    /// The buffers that the sprites read.
    fn drawn(&self) -> Drawn<'_>;

    /// Takes in finished results, and returns the number of steps done in the background since the
    /// last call.
    fn poll(&mut self, rates: &mut Rates, events: &mut Vec<Event>) -> u64;

    /// Continues with another softening: the next step begins after its kernels are compiled and
    /// the accelerations are computed with it.
    ///
    /// # Errors
    ///
    /// Those of the kernel's selection; nothing is changed then.
    fn set_softening(&mut self, request: &KernelRequest, softening: f64) -> Result<()>;

    /// Continues with another shape of the kernel, if it has one, as soon as it is compiled.
    ///
    /// # Errors
    ///
    /// The adapter cannot run this shape; nothing is changed then.
    fn set_kernel(&mut self, gpu: &Gpu, request: &KernelRequest, softening: f64) -> Result<()>;

    /// Requests diagnostics.
    fn request_report(&mut self);

    /// Requests the bodies.
    fn request_bodies(&mut self, purpose: Purpose);

    /// Requests the statistics of individual steps.
    fn request_blocks(&mut self) {}

    /// The statistics of individual steps, if reported since the last call.
    fn take_blocks(&mut self) -> Option<BlockFacts> {
        None
    }

    /// What each device computes, if several move the bodies.
    fn parts(&self) -> &[DevicePart] {
        &[]
    }

    /// Called when paused: no further step is due.
    fn pause(&mut self, dt: f64) {
        let _ = dt;
    }

    /// Whether it has work, or results for frames to take in, although no step is due.
    fn is_busy(&self) -> bool;

    /// Whether it has ended for good after an error.
    fn has_ended(&self) -> bool {
        false
    }

    /// Call after the frame's submission.
    fn submitted(&mut self) {}

    /// The all-pairs kernel in use, if any.
    fn variant(&self) -> Option<KernelVariant> {
        None
    }

    /// Whether a change is being compiled; meanwhile nothing moves.
    fn is_changing(&self) -> bool {
        false
    }

    /// The result of a change, once. After an error nothing is changed.
    fn take_change(&mut self) -> Option<Result<()>> {
        None
    }

    /// Recompiles all kernels from changed shader sources.
    fn recompile(&mut self, request: &KernelRequest, softening: f64) -> Result<()> {
        let _ = (request, softening);
        Ok(())
    }

    /// Takes in how long an earlier frame's steps took on the device; returns its work and the
    /// seconds.
    fn learn(&mut self, times: &FrameTimes) -> Option<(Work, f64)> {
        let _ = times;
        None
    }

    /// The throughput that determines the size of its slices, if it works in slices.
    fn throughput(&self) -> Option<Throughput> {
        None
    }

    /// Sets the rate of that throughput.
    fn learn_rate(&mut self, interactions_per_sec: f64) {
        let _ = interactions_per_sec;
    }
}
