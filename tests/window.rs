//! End-to-end tests of the window on a virtual display: keys, clicks, drags and screenshots.
//!
//! Needs Xvfb, xdotool and ImageMagick's `import`. Without them the tests are reported as skipped;
//! with GRAVITILE_WINDOW_TESTS=1 they fail instead.
#![cfg(all(feature = "window", target_os = "linux"))]

#[path = "common/program.rs"]
mod program;

#[path = "window/cameras.rs"]
mod cameras;
#[path = "window/card.rs"]
mod card;
#[path = "window/display.rs"]
mod display;
#[path = "window/idle.rs"]
mod idle;
#[path = "window/log.rs"]
mod log;
#[path = "common/lose.rs"]
mod lose;
#[path = "window/lost.rs"]
mod lost;
#[path = "window/person.rs"]
mod person;
#[path = "window/several.rs"]
mod several;
#[path = "common/skip.rs"]
mod skip;
#[path = "window/slips.rs"]
mod slips;
#[path = "window/stories.rs"]
mod stories;
#[path = "panel/world.rs"]
#[allow(dead_code)]
mod world;
