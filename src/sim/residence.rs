//! Where the bodies of a simulation live, and who steps them there.

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

/// What comes when a device has come so far; at once where the host computes.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Sees the steps done so far, and ends an advance early by returning false.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Bodies with an engine and an integrator, wherever they live: on the host, on a device, or where the caller
/// keeps them. [`super::Simulation`] adds the clock.
///
/// Times are those of the simulation's clock, numbers are f64 in the caller's units.
pub trait Residence: Send {
    /// What computes the forces, in one line.
    fn describe(&self) -> String;

    /// Interactions computed by steps so far, by the method's own count, the first force included.
    fn interactions(&self) -> u64;

    /// Takes up to `steps` steps of `dt`, negative ones back in time. Returns those that are whole, also where
    /// it fails; the bodies then stand at the end of the last whole one, or at
    /// [`Residence::stopped_at`].
    ///
    /// Errors: those of the engine; [`crate::error::Error::Stopped`] if [`crate::stop`] broke it off.
    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> Soon<'a, (u64, Result<()>)>;

    /// Positions and velocities at `time`, which the clock shows, into `bodies`, and accelerations.
    fn read<'a>(&'a mut self, bodies: &'a mut Bodies, time: f64) -> Soon<'a, Result<Vec<DVec3>>>;

    /// Potentials of all bodies now, G included.
    fn potential(&mut self) -> Soon<'_, Result<Vec<f64>>>;

    /// Continues with other `bodies`, any number of them, or with other settings of forces: new accelerations at once. The
    /// settings begin at the present time.
    ///
    /// Errors leave everything as it was.
    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> Soon<'a, Result<()>>;

    /// What a snapshot of the bodies read last must hold besides them to be resumed to the same bits.
    fn restart(&self) -> Restart;

    /// Refuses a step that cannot be taken here.
    fn check_dt(&self, dt: f64) -> Result<()> {
        let _ = dt;
        Ok(())
    }

    /// The time since step 0 to which the bodies came when a step failed half way; `None` where they are at the
    /// end of a whole step.
    fn stopped_at(&self) -> Option<f64> {
        None
    }

    /// The individual steps, if the integrator has them.
    fn blocks(&self) -> Option<&BlockSteps> {
        None
    }

    /// What each device does, where several share the work; of this process alone.
    fn take_parts(&mut self) -> Vec<DevicePart> {
        Vec::new()
    }

    /// The closest passage since this was asked last, at a time since step 0, if the bodies have individual steps.
    fn take_passage(&mut self) -> Option<Passage> {
        None
    }

    /// In which frame `bodies` become f32 for their forces at `time`; `None` where they do not.
    fn single_frame(&self, bodies: &Bodies, time: f64) -> Option<Frame> {
        let _ = (bodies, time);
        None
    }

    /// The bodies' buffers, if they live on one device, and the frame of the numbers in them at `time`.
    fn on_device(&self, time: f64) -> Option<OnDevice<'_>> {
        let _ = time;
        None
    }

    /// The bodies and accelerations, if they live on the host: no copy is made.
    fn on_host(&self) -> Option<(&Bodies, &[DVec3])> {
        None
    }
}

/// A place where bodies can live, as [`super::Simulation`] finds it.
pub struct ResidenceEntry {
    /// Whether the bodies of such a simulation live there.
    pub suits: fn(&Choice, &Settings) -> bool,
    /// Brings them there and computes their first accelerations.
    pub open: OpenResidence,
}

/// Brings bodies to a place: with the engine that was chosen, the settings, and what a snapshot held for a restart.
pub type OpenResidence = for<'a> fn(
    &'a Choice,
    &'a Bodies,
    &'a Settings,
    Option<&'a Restart>,
) -> Soon<'a, Result<Box<dyn Residence>>>;

/// Brings bodies to the first place that suits them, with their first accelerations.
///
/// Errors: those of the place.
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
    /// Of the numbers in the buffers.
    pub frame: Frame,
    /// With which the simulation began.
    pub first_frame: Frame,
    /// The shape of the all-pairs kernel, if that computes the forces.
    pub kernel: Option<KernelConfig>,
}
