//! Helpers of the device tests: one open device per test program.
#![allow(dead_code)]

pub mod broken;
pub mod kinds;
pub mod lose;
pub mod shapes;
pub mod skip;

use std::sync::{Arc, OnceLock};

use gravitile::forces::Precision;
use gravitile::forces::direct::gpu::{Dispatch, KernelRequest};
use gravitile::gpu::{AdapterRequest, Gpu};

/// The adapter that tests run on: the best available, or the one that GRAVITILE_TEST_ADAPTER names.
pub fn adapter_request() -> AdapterRequest {
    AdapterRequest::named(&std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default())
}

/// A request for the tiled kernel of this shape: p, q, r, u, s.
pub const fn tiled([p, q, r, u, s]: [u32; 5]) -> KernelRequest {
    KernelRequest {
        p: Some(p),
        q: Some(q),
        r: Some(r),
        u: Some(u),
        s: Some(s),
        untiled: false,
        uniform: false,
        broadcast: false,
        vec2: false,
        tiled: true,
        dispatch: Dispatch::Auto,
        checked: false,
        own: false,
    }
}

/// A device restricted to the WebGPU baseline. Like the default device it stays open until the
/// program ends: destroying one while others work occasionally hangs NVIDIA's driver (580, Linux).
pub fn baseline() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open =
        || Gpu::open_blocking(&AdapterRequest { baseline: true, ..adapter_request() }).unwrap();
    Arc::clone(GPU.get_or_init(open))
}

/// A baseline device with a limit of 3 workgroups per dimension, so that larger dispatches are
/// split into rows.
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

/// The default device. Without an adapter the test fails, with the reason: a skipped test proves
/// nothing.
pub fn gpu() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open = || {
        Gpu::open_blocking(&adapter_request())
            .expect("device tests need a Vulkan, Metal or DX12 adapter")
    };
    Arc::clone(GPU.get_or_init(open))
}

/// The adapter's precision tiers beyond single. Double-single must be available on every adapter,
/// and double wherever shaders have f64; otherwise the test fails, with the reason.
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
