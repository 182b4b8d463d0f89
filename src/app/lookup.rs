//! What the program looks up for the library, which does not read the environment: the results of tuning.

#[cfg(feature = "panel")]
use std::sync::Arc;

use super::folders;
use crate::error::Result;
#[cfg(feature = "panel")]
use crate::gpu::Gpu;
use crate::measure;
use crate::sim::{Choice, Settings};
use crate::tuned::{Known, OUTDATED, Store};

/// The user's file of tuned kernels ([`Store::of_user`]).
pub fn store() -> Option<Store> {
    Store::of_user(std::env::var_os(Store::FOLDER), folders::caches)
}

/// From now on compiled kernels are kept beside the tuned ones.
#[cfg(feature = "cli")]
pub fn keep_kernels() {
    if let Some(folder) = store().as_ref().and_then(|store| store.path.parent()) {
        crate::gpu::keep_kernels_in(folder);
    }
}

/// What tuning has found on this machine. A damaged file is said once, and ignored.
pub fn known() -> Known {
    let Some(store) = store() else { return Known::default() };
    let loaded = store.load();
    if let Some(problem) = &loaded.damage {
        static SAID: std::sync::Once = std::sync::Once::new();
        SAID.call_once(|| log::error!("{problem}: ignored; 'gravitile tune' writes it anew"));
    }
    Known::new(loaded.choices).with_walks(loaded.walks).with_derivatives(loaded.derivatives)
}

/// Says once where the kernel for `n` bodies would have been one that was found, if the kernels were still those.
fn tell_of_outdated(choice: &Choice, n: usize, settings: &Settings) {
    let takes_what_is_known = settings.kernel.fixes_nothing();
    let gpu = choice.gpu.as_ref().filter(|_| takes_what_is_known);
    if gpu.is_some_and(|gpu| settings.known.is_outdated(gpu, n)) {
        static SAID: std::sync::Once = std::sync::Once::new();
        SAID.call_once(|| log::error!("{OUTDATED}"));
    }
}

/// Logs what was chosen and why.
fn note(choice: &Choice) {
    log::info!(
        "engine {}, method {}: {}",
        choice.kind.name(),
        choice.method.name(),
        choice.because()
    );
}

/// The engine and method for `n` bodies, after `settings` has got what is known of kernels.
///
/// Errors: those of [`measure::choose()`].
#[cfg(feature = "cli")]
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    settings.known = known();
    let choice = pollster::block_on(measure::choose(n, settings))?;
    tell_of_outdated(&choice, n, settings);
    note(&choice);
    Ok(choice)
}

/// [`choose`] where a device is open already, whose adapter is then the one to take or not.
#[cfg(feature = "panel")]
pub async fn choose_on(gpu: &Arc<Gpu>, n: usize, settings: &mut Settings) -> Result<Choice> {
    settings.known = known();
    let choice = measure::choose_on(Some(gpu), n, settings).await?;
    tell_of_outdated(&choice, n, settings);
    note(&choice);
    Ok(choice)
}
