//! The program: the only place that prints, exits and reads the environment.

/// The commit that the program is built from, if it is known.
#[cfg(any(feature = "cli", feature = "panel"))]
const COMMIT: Option<&str> = option_env!("GRAVITILE_COMMIT");

/// A number of bodies, in words.
#[cfg(any(feature = "cli", feature = "panel"))]
fn bodies(count: usize) -> String {
    if count == 1 { "1 body".to_owned() } else { format!("{count} bodies") }
}

#[cfg(feature = "cli")]
pub mod cli;
mod folders;
mod lookup;
#[cfg(all(feature = "panel", target_arch = "wasm32"))]
pub mod page;
#[cfg(feature = "panel")]
pub mod panel;
#[cfg(feature = "cli")]
mod ranks;
#[cfg(feature = "panel")]
pub mod window;
