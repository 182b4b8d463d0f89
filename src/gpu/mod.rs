//! Everything about the graphics device that is not physics: adapters, the device, shader text,
//! pipelines, buffers, reading back.
//!
//! Among other things: templates of shaders (`template`) and their translation to SPIR-V, MSL and
//! HLSL (`translate`); bindings and pipelines for compute and drawing, which no other module makes
//! (`bindings`, `pipeline`, `draw`); evaluations cut into dispatches (`pieces`); prefix sums and a
//! stable sort (`scan`, `sort`); bodies on the device (`buffers`); compiled kernels cached between
//! starts (`kernel_cache`).
//!
//! Whatever takes device time is asynchronous. [`blocking`] waits for it in headless programs.

mod adapter;
mod batch;
mod bindings;
mod bounded;
mod buffers;
mod device;
mod draw;
mod entries;
mod find_adapter;
pub(crate) mod fine;
mod group;
mod instance;
mod kernel;
mod kernel_cache;
pub mod layout;
mod part;
mod pieces;
mod pipeline;
mod readback;
mod scan;
mod sort;
pub mod template;
mod timeline;
mod transfer;
mod translate;
mod vulkan;
mod waiting;

pub use crate::settings::{AdapterIdentity, AdapterName, AdapterRequest, DeviceCount};
#[cfg(target_arch = "wasm32")]
pub use adapter::name_adapter;
pub use adapter::{AdapterInfo, DeviceClass, instance};
pub use batch::Batch;
pub(crate) use bindings::GroupCache;
pub use bindings::{Binding, bind, group_layout};
pub use bounded::bounded;
pub use buffers::{BodyBuffers, Params};
pub(crate) use buffers::{new_buffer, read_in_place, storage, uniform_buffer};
pub use device::{Gpu, Handles, Limits, Tier};
pub use draw::{ADD, DARK, DrawPipeline, begin_drawing, smooth_sampler};
pub(crate) use entries::rows_of_workgroups;
pub use find_adapter::adapters;
pub use kernel::{Checks, ComputeKernel};
pub use kernel_cache::keep_kernels_in;
pub(crate) use part::Spent;
pub use part::{DevicePart, Share};
pub use pieces::{DispatchChunk, Progress, Rectangle};
pub use pipeline::{BoundKernel, begin_computing, compile, compute_pipeline};
#[cfg(not(target_arch = "wasm32"))]
pub use readback::read_blocking;
pub use readback::{MappedCopy, Readback, read, read_each, read_part};
pub use scan::{Scan, scan_on_host};
pub use sort::{KeyWidth, Sort, SortedBuffers, sort_on_host};
pub use timeline::{FrameTimes, Timeline};
pub(crate) use transfer::Transfer;
pub use translate::{Fault, Language, fault, translate};
pub(crate) use waiting::poll;
pub use waiting::{blocking, caught, let_browser_turn};
