//! End-to-end tests of the window on a virtual display: keys, clicks, drags and screenshots.
//!
//! Needs Xvfb, xdotool and ImageMagick's `import`. Without them the tests are reported as skipped;
//! with GRAVITILE_WINDOW_TESTS=1 they fail instead.
#![cfg(target_os = "linux")]

use crate::common::{lose, skip};
use crate::panel::world;

mod cameras;
mod card;
mod compare;
mod display;
mod idle;
mod log;
mod lost;
mod person;
mod several;
mod slips;
mod stories;
mod throwing;
