//! Engines by place, method and precision, from [`ENGINES`].

use std::sync::Arc;

use super::direct::gpu::KernelRequest;
use super::tree::TreeConfig;
use super::{ENGINES, ForceEngine, Making, Method, Order, Place, Precision};
use crate::error::{Error, Result};
use crate::gpu::{Gpu, blocking};
use crate::messages::any_of;

/// What engines may need to be created.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tools<'a> {
    /// An open device, for engines on an adapter.
    pub gpu: Option<&'a Arc<Gpu>>,
    /// Fixed parameters of an all-pairs kernel's shape.
    pub kernel: KernelRequest,
    /// How a tree is built and walked.
    pub tree: TreeConfig,
}

/// An engine of [`ENGINES`].
pub struct Entry {
    /// Where it computes.
    pub place: Place,
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
pub type Make = for<'a> fn(&'a Tools<'a>) -> Making<'a, Box<dyn ForceEngine>>;

/// An engine as the registry returns it.
pub(super) fn boxed(engine: impl ForceEngine + 'static) -> Result<Box<dyn ForceEngine>> {
    Ok(Box::new(engine))
}

/// An engine that needs no device.
pub(super) fn made<'a>(engine: impl ForceEngine + 'static) -> Making<'a, Box<dyn ForceEngine>> {
    Box::pin(std::future::ready(boxed(engine)))
}

impl Tools<'_> {
    /// The device.
    pub(super) fn device(&self) -> Result<Arc<Gpu>> {
        self.gpu.cloned().ok_or_else(|| Error::value("the engine", "gpu", NO_DEVICE))
    }
}

const NO_DEVICE: &str = "auto, cpu or reference: no device is open for it";

/// The engines at `place` by `method` for forces up to `order`, the default precision first.
fn entries(place: Place, method: Method, order: Order) -> impl Iterator<Item = &'static Entry> {
    ENGINES.iter().filter(move |entry| {
        (entry.place, entry.method) == (place, method)
            && (entry.orders.0..=entry.orders.1).contains(&order)
    })
}

/// The precisions available at `place` by `method` for forces up to `order`, the default first.
/// Whether an adapter supports all of them is known only once it is open.
pub fn tiers(place: Place, method: Method, order: Order) -> Vec<Precision> {
    entries(place, method, order).map(|entry| entry.precision).collect()
}

/// Checks that the method has forces up to `order` at `place`, or that no method does.
pub fn check_order(place: Place, method: Method, order: Order) -> Result<()> {
    let has = |method: &Method| entries(place, *method, order).next().is_some();
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
    place: Place,
    method: Method,
    precision: Option<Precision>,
    order: Order,
) -> Result<&'static Entry> {
    check_order(place, method, order)?;
    let mut found = entries(place, method, order);
    let wanted = |entry: &&Entry| precision.is_none_or(|precision| entry.precision == precision);
    found.find(wanted).ok_or_else(|| {
        let names: Vec<_> = tiers(place, method, order).into_iter().map(Precision::name).collect();
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
    place: Place,
    method: Method,
    precision: Option<Precision>,
    order: Order,
    tools: &Tools<'_>,
) -> Result<Box<dyn ForceEngine>> {
    (find(place, method, precision, order)?.make)(tools).await
}

/// Blocking version of [`open`]. In a browser an engine on a device is refused.
pub fn make(
    place: Place,
    method: Method,
    precision: Option<Precision>,
    order: Order,
    tools: &Tools,
) -> Result<Box<dyn ForceEngine>> {
    blocking(open(place, method, precision, order, tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_and_order_has_engine_with_default_first() {
        let tier = |place, method, order| find(place, method, None, order).unwrap().precision;
        for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
            assert_eq!(tier(Place::Cpu, Method::Reference, order), Precision::Double);
        }
        assert_eq!(tier(Place::Cpu, Method::Direct, Order::Acceleration), Precision::Single);
        assert_eq!(tier(Place::Cpu, Method::Direct, Order::Jerk), Precision::Double);
        assert_eq!(tier(Place::Gpu, Method::Direct, Order::Acceleration), Precision::Single);
        assert_eq!(tier(Place::Gpu, Method::Direct, Order::Snap), Precision::DoubleSingle);
    }

    #[test]
    fn engines_match_their_registry_entries() {
        for entry in ENGINES.iter().filter(|entry| entry.place == Place::Cpu) {
            let engine = blocking((entry.make)(&Tools::default())).unwrap();
            assert_eq!(engine.precision(), entry.precision);
            assert_eq!(engine.highest_order(), entry.orders.1);
        }
    }

    #[test]
    fn missing_engines_have_clear_errors() {
        let (cpu, direct) = (Place::Cpu, Method::Direct);
        let refused = |precision, order| find(cpu, direct, Some(precision), order).err().unwrap();
        let text = refused(Precision::Single, Order::Jerk).to_string();
        assert!(text.contains("is single") && text.contains("double for jerk"), "{text}");
        let made = make(Place::Gpu, direct, None, Order::Acceleration, &Tools::default());
        assert!(made.err().unwrap().to_string().contains("no device is open"));
        let text = find(cpu, Method::Tree, None, Order::Jerk).err().unwrap().to_string();
        let says = "the method is tree, but must be direct or reference for forces up to the jerk";
        assert!(text.contains(says), "{text}");
    }
}
