//! Results of tuning, looked up here because the library does not read the environment.

#[cfg(feature = "panel")]
use std::sync::Arc;

use super::folders;
use gravitile::error::Result;
#[cfg(feature = "cli")]
use gravitile::forces::{self, ForceEngine, Order, Tools};
#[cfg(feature = "panel")]
use gravitile::gpu::Gpu;
use gravitile::measure;
use gravitile::sim::{Choice, Settings};
use gravitile::tuned::{KnownResults, OUTDATED, TunedStore};

/// The user's file of tuned kernels ([`TunedStore::of_user`]).
pub fn store() -> Option<TunedStore> {
    TunedStore::of_user(std::env::var_os(TunedStore::FOLDER), folders::caches)
}

/// Makes the library cache compiled kernels in the folder of the tuning results.
#[cfg(feature = "cli")]
pub fn keep_kernels() {
    if let Some(folder) = store().as_ref().and_then(|store| store.path.parent()) {
        gravitile::gpu::keep_kernels_in(folder);
    }
}

/// The tuning results of this machine. A damaged file is ignored; the error is logged once.
pub fn known() -> KnownResults {
    let Some(store) = store() else { return KnownResults::default() };
    let results = store.load();
    if let Some(problem) = &results.damage {
        static LOGGED: std::sync::Once = std::sync::Once::new();
        LOGGED.call_once(|| log::error!("{problem}: ignored; 'gravitile tune' rewrites it"));
    }
    results.into()
}

/// Logs the chosen engine and method, and why; once also that a tuned kernel for `n` bodies exists
/// but was measured with earlier shaders.
fn log(choice: &Choice, n: usize, settings: &Settings) {
    let uses_tuned = settings.kernel.fixes_nothing();
    let gpu = choice.gpu.as_ref().filter(|_| uses_tuned);
    if gpu.is_some_and(|gpu| settings.known.is_outdated(gpu, n)) {
        static LOGGED: std::sync::Once = std::sync::Once::new();
        LOGGED.call_once(|| log::error!("{OUTDATED}"));
    }
    let (engine, method) = (choice.kind.name(), choice.method.name());
    log::info!("engine {engine}, method {method}: {}", choice.because());
}

/// The engine and method for `n` bodies. Stores the tuning results in `settings` first.
///
/// # Errors
/// Those of [`measure::choose()`].
#[cfg(feature = "cli")]
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    settings.known = known();
    let choice = pollster::block_on(measure::choose(n, settings))?;
    log(&choice, n, settings);
    Ok(choice)
}

/// The engine that computes accelerations and potentials of `n` bodies by that choice.
///
/// # Errors
/// Those of [`choose`] and [`forces::make`].
#[cfg(feature = "cli")]
pub fn engine(n: usize, settings: &mut Settings) -> Result<Box<dyn ForceEngine>> {
    let choice = choose(n, settings)?;
    let (gpu, kernel, tree) = (choice.gpu.as_ref(), settings.kernel, settings.tree);
    let tools = Tools { gpu, kernel, tree, ..Tools::default() };
    forces::make(choice.kind.placement(), choice.method, None, Order::Acceleration, &tools)
}

/// [`choose`] with a device that is already open: its adapter is the only one considered.
#[cfg(feature = "panel")]
pub async fn choose_on(gpu: &Arc<Gpu>, n: usize, settings: &mut Settings) -> Result<Choice> {
    settings.known = known();
    let choice = measure::choose_on(Some(gpu), n, settings).await?;
    log(&choice, n, settings);
    Ok(choice)
}
