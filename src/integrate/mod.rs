//! Integrators: how positions and velocities go on in time.
//!
//! An integrator is one file and one line in [`ALL`]. It has a host side, which steps f64 bodies with
//! any engine, and may have a device side, which records its O(N) kernels around the force
//! kernel, so that the bodies never leave the device.
//!
//! Host sides are of two kinds: one step for all bodies, or individual steps in blocks (see [`blocks`]).

pub mod blocks;
mod fused;
mod hermite4;
mod hermite6;
mod leapfrog;
mod one_workgroup;

pub use fused::{Fused, wgsl as fused_wgsl};
pub use leapfrog::wgsl as leapfrog_wgsl;
pub use one_workgroup::{OneWorkgroup, wgsl as one_workgroup_wgsl};

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::{DeviceForces, Making, Order};
use crate::gpu::{BodyBuffers, Gpu};

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
    /// The host side.
    pub host: HostSide,
    /// Makes the device side, if there is one.
    pub device: Option<MakeDevice>,
}

/// Two are the same if their names are, which the registry has once each.
impl PartialEq for Integrator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Integrator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The host side of an integrator.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum HostSide {
    /// One step for all bodies, from their accelerations.
    Shared(fn() -> Box<dyn HostIntegrator>),
    /// Individual steps in blocks, from forces with derivatives.
    Blocks(&'static dyn blocks::Scheme),
}

impl Integrator {
    /// Whether bodies have steps of their own, chosen by `eta` and at most `dt_max`.
    pub fn has_block_steps(&self) -> bool {
        matches!(self.host, HostSide::Blocks(_))
    }

    /// Up to which derivative it needs forces.
    pub fn order_of_forces(&self) -> Order {
        match self.host {
            HostSide::Shared(_) => Order::Acceleration,
            HostSide::Blocks(scheme) => scheme.order(),
        }
    }
}

/// Makes the device side of an integrator for bodies and the forces bound to them.
pub type MakeDevice = for<'a> fn(
    &'a Gpu,
    &'a BodyBuffers,
    &'a dyn DeviceForces,
) -> Making<'a, Box<dyn DeviceIntegrator>>;

/// Every integrator.
pub const ALL: &[Integrator] = &[leapfrog::LEAPFROG, hermite4::HERMITE4, hermite6::HERMITE6];

/// What bodies are stepped with where nothing is said.
pub const DEFAULT: &Integrator = &leapfrog::LEAPFROG;

/// The integrator of that name.
///
/// Errors: [`Error::Unknown`] names all there are.
pub fn find(name: &str) -> Result<&'static Integrator> {
    ALL.iter().find(|integrator| integrator.name == name).ok_or_else(|| Error::Unknown {
        kind: "integrator",
        name: name.to_owned(),
        known: ALL.iter().map(|integrator| integrator.name).collect::<Vec<_>>().join(", "),
    })
}

/// Integrators in files, for `#[serde(with)]`: by their names.
pub mod by_name {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Integrator;

    /// The name.
    ///
    /// Errors: those of the format.
    pub fn serialize<S: Serializer>(of: &Integrator, into: S) -> Result<S::Ok, S::Error> {
        of.name.serialize(into)
    }

    /// The integrator of a name.
    ///
    /// Errors: a name that none has.
    pub fn deserialize<'de, D>(from: D) -> Result<&'static Integrator, D::Error>
    where
        D: Deserializer<'de>,
    {
        super::find(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Computes the accelerations of all bodies at their present positions.
pub type Accelerate<'a> = dyn FnMut(&Bodies, &mut Vec<DVec3>) -> Result<()> + 'a;

/// The host side of an integrator with one step for all bodies.
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
