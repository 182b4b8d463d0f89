//! What `gravitile tune --derivatives` has found on this machine, in the file that the program keeps.

use super::guard::say;
use crate::forces::direct::gpu::tiers::FittedShapes;
use crate::gpu::Gpu;
use crate::tuned::{Known, Store};

/// The program's file.
fn store() -> Option<Store> {
    use etcetera::BaseStrategy;
    let system = || Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir());
    Store::of_user(std::env::var_os(Store::FOLDER), system)
}

/// The shapes of forces with derivatives that were found on `gpu`. A damaged file is said, and holds none.
pub fn shapes(gpu: &Gpu) -> FittedShapes {
    let Some(store) = store() else {
        return FittedShapes::default();
    };
    let loaded = store.load();
    if let Some(problem) = &loaded.damage {
        say("open", &format!("{problem}: ignored; 'gravitile tune' writes it anew"));
    }
    Known::default().with_derivatives(loaded.derivatives).shapes(gpu)
}
