//! Pictures and films of bodies: points in linear light and the smooth light between them, glow,
//! exposure, asinh tones.
//!
//! ```text
//! bodies -> sprites (-> streaks, trails) -> HDR picture
//! HDR picture -> shrunk picture -> meter -> exposure
//!                shrunk picture -> levels -> smooth picture
//! HDR picture, smooth picture, exposure -> tones -> far sky -> 8-bit picture -> film
//! ```
//!
//! Unresolved light is smooth and single stars are sharp. Each body is drawn as a point: red, green
//! and blue hold the mean brightness of its component, alpha that of the single star that the body
//! represents (few bright, many faint). The smooth picture (`glow`) resolves as much as the number
//! of bodies allows. It is shown where bodies are sparse, with a part of the light as single stars;
//! where bodies are dense, the points themselves make a smooth picture.
//!
//! A picture can be a map instead ([`map`]): of mass per area, or of the mean velocity along the
//! line of sight.
//!
//! Everything is implemented twice, by the same formulas: in WGSL for the device (`sprites`,
//! `splat_pass`, `glow_pass`, `exposure_pass`, `tone_map`) and in f32 on the CPU (`splat`, `glow`,
//! `exposure`, `tone`), so that films need no graphics driver and each can be checked against the
//! other. [`Painter`] hides which is used.

pub mod adding;
pub mod ages;
#[doc(hidden)]
pub mod animated_png;
mod bands;
pub mod bloom;
pub mod camera;
pub mod captions;
pub mod cpu_canvas;
pub mod diagram;
pub mod directing;
pub mod exposure;
pub mod exposure_pass;
#[cfg(not(target_arch = "wasm32"))]
pub mod film;
mod following;
pub mod framing;
pub mod glow;
pub mod glow_pass;
pub mod gpu_canvas;
pub mod hdr_image;
pub mod image;
pub mod legend;
#[cfg(not(target_arch = "wasm32"))]
mod lettering;
pub mod light;
pub mod look;
pub mod look_uniform;
pub mod map;
mod measures;
pub mod medium;
mod medium_pass;
pub mod offscreen;
pub mod overlay;
pub mod painter;
pub mod palette;
pub mod paths;
#[doc(hidden)]
pub mod request;
pub mod scale;
pub mod sky;
pub mod sky_pass;
pub mod splat;
pub mod splat_pass;
pub mod sprites;
pub mod steering;
pub(crate) mod streak_pass;
pub mod streaks;
pub mod style;
pub mod survey;
pub mod targets;
#[cfg(not(target_arch = "wasm32"))]
pub mod together;
pub mod tone;
pub mod tone_map;
pub mod trail_pass;
pub mod trails;
#[cfg(not(target_arch = "wasm32"))]
pub mod writing;

pub use crate::gpu::Handles;
pub use adding::Adding;
pub use ages::{Ages, ages, times_of_formation};
pub use camera::Camera;
pub use diagram::{Diagram, DrawnBox, Mark};
pub use directing::Director;
#[cfg(not(target_arch = "wasm32"))]
pub use film::{FILM_FORMATS, Film, FilmOptions};
pub use framing::{CameraMotion, Follow};
pub use gpu_canvas::{GpuCanvas, PARTS};
pub use image::{Image, PictureSize};
pub use look::{Look, tags};
pub use overlay::{Axis, ScaleBar, axes, round_below};
pub use painter::{Painter, Points, picture};
pub use palette::{PALETTES, Palette};
pub use scale::Scale;
pub use sprites::DevicePoints;
pub use steering::Preset;
pub use style::{ColourBy, Exposure, MOST_STOPS, Style};
pub use survey::Survey;
#[cfg(not(target_arch = "wasm32"))]
pub use together::Together;

use crate::error::{Error, Result};

/// The passes, by the names of their files in `shaders/render/`.
pub const SHADERS: [&str; 12] = [
    "ages",
    "sprite",
    "medium",
    "splat",
    "streak",
    "streak_splat",
    "trail",
    "glow",
    "exposure",
    "tone_map",
    "sky",
    "diagram",
];

/// The WGSL of a pass that [`SHADERS`] names, for light in half floats.
///
/// # Errors
///
/// An unknown name; the message lists the known ones.
pub fn wgsl(name: &str) -> Result<String> {
    match SHADERS.contains(&name) {
        true => light::wgsl_for(name, light::HDR_FORMAT),
        false => Err(Error::unknown("render shader", name, SHADERS)),
    }
}
