//! Tests of the library.

#[path = "../common/mod.rs"]
mod common;

mod additions;
mod analysis;
mod architecture;
mod blocks_gpu;
mod device;
mod devices;
mod direct_gpu;
mod fields;
mod frame;
mod instructions;
mod kernels;
mod live;
mod living;
mod packaging;
mod physics;
mod quotes;
mod render;
mod scenes;
mod snapshots;
mod sort;
mod tree_gpu;
mod varying;
