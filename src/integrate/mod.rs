//! Integrators: how positions and velocities advance in time.
//!
//! An integrator is one file and one line in [`ALL`]. Its host side steps f64 bodies with any
//! engine. It may have a device side, which records its O(N) kernels around the force kernel, so
//! that the bodies never leave the device.
//!
//! There are two kinds of host sides: one step for all bodies, or individual steps in blocks (see
//! [`blocks`]).

pub mod blocks;
mod fused;
mod hermite4;
mod hermite6;
mod leapfrog;
mod one_workgroup;
mod requested;

pub use fused::{Fused, wgsl as fused_wgsl};
pub use leapfrog::wgsl as leapfrog_wgsl;
pub use one_workgroup::{OneWorkgroup, wgsl as one_workgroup_wgsl};

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::{BoxFuture, DeviceField, Order};
use crate::gpu::{BodyBuffers, Gpu};

use glam::DVec3;
use std::ops::Range;

/// An integrator's entry in the registry.
pub struct Integrator {
    /// The name on the command line and in snapshots.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Order of convergence of the global error in dt.
    pub order: u32,
    /// Whether stepping with -dt retraces the path, up to rounding.
    pub reversible: bool,
    /// The host side.
    pub host: HostSide,
    /// Makes the device side, if there is one.
    pub device: Option<MakeDevice>,
}

/// Integrators are equal if their names are, since names are unique in the registry.
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
    Shared(HostStep),
    /// Individual steps in blocks, from forces with derivatives.
    Blocks(&'static dyn blocks::Scheme),
}

impl Integrator {
    /// Whether bodies have individual steps, chosen by `eta` and at most `dt_max`.
    pub fn has_block_steps(&self) -> bool {
        matches!(self.host, HostSide::Blocks(_))
    }

    /// The highest derivative of the force that it needs.
    pub fn order_of_forces(&self) -> Order {
        match self.host {
            HostSide::Shared(_) => Order::Acceleration,
            HostSide::Blocks(scheme) => scheme.order(),
        }
    }
}

/// Makes the device side of an integrator for bodies and the partial sums of their forces
/// ([`crate::forces::DeviceForces::partial_sums`]) with the number of slices, to which it adds the
/// forces of an external field.
pub type MakeDevice = for<'a> fn(
    &'a Gpu,
    &'a BodyBuffers,
    (&'a wgpu::Buffer, u32),
    &'a DeviceField,
) -> BoxFuture<'a, Result<Box<dyn DeviceIntegrator>>>;

/// The integrator for few bodies without softening.
pub const COLLISIONAL: &Integrator = &hermite6::HERMITE6;

/// Every integrator.
pub const ALL: &[Integrator] = &[leapfrog::LEAPFROG, hermite4::HERMITE4, hermite6::HERMITE6];

/// The default integrator.
pub const DEFAULT: &Integrator = &leapfrog::LEAPFROG;

/// The integrator with this name.
///
/// # Errors
/// [`Error::Unknown`] with all known names.
pub fn find(name: &str) -> Result<&'static Integrator> {
    let names = || ALL.iter().map(|integrator| integrator.name);
    let found = ALL.iter().find(|integrator| integrator.name == name);
    found.ok_or_else(|| Error::unknown("integrator", name, names()))
}

/// Integrators in files by their names, for `#[serde(with)]`.
pub mod by_name {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Integrator;

    /// Writes the name.
    ///
    /// # Errors
    /// Those of the format.
    pub fn serialize<S: Serializer>(of: &Integrator, into: S) -> Result<S::Ok, S::Error> {
        of.name.serialize(into)
    }

    /// Reads the integrator with a name.
    ///
    /// # Errors
    /// An unknown name; those of the format.
    pub fn deserialize<'de, D>(from: D) -> Result<&'static Integrator, D::Error>
    where
        D: Deserializer<'de>,
    {
        super::find(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Computes the accelerations of all bodies at their current positions.
pub type Accelerate<'a> = dyn FnMut(&Bodies, &mut Vec<DVec3>) -> Result<()> + 'a;

/// Takes one step of `dt` (the third argument) for all bodies; a negative one goes back. The
/// accelerations belong to the positions on entry and on return; [`Accelerate`] recomputes them,
/// and its errors are passed on. A function, since a resumed run could not restore a state.
pub type HostStep = fn(&mut Bodies, &mut Vec<DVec3>, f64, &mut Accelerate<'_>) -> Result<()>;

/// The device side of an integrator that evaluates the force once per step, at the end.
///
/// A step is `open`, the force kernel, `close`. If another step follows at once, its `open`
/// includes the `close` of the last one in the same pass over the bodies.
pub trait DeviceIntegrator: Send {
    /// Forgets the parameters of the last submission.
    fn begin_submission(&mut self);

    /// Sends the parameters of everything recorded. Call before submitting.
    fn end_submission(&mut self, gpu: &Gpu);

    /// Moves these bodies from now on.
    fn set_sinks(&mut self, sinks: Range<u32>);

    /// Records the beginning of a step of `dt`; with `close_last`, also the end of a step of that
    /// length, whose partial sums have just been computed.
    fn open(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        dt: f64,
        close_last: Option<f64>,
    );

    /// Records the end of a step of `dt`, whose partial sums have just been computed. A `dt` of 0
    /// only updates the accelerations.
    fn close(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>, dt: f64);
}
