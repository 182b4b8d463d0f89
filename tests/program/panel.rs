//! The panel without a window: the action of every control, disabled controls with their reasons,
//! no clipped widgets, and reference pictures of each tab.

mod bar;
mod card;
mod controls;
mod kernel;
mod keys;
mod names;
mod pictures;
mod resets;
mod tree;
mod welcome;
pub mod world;
