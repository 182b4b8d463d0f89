//! The camera and the looks, of films and of the window.

use serde::{Deserialize, Serialize};

/// The camera and the looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "cli",
    derive(clap::Args),
    command(next_help_heading = "Camera and looks (what suits the bodies if left out)")
)]
pub struct LookRequest {
    /// component, speed, acceleration or age
    #[cfg_attr(feature = "cli", arg(long, value_name = "BY", visible_alias = "color"))]
    pub colour: Option<String>,
    /// Colours for speed and acceleration
    #[cfg_attr(feature = "cli", arg(long, default_value_t = LookRequest::default().palette, value_name = "NAME"))]
    pub palette: String,
    /// Draw dark matter, too
    #[cfg_attr(feature = "cli", arg(long))]
    pub halo: bool,
    /// Half the height of the picture, in the bodies' units
    #[cfg_attr(feature = "cli", arg(long, value_name = "LENGTH"))]
    pub extent: Option<f64>,
    /// Angle between the line of sight and the z axis, in degrees
    #[cfg_attr(feature = "cli", arg(long, value_name = "DEGREES"))]
    pub inclination: Option<f64>,
    /// Angle of the camera around the z axis, in degrees
    #[cfg_attr(feature = "cli", arg(long, value_name = "DEGREES"))]
    pub azimuth: Option<f64>,
    /// How fast the camera orbits, in degrees per second of film
    #[cfg_attr(feature = "cli", arg(long, value_name = "DEGREES"))]
    pub orbit: Option<f64>,
    /// What stays in the middle: nothing, centre (of mass), a component's name, or body:INDEX
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT", default_value_t = LookRequest::default().follow))]
    pub follow: String,
    /// Brighter or darker than automatic, in powers of two
    #[cfg_attr(feature = "cli", arg(long, default_value_t = LookRequest::default().stops, value_name = "STOPS"))]
    pub stops: f64,
    /// Keep the first picture's exposure
    #[cfg_attr(feature = "cli", arg(long))]
    pub fixed_exposure: bool,
    /// Sprites this many times larger
    #[cfg_attr(
        feature = "cli",
        arg(long, default_value_t = LookRequest::default().sprite_size, value_name = "FACTOR")
    )]
    pub sprite_size: f64,
    /// Part of the light that glows around bright places, 0 to 1
    #[cfg_attr(feature = "cli", arg(long, default_value_t = LookRequest::default().bloom, value_name = "PART"))]
    pub bloom: f64,
    /// Seconds in which light fades to a third instead of vanishing at once; 0: no trails
    #[cfg_attr(feature = "cli", arg(long, default_value_t = LookRequest::default().trails, value_name = "SECS"))]
    pub trails: f64,
    /// What paints: auto, gpu, cpu
    #[cfg_attr(feature = "cli", arg(long, default_value_t = LookRequest::default().renderer, value_name = "WHO"))]
    pub renderer: String,
}

impl Default for LookRequest {
    fn default() -> Self {
        Self {
            colour: None,
            palette: "frost".to_owned(),
            halo: false,
            extent: None,
            inclination: None,
            azimuth: None,
            orbit: None,
            follow: "nothing".to_owned(),
            stops: 0.0,
            fixed_exposure: false,
            sprite_size: 1.0,
            bloom: 1.0,
            trails: 0.0,
            renderer: "auto".to_owned(),
        }
    }
}
