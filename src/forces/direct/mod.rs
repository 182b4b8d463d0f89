//! Method `direct`: direct summation over all pairs of a sink and a source.

pub mod cpu;
pub mod gpu;
mod reference;

pub use cpu::{CpuDouble, CpuSingle};
#[cfg(not(target_arch = "wasm32"))]
pub use gpu::tiers::SeveralTiers;
pub use gpu::{GpuSingle, tiers::GpuTiers};
pub use reference::Reference;

use super::registry::{boxed, made};
use super::{DeviceEntry, Entry, Method, Order, Place, Precision};
use gpu::{AllPairs, PairBuffers};

/// An engine's entry in [`super::ENGINES`].
const fn entry(
    place: Place,
    precision: Precision,
    orders: (Order, Order),
    make: super::Make,
) -> Entry {
    Entry { place, method: Method::Direct, precision, orders, make }
}

const JUST_ACCELERATION: (Order, Order) = (Order::Acceleration, Order::Acceleration);
const WITH_DERIVATIVES: (Order, Order) = (Order::Jerk, Order::Snap);

/// SIMD in f32 on all cores.
pub const CPU_SINGLE: Entry =
    entry(Place::Cpu, Precision::Single, JUST_ACCELERATION, |_| made(CpuSingle::new()));

/// SIMD in f64 on all cores.
pub const CPU_DOUBLE: Entry =
    entry(Place::Cpu, Precision::Double, (Order::Acceleration, Order::Snap), |_| {
        made(CpuDouble::new())
    });

/// Scalar f64, a method of its own.
pub const REFERENCE: Entry =
    Entry { method: Method::Reference, make: |_| made(Reference::default()), ..CPU_DOUBLE };

/// The all-pairs kernel for single evaluations.
pub const GPU_SINGLE: Entry = entry(Place::Gpu, Precision::Single, JUST_ACCELERATION, |tools| {
    Box::pin(async { boxed(GpuSingle::new(tools.device()?, tools.kernel)) })
});

/// Derivatives in double-single: pairs of f32.
pub const GPU_DOUBLE_SINGLE: Entry =
    entry(Place::Gpu, Precision::DoubleSingle, WITH_DERIVATIVES, |tools| {
        Box::pin(async { boxed(GpuTiers::open(tools.device()?, Precision::DoubleSingle).await?) })
    });

/// Derivatives in f32.
pub const GPU_TIER_SINGLE: Entry =
    entry(Place::Gpu, Precision::Single, WITH_DERIVATIVES, |tools| {
        Box::pin(async { boxed(GpuTiers::open(tools.device()?, Precision::Single).await?) })
    });

/// Derivatives in f64, on adapters whose shaders support it.
pub const GPU_DOUBLE: Entry = entry(Place::Gpu, Precision::Double, WITH_DERIVATIVES, |tools| {
    Box::pin(async { boxed(GpuTiers::open(tools.device()?, Precision::Double).await?) })
});

/// Bodies resident on a device.
pub const ON_DEVICE: DeviceEntry = DeviceEntry {
    method: Method::Direct,
    // If memory is short a single slice is used.
    bytes_per_body: 64,
    bind: |gpu, bodies, tools| {
        Box::pin(async {
            let pairs = PairBuffers::of_bodies(bodies, tools.softening as f32);
            let kernel = tools.kernel.for_masses(pairs.source_mass);
            let forces = AllPairs::new(gpu, kernel, pairs).await?;
            Ok(Box::new(forces) as Box<dyn super::DeviceForces>)
        })
    },
};

/// Flops per interaction by the convention of GPU Gems 3, chapter 31.
pub const FLOPS: f64 = 20.0;
