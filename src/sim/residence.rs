//! Where the bodies of a simulation live: the interface to step and read them there.
//!
//! [`Residence`] is implemented by the host, by one device and by a group of devices, and may be
//! implemented by the caller. Whatever may take device time returns a future: native programs wait
//! for it, a browser does not.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use glam::DVec3;

use super::{Choice, DevicePart, RESIDENCES, Settings};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::frame::Frame;
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::blocks::{BlockSteps, Passage, Restart};

/// A future that is ready once a device has done its work; at once if the host computes.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Called with the steps done so far; returns false to end an advance early.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Bodies with an engine and an integrator, wherever they live: on the host, on a device, or in a
/// place of the caller's. [`super::Simulation`] adds the clock.
///
/// Times are those of the simulation's clock; numbers are f64 in the caller's units.
pub trait Residence: Send {
    /// Describes what computes the forces, in one line.
    fn describe(&self) -> String;

    /// Interactions computed by steps so far, as the method counts them, the first force included.
    fn interactions(&self) -> u64;

    /// Takes up to `steps` steps of `dt`; negative steps go back in time. Returns the number of
    /// whole steps done, also on failure; the bodies are then at the end of the last whole step, or
    /// at [`Residence::stopped_at`].
    ///
    /// # Errors
    /// Those of the engine; [`crate::error::Error::Stopped`] if [`crate::stop`] interrupted it.
    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> Soon<'a, (u64, Result<()>)>;

    /// Reads positions and velocities at `time`, the clock's present time, into `bodies`; returns
    /// the accelerations.
    ///
    /// # Errors
    /// The device failed.
    fn read<'a>(&'a mut self, bodies: &'a mut Bodies, time: f64) -> Soon<'a, Result<Vec<DVec3>>>;

    /// Potentials of all bodies now, G included.
    ///
    /// # Errors
    /// Those of the engine; [`crate::error::Error::Stopped`].
    fn potential(&mut self) -> Soon<'_, Result<Vec<f64>>>;

    /// Continues with other `bodies`, any number of them, or with other settings of forces, from
    /// the present time on; recomputes the accelerations at once.
    ///
    /// On an error nothing has changed.
    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> Soon<'a, Result<()>>;

    /// What a snapshot must hold besides the bodies read last, so that a run resumed from it has
    /// the same bits.
    fn restart(&self) -> Restart;

    /// Checks that steps of `dt` can be taken here.
    fn check_dt(&self, dt: f64) -> Result<()> {
        let _ = dt;
        Ok(())
    }

    /// The time since step 0 that the bodies reached when a step failed half way; `None` if they
    /// are at the end of a whole step.
    fn stopped_at(&self) -> Option<f64> {
        None
    }

    /// The state of the individual steps, if the integrator has them.
    fn blocks(&self) -> Option<&BlockSteps> {
        None
    }

    /// What each device of this process does, if several share the work.
    fn take_parts(&mut self) -> Vec<DevicePart> {
        Vec::new()
    }

    /// The closest passage since the last call, its time counted from step 0, if the bodies have
    /// individual steps.
    fn take_passage(&mut self) -> Option<Passage> {
        None
    }

    /// The frame in which `bodies` are converted to f32 for their forces at `time`; `None` if they
    /// are not.
    fn single_frame(&self, bodies: &Bodies, time: f64) -> Option<Frame> {
        let _ = (bodies, time);
        None
    }

    /// The bodies' buffers, if they live on one device, and the frame of their numbers at `time`.
    fn on_device(&self, time: f64) -> Option<OnDevice<'_>> {
        let _ = time;
        None
    }

    /// The bodies and accelerations, if they live on the host; nothing is copied.
    fn on_host(&self) -> Option<(&Bodies, &[DVec3])> {
        None
    }
}

/// An entry of [`super::RESIDENCES`]: a place where bodies can live.
pub struct ResidenceEntry {
    /// Whether the bodies of a simulation with this choice and these settings live there.
    pub suits: fn(&Choice, &Settings) -> bool,
    /// Brings the bodies there and computes their first accelerations.
    pub open: OpenResidence,
}

/// Brings bodies to a place, given the chosen engine, the settings, and what a snapshot held for a
/// restart.
pub type OpenResidence = for<'a> fn(
    &'a Choice,
    &'a Bodies,
    &'a Settings,
    Option<&'a Restart>,
) -> Soon<'a, Result<Box<dyn Residence>>>;

/// Brings bodies to the first place that suits the simulation, and computes their first
/// accelerations.
///
/// # Errors
/// Those of the place.
pub(crate) async fn residence(
    choice: &Choice,
    bodies: &Bodies,
    settings: &Settings,
    restart: Option<&Restart>,
) -> Result<Box<dyn Residence>> {
    let suits = |entry: &&ResidenceEntry| (entry.suits)(choice, settings);
    let entry = RESIDENCES.iter().find(suits).unwrap_or(&super::host::RESIDENCE);
    (entry.open)(choice, bodies, settings, restart).await
}

/// Bodies on a device.
#[derive(Clone, Copy)]
pub struct OnDevice<'a> {
    /// The device.
    pub gpu: &'a Arc<Gpu>,
    /// The buffers that forces are computed from.
    pub buffers: &'a BodyBuffers,
    /// The frame of the numbers in the buffers.
    pub frame: Frame,
    /// The frame with which the simulation began.
    pub first_frame: Frame,
    /// The shape of the all-pairs kernel, if it computes the forces.
    pub kernel: Option<KernelConfig>,
}
