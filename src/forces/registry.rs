//! Finding and making engines from [`ENGINES`], and forces of bodies on a device from
//! [`ON_DEVICE`].

use std::future::ready;
use std::sync::Arc;

use super::direct::gpu::tiers::FittedShapes;
use super::direct::gpu::{KernelRequest, KernelVariant};
use super::kind::AUTO;
use super::tree::TreeConfig;
use super::tree::gpu::WalkShape;
use super::{
    BoxFuture, DeviceField, DeviceForces, ENGINES, EngineKind, ForceEngine, Method, ON_DEVICE,
    Order, Placement, Precision,
};
use crate::error::{Error, Result};
use crate::gpu::{BodyBuffers, Gpu, blocking};
use crate::messages::any_of;

/// What engines may need to be created.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tools<'a> {
    /// An open device, for engines on an adapter.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Further devices that share the block steps of bodies resident on `gpu`.
    pub other_devices: &'a [Arc<Gpu>],
    /// The shapes found by tuning on `gpu` for forces with derivatives.
    pub shapes: Option<&'a FittedShapes>,
    /// Fixed parameters of an all-pairs kernel's shape.
    pub kernel: KernelRequest,
    /// How a tree is built and walked.
    pub tree: TreeConfig,
}

/// An engine of [`ENGINES`].
pub struct EngineEntry {
    /// Where it computes.
    pub placement: Placement,
    /// How it computes.
    pub method: Method,
    /// In which precision.
    pub precision: Precision,
    /// The derivatives for which it is chosen, from the lowest to the highest.
    pub orders: (Order, Order),
    /// Creates it; an engine on a device may be tested on it first.
    pub make: Make,
}

/// Creates an engine.
pub type Make = for<'a> fn(&'a Tools<'a>) -> BoxFuture<'a, Result<Box<dyn ForceEngine>>>;

/// An engine as the registry returns it.
pub(super) fn boxed(engine: impl ForceEngine + 'static) -> Result<Box<dyn ForceEngine>> {
    Ok(Box::new(engine))
}

/// An engine that needs no device.
pub(super) fn made<'a>(
    engine: impl ForceEngine + 'static,
) -> BoxFuture<'a, Result<Box<dyn ForceEngine>>> {
    Box::pin(ready(boxed(engine)))
}

impl Tools<'_> {
    /// The device.
    pub(super) fn device(&self) -> Result<Arc<Gpu>> {
        self.gpu.cloned().ok_or_else(|| Error::value("the engine", "gpu", NO_DEVICE))
    }
}

const NO_DEVICE: &str = "auto, cpu or reference: no device is open for it";

/// The engines at `placement` by `method` for forces up to `order`, the default precision first.
fn entries(
    placement: Placement,
    method: Method,
    order: Order,
) -> impl Iterator<Item = &'static EngineEntry> {
    ENGINES.iter().filter(move |entry| {
        (entry.placement, entry.method) == (placement, method)
            && (entry.orders.0..=entry.orders.1).contains(&order)
    })
}

/// The precisions available at `placement` by `method` for forces up to `order`, the default first.
/// Whether an adapter supports all of them is known only once it is open.
pub fn tiers(placement: Placement, method: Method, order: Order) -> Vec<Precision> {
    entries(placement, method, order).map(|entry| entry.precision).collect()
}

/// Checks that the method has forces up to `order` at `placement`, or that no method does.
pub fn check_order(placement: Placement, method: Method, order: Order) -> Result<()> {
    let has = |method: &Method| entries(placement, *method, order).next().is_some();
    let others: Vec<_> = Method::ALL.iter().filter(|(other, ..)| has(other)).collect();
    if has(&method) || others.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = others.into_iter().map(|(_, name, _)| *name).collect();
    let (names, method, order) = (any_of(&names), method.name(), order.name());
    let allowed = format!("{names} for forces up to the {order}: {method} does not have them");
    Err(Error::value("the method", method, allowed))
}

/// The engine for forces up to `order`, in `precision` or the default one.
///
/// # Errors
/// A precision that does not exist here, with those that do; those of [`check_order`].
pub fn find(
    placement: Placement,
    method: Method,
    precision: Option<Precision>,
    order: Order,
) -> Result<&'static EngineEntry> {
    check_order(placement, method, order)?;
    let mut found = entries(placement, method, order);
    let requested =
        |entry: &&EngineEntry| precision.is_none_or(|precision| entry.precision == precision);
    found.find(requested).ok_or_else(|| {
        let names: Vec<_> =
            tiers(placement, method, order).into_iter().map(Precision::name).collect();
        match precision {
            Some(precision) if !names.is_empty() => {
                let allowed = format!("{} for {} there", any_of(&names), order.name());
                Error::value("the precision", precision.name(), allowed)
            }
            _ => Error::value("the engine", "gpu", NO_DEVICE),
        }
    })
}

/// Creates the engine that [`find`] returns.
///
/// # Errors
/// Those of [`find`]; no open device; a device on which the precision does not hold.
pub async fn open(
    placement: Placement,
    method: Method,
    precision: Option<Precision>,
    order: Order,
    tools: &Tools<'_>,
) -> Result<Box<dyn ForceEngine>> {
    (find(placement, method, precision, order)?.make)(tools).await
}

/// Blocking version of [`open`]. In a browser an engine on a device is refused.
pub fn make(
    placement: Placement,
    method: Method,
    precision: Option<Precision>,
    order: Order,
    tools: &Tools,
) -> Result<Box<dyn ForceEngine>> {
    blocking(open(placement, method, precision, order, tools))
}

/// What forces on a device may need besides the bodies. Lengths and masses are in the frame's
/// units.
#[derive(Clone, Debug)]
pub struct DeviceTools {
    /// The all-pairs kernel's variant, which also depends on how close and how massive bodies may
    /// be.
    pub kernel: KernelVariant,
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// Configuration of the tree.
    pub tree: TreeConfig,
    /// Shape of the walk's kernel.
    pub walk: WalkShape,
    /// The external field, which the integrator adds.
    pub field: DeviceField,
}

/// Compiles a method's kernels and binds them to bodies.
pub type BindForces = for<'a> fn(
    &'a Gpu,
    &'a BodyBuffers,
    &'a DeviceTools,
) -> BoxFuture<'a, Result<Box<dyn DeviceForces>>>;

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
        let allowed = format!("{} for bodies that live on a device", any_of(&names));
        Error::value("the method", method.name(), allowed)
    })
}

impl EngineKind {
    /// The methods of this engine.
    pub fn methods(self) -> Vec<Method> {
        match self {
            Self::Reference => vec![Method::Reference],
            Self::Auto => methods(&[Placement::Cpu, Placement::Gpu]),
            kind => methods(&[kind.placement()]),
        }
    }

    /// The methods to choose from with this engine, except the one that is also the name of an
    /// engine.
    pub fn selectable_methods(self) -> Vec<Method> {
        let is_listed = |method: &Method| self == Self::Reference || *method != Method::Reference;
        self.methods().into_iter().filter(is_listed).collect()
    }

    /// The engine and method that result from this engine and the method `requested` (`None`: the
    /// default). `cpu` with `reference` is the engine `reference`, and `auto` with a method that
    /// only one place has is that place.
    ///
    /// # Errors
    /// A method that the engine does not have, with those that it has.
    pub fn by(self, requested: Option<Method>) -> Result<(Self, Method)> {
        let Some(method) = requested else { return Ok((self, self.method())) };
        let has = self.methods();
        if !has.contains(&method) {
            let names: Vec<_> =
                std::iter::once(AUTO).chain(has.into_iter().map(Method::name)).collect();
            let allowed = format!("{} with the engine {}", any_of(&names), self.name());
            return Err(Error::value("the method", method.name(), allowed));
        }
        let is_at = |placement| methods(&[placement]).contains(&method);
        let kind = match (self, is_at(Placement::Cpu), is_at(Placement::Gpu)) {
            _ if method == Method::Reference => Self::Reference,
            (Self::Auto, true, false) => Self::Cpu,
            (Self::Auto, false, true) => Self::Gpu,
            (kind, ..) => kind,
        };
        Ok((kind, method))
    }
}

/// The methods that at least one of `places` has, in the order of [`Method::ALL`].
fn methods(places: &[Placement]) -> Vec<Method> {
    let has = |method: &Method| {
        let is_listed = |placement: &Placement| {
            ENGINES.iter().any(|entry| (entry.placement, entry.method) == (*placement, *method))
        };
        places.iter().any(is_listed)
    };
    Method::ALL.iter().map(|(method, ..)| *method).filter(has).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_and_order_has_engine_with_default_first() {
        let tier =
            |placement, method, order| find(placement, method, None, order).unwrap().precision;
        for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
            assert_eq!(tier(Placement::Cpu, Method::Reference, order), Precision::Double);
        }
        assert_eq!(tier(Placement::Cpu, Method::Direct, Order::Acceleration), Precision::Single);
        assert_eq!(tier(Placement::Cpu, Method::Direct, Order::Jerk), Precision::Double);
        assert_eq!(tier(Placement::Gpu, Method::Direct, Order::Acceleration), Precision::Single);
        assert_eq!(tier(Placement::Gpu, Method::Direct, Order::Snap), Precision::DoubleSingle);
    }

    #[test]
    fn engines_match_their_registry_entries() {
        for entry in ENGINES.iter().filter(|entry| entry.placement == Placement::Cpu) {
            let engine = blocking((entry.make)(&Tools::default())).unwrap();
            assert_eq!(engine.precision(), entry.precision);
            assert_eq!(engine.highest_order(), entry.orders.1);
        }
    }

    #[test]
    fn missing_engines_have_clear_errors() {
        let (cpu, direct) = (Placement::Cpu, Method::Direct);
        let refused = |precision, order| find(cpu, direct, Some(precision), order).err().unwrap();
        let text = refused(Precision::Single, Order::Jerk).to_string();
        assert!(text.contains("is single") && text.contains("double for jerk"), "{text}");
        let made = make(Placement::Gpu, direct, None, Order::Acceleration, &Tools::default());
        assert!(made.err().unwrap().to_string().contains("no device is open"));
        let text = find(cpu, Method::Tree, None, Order::Jerk).err().unwrap().to_string();
        let says = "the method is tree, but must be direct or reference for forces up to the jerk";
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn error_for_method_without_kernels_lists_others() {
        assert!(on_device(Method::Direct).is_ok());
        let text = on_device(Method::Reference).err().unwrap().to_string();
        assert!(text.contains("is reference") && text.contains("direct"), "{text}");
    }

    const KINDS: [EngineKind; 4] =
        [EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu, EngineKind::Reference];

    #[test]
    fn engine_without_method_uses_its_default() {
        for kind in KINDS {
            assert_eq!(kind.by(None).unwrap(), (kind, kind.method()));
            assert_eq!(kind.by(Some(kind.method())).unwrap(), (kind, kind.method()));
        }
        assert_eq!(EngineKind::Cpu.selectable_methods(), [Method::Direct, Method::Tree]);
        assert_eq!(EngineKind::Reference.selectable_methods(), [Method::Reference]);
        let reference = Some(Method::Reference);
        for kind in [EngineKind::Auto, EngineKind::Cpu] {
            let (kind, method) = kind.by(reference).unwrap();
            assert_eq!((kind, method), (EngineKind::Reference, Method::Reference));
        }
    }

    #[test]
    fn error_for_missing_method_lists_engine_methods() {
        let refused = |kind: EngineKind, method| kind.by(Some(method)).unwrap_err().to_string();
        assert_eq!(
            refused(EngineKind::Gpu, Method::Reference),
            "the method is reference, but must be auto, direct or tree with the engine gpu"
        );
        assert_eq!(
            refused(EngineKind::Reference, Method::Direct),
            "the method is direct, but must be auto or reference with the engine reference"
        );
    }
}
