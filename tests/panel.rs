//! The panel without a window: the action of every control, disabled controls with their reasons,
//! no clipped widgets, and reference pictures of each tab.
#![cfg(feature = "window")]

#[path = "panel/bar.rs"]
mod bar;
#[path = "panel/card.rs"]
mod card;
#[path = "panel/controls.rs"]
mod controls;
#[path = "panel/kernel.rs"]
mod kernel;
#[path = "panel/keys.rs"]
mod keys;
#[path = "panel/names.rs"]
mod names;
#[path = "panel/pictures.rs"]
mod pictures;
#[path = "panel/resets.rs"]
mod resets;
#[path = "panel/tree.rs"]
mod tree;
#[path = "panel/welcome.rs"]
mod welcome;
#[path = "panel/world.rs"]
mod world;
