//! What the device tests share: one open device per test program.
#![allow(dead_code)]

pub mod broken;
pub mod skip;

use std::sync::{Arc, OnceLock};

use gravitile::forces::Precision;
use gravitile::gpu::{AdapterRequest, Gpu};

/// The adapter that tests run on: the best there is, or the one that GRAVITILE_TEST_ADAPTER names.
pub fn adapter_request() -> AdapterRequest {
    AdapterRequest::named(&std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default())
}

/// A device of the WebGPU baseline. It stays until the program's end, as the first does: taking one down beside
/// others at work hangs NVIDIA's driver (580, Linux) now and then.
pub fn baseline() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open =
        || Gpu::open_blocking(&AdapterRequest { baseline: true, ..adapter_request() }).unwrap();
    Arc::clone(GPU.get_or_init(open))
}

/// A device of the baseline that is said to take 3 workgroups a dimension: what is more comes in rows.
pub fn narrow() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open = || {
        let mut gpu =
            Gpu::open_blocking(&AdapterRequest { baseline: true, ..adapter_request() }).unwrap();
        Arc::get_mut(&mut gpu).expect("nobody else has it yet").limits.workgroups = 3;
        gpu
    };
    Arc::clone(GPU.get_or_init(open))
}

/// The device. Without an adapter the test fails, with the reason: a skipped test proves nothing.
pub fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open = || {
        Gpu::open_blocking(&adapter_request())
            .expect("device tests need a Vulkan, Metal or DX12 adapter")
    };
    Arc::clone(GPU.get_or_init(open))
}

/// The tiers of precision beyond single that the adapter has. Double-single must hold on every one, double
/// wherever shaders have f64: else the test fails, with the reason.
pub fn tiers() -> Vec<Precision> {
    let gpu = gpu();
    let must = |precision| {
        let tier = gravitile::forces::direct::gpu::tiers::tier(&gpu, precision);
        tier.unwrap_or_else(|error| panic!("{} must hold: {error}", precision.name()));
        precision
    };
    let mut tiers = vec![must(Precision::DoubleSingle)];
    if gpu.tier.f64 {
        tiers.push(must(Precision::Double));
    } else {
        skip::lacking(&gpu.adapter.driver, "f64 in shaders");
    }
    tiers
}
