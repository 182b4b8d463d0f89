//! What the device tests share: one open device per test program.
#![allow(dead_code)]

use std::sync::{Arc, OnceLock};

use gravitile::gpu::{AdapterWish, Gpu};

/// The adapter that tests run on: the best there is, or the one that GRAVITILE_TEST_ADAPTER names.
pub fn wish() -> AdapterWish {
    AdapterWish { name: std::env::var("GRAVITILE_TEST_ADAPTER").ok(), baseline_only: false }
}

/// A device of the WebGPU baseline. It stays until the program's end, as the first does: taking one down beside
/// others at work hangs NVIDIA's driver (580, Linux) now and then.
pub fn baseline() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open = || Gpu::open_blocking(&AdapterWish { baseline_only: true, ..wish() }).unwrap();
    Arc::clone(GPU.get_or_init(open))
}

/// The device. Without an adapter the test fails, with the reason: a skipped test proves nothing.
pub fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open =
        || Gpu::open_blocking(&wish()).expect("device tests need a Vulkan, Metal or DX12 adapter");
    Arc::clone(GPU.get_or_init(open))
}
