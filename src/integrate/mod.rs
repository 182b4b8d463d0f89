//! Integrators: how positions and velocities go on in time.
//!
//! An integrator is one file and one line in [`ALL`]. It has a host side, which steps f64 bodies with
//! any force engine, and may have a device side, which records its O(N) kernels around the force
//! kernel, so that the bodies never leave the device.

mod fused;
mod leapfrog;
mod one_workgroup;

pub use fused::{Fused, wgsl as fused_wgsl};
pub use leapfrog::wgsl as leapfrog_wgsl;
pub use one_workgroup::{OneWorkgroup, wgsl as one_workgroup_wgsl};

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::force::AllPairs;
use crate::gpu::{BodyBuffers, Gpu};
use std::future::Future;
use std::pin::Pin;

use glam::DVec3;

/// What the registry knows of an integrator.
pub struct Integrator {
    /// The name on the command line and in snapshots.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Order of convergence of the global error in dt.
    pub order: u32,
    /// Whether stepping back with -dt retraces the way, up to rounding.
    pub reversible: bool,
    /// Makes the host side.
    pub host: fn() -> Box<dyn HostIntegrator>,
    /// Makes the device side, if there is one.
    pub device: Option<MakeDevice>,
}

/// Makes the device side of an integrator for bodies and the force kernel bound to them.
pub type MakeDevice = for<'a> fn(&'a Gpu, &'a BodyBuffers, &'a AllPairs) -> Making<'a>;

/// A device side in the making: its kernels are being compiled.
pub type Making<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn DeviceIntegrator>>> + 'a>>;

/// Every integrator.
pub const ALL: &[Integrator] = &[leapfrog::LEAPFROG];

/// The integrator of that name.
pub fn find(name: &str) -> Result<&'static Integrator> {
    ALL.iter().find(|integrator| integrator.name == name).ok_or_else(|| Error::Unknown {
        kind: "integrator",
        name: name.to_owned(),
        known: ALL.iter().map(|integrator| integrator.name).collect::<Vec<_>>().join(", "),
    })
}

/// Computes the accelerations of all bodies at their present positions.
pub type Accelerate<'a> = dyn FnMut(&Bodies, &mut Vec<DVec3>) -> Result<()> + 'a;

/// The host side.
pub trait HostIntegrator: Send {
    /// One step of `dt` (negative goes back). `acceleration` belongs to the positions on entry and on
    /// return; `accelerate` makes it anew.
    fn step(
        &mut self,
        bodies: &mut Bodies,
        acceleration: &mut Vec<DVec3>,
        dt: f64,
        accelerate: &mut Accelerate,
    ) -> Result<()>;
}

/// The device side of an integrator that evaluates the force once per step, at the end.
///
/// A step is `open`, the force kernel, `close`. Where another step follows at once, its `open` takes
/// the `close` of the last one into the same pass over the bodies.
pub trait DeviceIntegrator: Send {
    /// Forgets the parameters of the last submission.
    fn begin_submission(&mut self);

    /// Sends the parameters of what was recorded. Call before submitting.
    fn end_submission(&mut self, gpu: &Gpu);

    /// Records the beginning of a step of `dt`; with `close_last` also the end of a step of that
    /// length, whose partial sums have just been made.
    fn open(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        dt: f64,
        close_last: Option<f64>,
    );

    /// Records the end of a step of `dt`, whose partial sums have just been made. A `dt` of 0 only
    /// brings the accelerations up to date.
    fn close(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>, dt: f64);
}
