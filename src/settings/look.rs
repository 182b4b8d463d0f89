//! The camera and the looks, of films and of the window.

use serde::{Deserialize, Serialize};

use super::ValueRange;

/// The camera and the looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "Camera and looks (what suits the bodies if left out)")
)]
pub struct LookRequest {
    /// component, speed, acceleration, age or density
    #[cfg_attr(feature = "options", arg(long, value_name = "BY", visible_alias = "color"))]
    pub colour: Option<String>,
    /// Colours for speed, acceleration, age and density
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().palette, value_name = "NAME"))]
    pub palette: String,
    /// Draw dark matter, too
    #[cfg_attr(feature = "options", arg(long))]
    pub halo: bool,
    /// Half the shorter side of the picture, in the bodies' units. That of a scene is for 16 by 9, and narrower pictures show
    /// as much to the sides
    #[cfg_attr(feature = "options", arg(long, value_name = "LENGTH"))]
    pub extent: Option<f64>,
    /// Angle between the line of sight and the z axis, in degrees
    #[cfg_attr(feature = "options", arg(long, value_name = "DEGREES"))]
    pub inclination: Option<f64>,
    /// Angle of the camera around the z axis, in degrees
    #[cfg_attr(feature = "options", arg(long, value_name = "DEGREES"))]
    pub azimuth: Option<f64>,
    /// How fast the camera orbits, in degrees per second of film
    #[cfg_attr(feature = "options", arg(long, value_name = "DEGREES"))]
    pub orbit: Option<f64>,
    /// What stays in the middle: nothing, centre (of mass), a component's name, or body:INDEX [default: nothing, but the
    /// centre of a snapshot whose bodies would leave the picture together]
    #[cfg_attr(feature = "options", arg(long, value_name = "WHAT"))]
    pub follow: Option<String>,
    /// Brighter or darker than automatic, in powers of two
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().stops, value_name = "STOPS"))]
    pub stops: f64,
    /// Keep the first picture's exposure
    #[cfg_attr(feature = "options", arg(long))]
    pub fixed_exposure: bool,
    /// Sprites this many times larger
    #[cfg_attr(
        feature = "options",
        arg(long, default_value_t = LookRequest::default().sprite_size, value_name = "FACTOR")
    )]
    pub sprite_size: f64,
    /// Strength of smoothing and glow, 0 to 1 [default: what the scene says, or 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "PART"))]
    pub bloom: Option<f64>,
    /// How far dim neighbourhoods are exposed longer than bright ones, 0 (one exposure for all) to 1
    #[cfg_attr(
        feature = "options",
        arg(long, default_value_t = LookRequest::default().local_exposure, value_name = "PART")
    )]
    pub local_exposure: f64,
    /// How much stars of one kind differ in brightness and tint, 0 to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().variety, value_name = "PART"))]
    pub variety: f64,
    /// How much darker the corners are, 0 to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().vignette, value_name = "PART"))]
    pub vignette: f64,
    /// How bright the far stars and galaxies behind everything are, 0 (none) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().sky, value_name = "PART"))]
    pub sky: f64,
    /// How much what is farther away is dimmed, 0 (as light does) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().depth_cue, value_name = "PART"))]
    pub depth_cue: f64,
    /// How far gas glows pink and blue where it is dense, 0 (one colour) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().gas, value_name = "PART"))]
    pub gas: f64,
    /// How much the dust in gas dims what lies behind it, 0 (none) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().dust, value_name = "PART"))]
    pub dust: f64,
    /// Leave out the fine pattern that hides steps of grey: smaller files
    #[cfg_attr(feature = "options", arg(long))]
    pub no_dither: bool,
    /// Leave out the lines along which bodies went, where they are three at most
    #[cfg_attr(feature = "options", arg(long))]
    pub no_paths: bool,
    /// Least and largest speed, acceleration or density of the colours, in the bodies' units; follows them if left out
    #[cfg_attr(feature = "options", arg(long, value_name = "LEAST,MOST"))]
    pub colour_range: Option<ValueRange>,
    /// Seconds in which light fades to a third instead of vanishing at once; 0: no trails
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().trails, value_name = "SECS"))]
    pub trails: f64,
    /// How far back in simulated time bodies draw streaks of light behind them in space; 0: no streaks
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().streaks, value_name = "TIME"))]
    pub streaks: f64,
    /// What paints: auto, gpu, cpu
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().renderer, value_name = "WHO"))]
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
            follow: None,
            stops: 0.0,
            fixed_exposure: false,
            sprite_size: 1.0,
            bloom: None,
            local_exposure: 0.6,
            variety: 0.8,
            vignette: 0.2,
            sky: 0.5,
            depth_cue: 0.0,
            gas: 1.0,
            dust: 0.5,
            no_dither: false,
            no_paths: false,
            colour_range: None,
            trails: 0.0,
            streaks: 0.0,
            renderer: "auto".to_owned(),
        }
    }
}
