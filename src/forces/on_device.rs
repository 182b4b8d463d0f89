//! Methods whose bodies can live on a device, from [`ON_DEVICE`].

use super::direct::gpu::KernelVariant;
use super::tree::TreeConfig;
use super::tree::gpu::WalkShape;
use super::{DeviceForces, Making, Method, ON_DEVICE};
use crate::error::{Error, Result};
use crate::gpu::{BodyBuffers, Gpu};

/// What forces on a device may need besides the bodies. Lengths and masses are in the frame's
/// units.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTools {
    /// The all-pairs kernel's variant, which also tells how close and how massive bodies may be.
    pub kernel: KernelVariant,
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// Configuration of the tree.
    pub tree: TreeConfig,
    /// Shape of the walk's kernel.
    pub walk: WalkShape,
}

/// Compiles a method's kernels and binds them to bodies.
pub type BindForces =
    for<'a> fn(&'a Gpu, &'a BodyBuffers, &'a DeviceTools) -> Making<'a, Box<dyn DeviceForces>>;

/// A method of [`ON_DEVICE`].
pub struct DeviceEntry {
    /// How forces are computed.
    pub method: Method,
    /// Bytes on the device per body, including those of [`BodyBuffers`]; approximate upper bound.
    pub bytes_per_body: u64,
    /// Binds it to bodies.
    pub bind: BindForces,
}

impl DeviceEntry {
    /// Checks that `gpu` has enough memory for this many bodies, before anything is allocated.
    ///
    /// # Errors
    /// [`Error::Adapter`] with the largest number.
    pub fn check_room(&self, gpu: &Gpu, bodies: usize) -> Result<()> {
        gpu.check_bodies(bodies as u64, self.bytes_per_body, self.method.name())
    }
}

/// The entry of a method on devices.
///
/// # Errors
/// A method that has no kernels for devices, with those that have.
pub fn on_device(method: Method) -> Result<&'static DeviceEntry> {
    let found = ON_DEVICE.iter().find(|entry| entry.method == method);
    found.ok_or_else(|| {
        let names: Vec<_> = ON_DEVICE.iter().map(|entry| entry.method.name()).collect();
        let allowed =
            format!("{} for bodies that live on a device", crate::messages::any_of(&names));
        Error::value("the method", method.name(), allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_for_method_without_kernels_lists_others() {
        assert!(on_device(Method::Direct).is_ok());
        let text = on_device(Method::Reference).err().unwrap().to_string();
        assert!(text.contains("is reference") && text.contains("direct"), "{text}");
    }
}
