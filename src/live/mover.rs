//! What moves the bodies that are watched.

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

/// A frame's part of the simulation.
pub(super) struct FramePart<'a> {
    pub gpu: &'a Arc<Gpu>,
    pub encoder: &'a mut wgpu::CommandEncoder,
    /// Steps that are due, and their length with its sign.
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
    /// The frame of their numbers.
    pub frame: Frame,
}

/// How far the bodies have come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reached {
    pub time: f64,
    pub steps: u64,
    /// Whether the first accelerations are known.
    pub ready: bool,
}

/// Moves bodies while frames are drawn. Nothing here waits: what takes long comes back as an [`Event`].
pub(super) trait Mover: Send {
    /// What it computes on and how, in one line.
    fn describe(&self) -> String;

    /// Records the frame's part of the simulation. The work's steps count as done.
    fn record(&mut self, part: FramePart<'_>) -> Result<Work>;

    /// How far it has come.
    fn reached(&self) -> Reached;

    /// The number of steps whose state is drawn; none within a step.
    fn drawn_after(&self) -> Option<u64>;

    /// What the sprites read.
    fn drawn(&self) -> Drawn<'_>;

    /// Takes in what has come back, and returns how many steps were done in the background since the last call.
    fn poll(&mut self, rates: &mut Rates, events: &mut Vec<Event>) -> u64;

    /// Continues with another softening; new accelerations come before the next step, which does not begin before
    /// what it needs is compiled.
    ///
    /// Errors leave everything as it was.
    fn set_softening(&mut self, request: &KernelRequest, softening: f64) -> Result<()>;

    /// Continues with another shape of the kernel, if it has one, as soon as it is compiled.
    ///
    /// Errors leave everything as it was: a shape that the adapter cannot run.
    fn set_kernel(&mut self, gpu: &Gpu, request: &KernelRequest, softening: f64) -> Result<()>;

    /// Asks for diagnostics.
    fn ask_report(&mut self);

    /// Asks for the bodies.
    fn ask_bodies(&mut self, purpose: Purpose);

    /// Asks for the individual steps.
    fn ask_blocks(&mut self) {}

    /// The individual steps, if reported since the last call.
    fn take_blocks(&mut self) -> Option<BlockFacts> {
        None
    }

    /// What each device does, if several move the bodies.
    fn parts(&self) -> &[DevicePart] {
        &[]
    }

    /// No further step is due.
    fn pause(&mut self, dt: f64) {
        let _ = dt;
    }

    /// Whether it has work or news for frames to take in, although no step is due.
    fn is_busy(&self) -> bool;

    /// Whether it has failed and will never do anything again.
    fn has_ended(&self) -> bool {
        false
    }

    /// Call after the frame's submission.
    fn submitted(&mut self) {}

    /// The all-pairs kernel that runs, if one does.
    fn variant(&self) -> Option<KernelVariant> {
        None
    }

    /// Whether a change is being prepared: nothing moves meanwhile.
    fn is_changing(&self) -> bool {
        false
    }

    /// The result of a change, once: it is in use, or failed and everything is as it was.
    fn take_change(&mut self) -> Option<Result<()>> {
        None
    }

    /// Compiles everything again from changed texts.
    fn recompile(&mut self, request: &KernelRequest, softening: f64) -> Result<()> {
        let _ = (request, softening);
        Ok(())
    }

    /// Takes in how long an earlier frame's steps took on the device: its work, and seconds.
    fn learn(&mut self, times: &FrameTimes) -> Option<(Work, f64)> {
        let _ = times;
        None
    }

    /// The rate that sets the size of its slices, if it works in slices.
    fn throughput(&self) -> Option<Throughput> {
        None
    }

    /// Sets that rate.
    fn learn_rate(&mut self, interactions_per_sec: f64) {
        let _ = interactions_per_sec;
    }
}
