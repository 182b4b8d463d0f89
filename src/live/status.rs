//! Read-only accessors of an interactive simulation.

use std::sync::Arc;

use super::moves::Drawn;
use super::on_worker::OnWorker;
use super::{Live, Rates, TimeKeeper};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, KernelVariant};
use crate::gpu::{DevicePart, Gpu};
use crate::render::{DevicePoints, Scale};
use crate::sim::{Choice, Settings};

/// The progress of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Simulated time.
    pub time: f64,
    /// Steps since the beginning.
    pub steps: u64,
    /// Whether the first accelerations have been computed.
    pub ready: bool,
    /// Interactions submitted to a device so far for the first accelerations.
    pub first_interactions: u64,
    /// Whether the engine cannot keep up with the requested speed.
    pub behind: bool,
}

impl Live {
    /// The buffers that the sprites read, on [`Live::gpu`].
    pub fn points(&self) -> DevicePoints<'_> {
        let Drawn { position_mass, velocity, acceleration, frame } = self.mover.drawn();
        DevicePoints {
            pos_mass: position_mass,
            velocity,
            acceleration: Some(acceleration),
            count: self.count as u32,
            scale: Scale::on_device(&frame, self.settings.gravitational_constant),
        }
    }

    /// The device that draws, and computes if the engine is the GPU.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Always false: a simulation has at least one body.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The progress of the simulation.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The current settings; their dt is positive.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The time step with its direction.
    pub fn dt(&self) -> f64 {
        self.dt
    }

    /// The tempo: speed, and whether it is paused.
    pub fn keeper(&self) -> &TimeKeeper {
        &self.keeper
    }

    /// Whether the latest state is drawn, after a complete step: false within a step, and while a
    /// worker is ahead of the drawn state.
    pub fn is_drawn_whole(&self) -> bool {
        let reached = self.mover.reached();
        reached.drawn_after == Some(reached.steps)
    }

    /// Whether simulated time passes or is about to, so that the next frame differs from the last
    /// one.
    pub fn is_moving(&self) -> bool {
        let is_due = !self.status.ready
            || !self.keeper.is_still()
            || self.mover.is_changing()
            || self.steps_behind() > 0;
        !self.resting && is_due && !self.mover.has_ended()
    }

    /// Whether results are pending that frames take in: diagnostics, bodies, an inspection of the
    /// forces.
    pub fn is_waiting(&self) -> bool {
        if self.mover.has_ended() {
            return false;
        }
        let (steps, settings) = (self.status.steps, &self.settings);
        let has_reported = self.reports.is_of(steps) && self.checkpoints.is_of(steps);
        let is_complete = has_reported && self.inspection.is_complete(steps, settings);
        self.mover.is_busy() || !(self.resting || is_complete)
    }

    /// Suspends all steps while another simulation is made from this one's state.
    pub fn rest(&mut self) {
        self.resting = true;
        self.pause_worker();
    }

    /// Resumes after [`Live::rest`], if the other simulation could not be made.
    pub fn go_on(&mut self) {
        self.resting = false;
    }

    /// Copies the tempo of another simulation: speed, and whether it is paused.
    pub fn take_tempo_of(&mut self, keeper: &TimeKeeper) {
        (self.keeper.paused, self.keeper.tempo, self.keeper.factor) =
            (keeper.paused, keeper.tempo, keeper.factor);
    }

    /// The chosen engine, and why it was chosen.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Frames, steps and interactions per second.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// The number of the frame recorded last.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// The kernel in use, if the engine is the GPU.
    pub fn variant(&self) -> Option<KernelVariant> {
        self.mover.device()?.variant()
    }

    /// The shape of the kernel in use, or of the one that would be used if the engine were the GPU.
    pub fn config(&self) -> Option<KernelConfig> {
        match self.variant() {
            Some(variant) => Some(variant.config),
            None => self.settings.kernel.resolve(&self.gpu, self.count, self.count).ok(),
        }
    }

    /// The engine and its adapter in one line.
    pub fn describe_engine(&self) -> String {
        self.mover.describe()
    }

    /// What each device computes, if several move the bodies: over the last half second in which
    /// steps were taken.
    pub fn parts(&self) -> &[DevicePart] {
        self.mover.worker().map_or(&[], OnWorker::parts)
    }

    /// The requested shape of the kernel.
    pub fn kernel_request(&self) -> KernelRequest {
        self.settings.kernel
    }
}
