//! Interactive simulations: the same commands between the same steps give the same bits, regardless
//! of frames, budget and requests in between.

use crate::common;

mod changes;
mod following;
mod inspection;
mod reports;
mod same_bits;
mod several;
mod trouble;
mod watcher;

use gravitile::bodies::Bodies;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Method, Settings};

/// The engines that the window offers.
const ENGINES: [EngineKind; 2] = [EngineKind::Gpu, EngineKind::Cpu];

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(engine: EngineKind) -> Settings {
    Settings {
        softening: 0.05,
        dt: 0.01,
        engine,
        method: Some(Method::Direct),
        adapter: common::adapter_request(),
        kernel: shape(64, 1),
        ..Settings::default()
    }
}

/// A tiled shape; with several slices the order of summation differs.
fn shape(p: u32, s: u32) -> KernelRequest {
    common::tiled([p, 1, 1, 4, s])
}
