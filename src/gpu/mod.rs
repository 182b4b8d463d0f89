//! Everything about the graphics device that is not physics: adapters, the device, shader text,
//! pipelines, buffers, reading back.

mod adapter;
mod buffers;
mod device;
mod identity;
mod instance;
pub mod layout;
mod pipeline;
mod readback;
pub mod template;
mod timeline;
mod translate;

pub use adapter::{AdapterInfo, AdapterWish, DeviceClass, adapters, instance};
pub(crate) use buffers::storage;
pub use buffers::{BodyBuffers, Params};
pub use device::{Gpu, Limits, Tier};
pub use identity::AdapterIdentity;
pub use pipeline::{Binding, Checks, ComputeKernel, Stage, compile};
pub use readback::Readback;
#[cfg(not(target_arch = "wasm32"))]
pub use readback::{read_blocking, read_each_blocking};
pub use timeline::{FrameTimes, Timeline};
pub use translate::{Language, translate};
