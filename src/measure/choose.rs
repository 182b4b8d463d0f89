//! Resolves `auto`, with the number of devices by measurement.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
use super::devices::choose_devices;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::sim::{self, Choice, Settings};

/// [`sim::choose()`], with the number of devices measured if it is `auto`: all of the first one's
/// kind, if steps are faster on them than on one.
///
/// # Errors
/// Those of [`sim::choose()`].
pub async fn choose(n: usize, settings: &Settings) -> Result<Choice> {
    choose_on(None, n, settings).await
}

/// [`choose()`] when a device is already `open`, whose adapter is then the only candidate.
///
/// # Errors
/// Those of [`choose()`].
pub async fn choose_on(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let choice = sim::choose_on(open, n, settings).await?;
    // A browser has one device.
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(first) = choice.gpu.clone() {
        return choose_devices(&first, choice, n, settings).await;
    }
    Ok(choice)
}
