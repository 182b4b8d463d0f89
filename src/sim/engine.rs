//! Which engine and precision a simulation's integrator needs.

use std::sync::Arc;

use super::Settings;
use crate::error::{Error, Result};
use crate::forces::direct::gpu::tiers::FittedShapes;
use crate::forces::{self, EngineKind, ForceEngine, Method, Order, Precision, Tools};
use crate::gpu::Gpu;
use crate::integrate::Integrator;
use crate::messages::any_of;

/// The tiers that an engine has by this method for this integrator, the default first. Whether a
/// GPU has all of its tiers is known only once the adapter is open.
pub fn tiers(kind: EngineKind, method: Method, integrator: &Integrator) -> Vec<Precision> {
    forces::tiers(kind.placement(), method, integrator.order_of_forces())
}

/// The requested method and tier, or the defaults.
///
/// # Errors
/// A method that the engine does not have, or a tier that it does not have with this integrator.
pub(super) fn tier_of(kind: EngineKind, settings: &Settings) -> Result<(Method, Precision)> {
    let method = kind.by(settings.method)?.1;
    let integrator = settings.integrator;
    forces::check_order(kind.placement(), method, integrator.order_of_forces())?;
    let has = tiers(kind, method, integrator);
    let precision = match settings.precision {
        None => Ok(has.first().copied().unwrap_or(Precision::Double)),
        Some(requested) if has.contains(&requested) => Ok(requested),
        Some(requested) => {
            let names: Vec<_> = has.iter().map(|tier| tier.name()).collect();
            let (names, with) = (any_of(&names), integrator.name);
            let by = match method == kind.method() {
                true => String::new(),
                false => format!(" by the method {}", method.name()),
            };
            let allowed = format!("{names} with {with}{by} on the engine {}", kind.name());
            Err(Error::value("the precision", requested.name(), allowed))
        }
    };
    precision.map(|precision| (method, precision))
}

/// Checks that the engine has the settings' method, and their precision with their integrator.
///
/// # Errors
/// It does not have them.
pub fn check_tier(kind: EngineKind, settings: &Settings) -> Result<()> {
    tier_of(kind, settings).map(|_| ())
}

/// An engine of this kind to be called by the host, for the settings' method, integrator and
/// precision; `other_devices` share block steps with `gpu`.
///
/// # Errors
/// A method or a precision that this engine does not have; no device where one is needed.
pub async fn host_engine(
    kind: EngineKind,
    gpu: Option<&Arc<Gpu>>,
    other_devices: &[Arc<Gpu>],
    settings: &Settings,
) -> Result<Box<dyn ForceEngine>> {
    let (method, precision) = tier_of(kind, settings)?;
    let shapes = settings.shapes.clone().map(FittedShapes::new);
    let (kernel, tree) = (settings.kernel, settings.tree);
    let tools = Tools { gpu, other_devices, shapes: shapes.as_ref(), kernel, tree };
    let order = settings.integrator.order_of_forces();
    forces::open(kind.placement(), method, Some(precision), order, &tools).await
}

/// An engine for forces with derivatives, by itself. `gpu` and the `shapes` tuned on it are used by
/// the engine `gpu` only. The default `precision` is double, on a GPU double-single.
///
/// # Errors
/// A precision that the engine does not have, or that does not hold on this adapter.
pub fn direct_engine(
    kind: EngineKind,
    method: Method,
    gpu: Option<&Arc<Gpu>>,
    shapes: Option<&FittedShapes>,
    precision: Option<Precision>,
) -> Result<Box<dyn ForceEngine>> {
    let tools = Tools { gpu, shapes, ..Tools::default() };
    let has = forces::tiers(kind.placement(), method, Order::Snap);
    let made = forces::make(kind.placement(), method, precision, Order::Snap, &tools);
    made.map_err(|error| match precision {
        // If the engine has no tier at all, the mistake is the method, not the precision.
        Some(precision) if !has.is_empty() && !has.contains(&precision) => {
            let allowed = any_of(&has.into_iter().map(Precision::name).collect::<Vec<_>>());
            let allowed =
                format!("{allowed} for forces with derivatives on the engine {}", kind.name());
            Error::value("the precision", precision.name(), allowed)
        }
        _ => error,
    })
}
