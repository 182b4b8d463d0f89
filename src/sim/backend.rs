//! The interface to bodies with an engine and an integrator, wherever they are stored.
//!
//! [`Backend`] is implemented by the host, by one device and by a group of devices, and may be
//! implemented by the caller. Whatever may take device time returns a future: native programs wait
//! for it, a browser does not.

use std::sync::Arc;

use glam::DVec3;

use super::{Choice, DevicePart, Settings};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Ranks};
use crate::forces::BoxFuture;
use crate::forces::direct::gpu::KernelConfig;
use crate::frame::Frame;
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::blocks::{BlockSteps, Passage, Restart};

/// Called with the steps done so far; returns false to end an advance early.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Bodies with an engine and an integrator, on the host, on devices, or in memory of the caller.
/// [`super::Simulation`] adds the clock. What only some backends offer is in [`Capabilities`].
///
/// Times are those of the simulation's clock; numbers are f64 in the caller's units.
pub trait Backend: Send {
    /// Describes what computes the forces, in one line.
    fn describe(&self) -> String;

    /// Interactions computed by steps so far, as the method counts them, the first force included.
    fn interactions(&self) -> u64;

    /// Takes up to `steps` steps of `dt`; negative steps go back in time. Returns the number of
    /// whole steps done, also on failure; the bodies are then at the end of the last whole step, or
    /// at [`BlocksView::stopped_at`].
    ///
    /// # Errors
    /// Those of the engine; [`crate::error::Error::Stopped`] if [`crate::stop`] interrupted it.
    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)>;

    /// Reads positions and velocities at `time`, the clock's present time, into `bodies`; returns
    /// the accelerations.
    ///
    /// # Errors
    /// The device failed.
    fn read<'a>(
        &'a mut self,
        bodies: &'a mut Bodies,
        time: f64,
    ) -> BoxFuture<'a, Result<Vec<DVec3>>>;

    /// Potentials of all bodies now, G included.
    ///
    /// # Errors
    /// Those of the engine; [`crate::error::Error::Stopped`].
    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>>;

    /// Continues with other `bodies`, any number of them, or with other settings of forces, from
    /// the present time on; recomputes the accelerations at once.
    ///
    /// On an error nothing has changed.
    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>>;

    /// Continues with another softening, if that only changes a parameter of the forces: recomputes
    /// the accelerations at once. Returns false, with nothing changed, if it does not; then
    /// [`Backend::replace`] has to.
    ///
    /// # Errors
    /// Those of the engine; the backend is then unusable.
    fn set_softening(&mut self, softening: f64) -> BoxFuture<'_, Result<bool>>;

    /// What a snapshot must hold besides the bodies read last, so that a run resumed from it has
    /// the same bits.
    fn restart(&self) -> Restart;

    /// What it offers beyond these methods while the clock shows `time`.
    fn capabilities(&self, time: f64) -> Capabilities<'_>;

    /// What it has observed since the last call.
    fn take_observed(&mut self) -> Observed;

    /// What a step that varies needs, if it can take such steps.
    fn varying(&mut self) -> Option<&mut dyn Varying>;

    /// The bodies of several devices, if each has a part of them.
    fn parts(&mut self) -> Option<&mut dyn BodyParts>;
}

/// What a backend must offer for a step that varies ([`super::VaryingStep`]).
pub trait Varying {
    /// The largest acceleration of all bodies now, in the caller's units; NaN or infinite if one
    /// is. May be computed in single precision.
    ///
    /// # Errors
    /// Those of the engine.
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>>;

    /// Saves the present motion of the bodies between two steps.
    ///
    /// # Errors
    /// There is no memory for it on a device.
    fn save(&mut self) -> Result<()>;

    /// Restores the motion that was saved last.
    fn restore(&mut self);
}

/// Bodies of which several devices each have a part.
pub trait BodyParts {
    /// The devices of this process.
    fn devices(&self) -> Vec<Arc<Gpu>>;

    /// Calls `work` with each of them at the same time, on threads of their own. All ranks make the
    /// same call.
    ///
    /// # Errors
    /// Those of `work`; if it fails for one device, the exchanges of the others are aborted.
    fn on_each(&mut self, work: &(dyn Fn(BodyPart<'_>) -> Result<()> + Sync)) -> Result<()>;
}

/// A device's part of the bodies.
pub struct BodyPart<'a> {
    /// Number of the device among those of this process.
    pub device: usize,
    /// The bodies, in the frame of the present time. Some hold none: those are without mass, 2^100
    /// away, and of component 255.
    pub buffers: &'a BodyBuffers,
    /// `array<u32>`: the number of each among all; another number where there is none.
    pub numbers: &'a wgpu::Buffer,
    /// How many of them are used.
    pub count: u32,
    /// Number of bodies of all devices.
    pub all: u32,
    /// The connection to the others.
    pub exchange: &'a mut dyn Exchange,
}

/// An error on all ranks, if there is one on any: that of the rank whose body has the lowest
/// number, if one found a body wrong.
///
/// # Errors
/// That one; any other error of this rank, or that another rank has one; a rank is gone.
pub(super) fn first_of_all<T>(ranks: Option<&Ranks>, found: Result<T>) -> Result<T> {
    let Some(ranks) = ranks else { return found };
    if !ranks.any(found.is_err())? {
        return found;
    }
    let own = match &found {
        Err(Error::Body { index, id, problem }) => format!("{index} {id} {problem}"),
        _ => String::new(),
    };
    let parse = |text: &Vec<u8>| {
        let text = String::from_utf8_lossy(text);
        let mut parts = text.splitn(3, ' ');
        let (index, id) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((index, id, parts.next()?.to_owned()))
    };
    match ranks.gather_messages(own.as_bytes())?.iter().filter_map(parse).min() {
        Some((index, id, problem)) => Err(Error::Body { index, id, problem }),
        None => Err(found.err().unwrap_or(Error::Member("another rank has failed".to_owned()))),
    }
}

/// What an advance of `steps` steps returns that has done `done`; `ended` if the watch ended it.
pub(super) fn advanced(done: Result<u64>, steps: u64, ended: bool) -> (u64, Result<()>) {
    match done {
        Ok(done) if done < steps && !ended => (done, Err(Error::Stopped)),
        Ok(done) => (done, Ok(())),
        Err(error) => (0, Err(error)),
    }
}

/// What only some backends offer. The default is nothing.
#[derive(Clone, Copy, Default)]
pub struct Capabilities<'a> {
    /// Bodies that are in host memory.
    pub host: Option<OnHost<'a>>,
    /// Bodies that are on a device; of a group of devices, the first one.
    pub device: Option<OnDevice<'a>>,
    /// Bodies with individual steps.
    pub blocks: Option<BlocksView<'a>>,
    /// The frame with which the simulation began, if several devices each have a part of the
    /// bodies.
    pub parts_frame: Option<Frame>,
    /// Whether forces are computed on the host in f32, in a frame of each evaluation.
    pub in_f32: bool,
}

impl Capabilities<'_> {
    /// The frame with which bodies on devices began.
    pub fn first_frame(&self) -> Option<Frame> {
        self.device.map(|device| device.first_frame).or(self.parts_frame)
    }
}

/// Bodies in host memory; nothing is copied.
#[derive(Clone, Copy)]
pub struct OnHost<'a> {
    /// The bodies.
    pub bodies: &'a Bodies,
    /// Their accelerations.
    pub acceleration: &'a [DVec3],
}

/// Individual steps.
#[derive(Clone, Copy)]
pub struct BlocksView<'a> {
    /// Their state.
    pub steps: &'a BlockSteps,
    /// The time since step 0 that the bodies reached when a step was cut short; `None` if they
    /// are at the end of a whole step.
    pub stopped_at: Option<f64>,
}

/// What a backend has observed. The default is nothing.
#[derive(Default)]
pub struct Observed {
    /// The closest passage of two bodies, its time counted from step 0, if they have individual
    /// steps.
    pub passage: Option<Passage>,
    /// What each device of this process does, if several share the work.
    pub parts: Vec<DevicePart>,
}

/// An entry of [`super::BACKENDS`].
pub struct BackendEntry {
    /// Whether it takes simulations of this many bodies with this choice and these settings.
    pub suits: fn(&Choice, &Settings, usize) -> bool,
    /// Takes the bodies and computes their first accelerations.
    pub open: OpenBackend,
}

/// Opens a backend, given the chosen engine, the bodies, the settings, and what a snapshot held for
/// a restart. It may take the bodies, or their positions and velocities; [`Capabilities::host`]
/// then has all that it took of the others.
pub type OpenBackend = for<'a> fn(
    &'a Choice,
    &'a mut Bodies,
    &'a Settings,
    Option<&'a Restart>,
) -> BoxFuture<'a, Result<Box<dyn Backend>>>;

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
