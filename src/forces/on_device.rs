//! Methods whose bodies can live on a device, out of [`ON_DEVICE`].

use super::direct::gpu::KernelVariant;
use super::tree::TreeConfig;
use super::{DeviceForces, Making, Method, ON_DEVICE};
use crate::error::{Error, Result};
use crate::gpu::{BodyBuffers, Gpu};

/// What forces on a device may need besides the bodies. Lengths and masses are in the frame's units.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTools {
    /// The all-pairs kernel's shape, which also tells how near and how heavy bodies may be.
    pub kernel: KernelVariant,
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// How a tree is walked.
    pub tree: TreeConfig,
}

/// Compiles a method's kernels and binds them to bodies.
pub type BindForces =
    for<'a> fn(&'a Gpu, &'a BodyBuffers, &'a DeviceTools) -> Making<'a, Box<dyn DeviceForces>>;

/// How forces by `method` are bound to bodies on a device.
///
/// Errors: a method that has no kernels there, with those that have.
pub fn on_device(method: Method) -> Result<BindForces> {
    let found = ON_DEVICE.iter().find(|(has, _)| *has == method);
    found.map(|(_, bind)| *bind).ok_or_else(|| {
        let names: Vec<_> = ON_DEVICE.iter().map(|(method, _)| method.name()).collect();
        let allowed = format!("{} where bodies live on a device", crate::messages::any_of(&names));
        Error::value("the method", method.name(), allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_without_kernels_is_refused_with_those_that_have_some() {
        assert!(on_device(Method::Direct).is_ok());
        let text = on_device(Method::Reference).unwrap_err().to_string();
        assert!(text.contains("is reference") && text.contains("direct"), "{text}");
    }
}
