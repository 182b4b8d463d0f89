//! Kernel shapes that `gravitile tune --derivatives` measured on this machine, from the program's
//! cache file.

use super::guard::report;
use gravitile::forces::direct::gpu::tiers::FittedShapes;
use gravitile::gpu::Gpu;
use gravitile::tuned::{Known, Store};

/// The program's cache file.
fn store() -> Option<Store> {
    use etcetera::BaseStrategy;
    let system = || Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir());
    Store::of_user(std::env::var_os(Store::FOLDER), system)
}

/// Tuned shapes of forces with derivatives on `gpu`. A damaged file is reported and ignored.
pub fn shapes(gpu: &Gpu) -> FittedShapes {
    let Some(store) = store() else {
        return FittedShapes::default();
    };
    let loaded = store.load();
    if let Some(problem) = &loaded.damage {
        report("open", &format!("{problem}: ignored; 'gravitile tune' rewrites it"));
    }
    Known::from(loaded).shapes(gpu)
}
