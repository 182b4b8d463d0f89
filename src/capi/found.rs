//! What `gravitile tune --derivatives` has found on this machine, in the file that the program keeps.

use std::path::PathBuf;

use super::guard::say;
use crate::forces::direct::gpu::tiers::FittedShapes;
use crate::gpu::Gpu;
use crate::tuned::{Known, Store};

/// The program's file: in the folder that GRAVITILE_CACHE_DIR names, else in the system's folder for caches.
fn store() -> Option<Store> {
    let folder = match std::env::var_os("GRAVITILE_CACHE_DIR") {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(PathBuf::from(folder)),
        None => {
            use etcetera::BaseStrategy;
            let system = etcetera::base_strategy::choose_native_strategy().ok();
            system.map(|system| system.cache_dir().join("gravitile"))
        }
    };
    folder.map(|folder| Store::at(folder.join(Store::FILE)))
}

/// The shapes of forces with derivatives that were found on `gpu`. A damaged file is said, and holds none.
pub fn shapes(gpu: &Gpu) -> FittedShapes {
    let Some(store) = store() else { return FittedShapes::default() };
    let loaded = store.load();
    if let Some(problem) = &loaded.damage {
        say("open", &format!("{problem}: ignored; 'gravitile tune' writes it anew"));
    }
    Known::default().with_derivatives(loaded.derivatives).shapes(gpu)
}
