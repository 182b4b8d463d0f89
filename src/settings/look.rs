//! Camera and appearance, for films and for the window.

use serde::{Deserialize, Serialize};

use super::ValueRange;

/// Camera and appearance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(
        next_help_heading = "Camera and looks (options left out are chosen to suit the bodies)"
    )
)]
pub struct LookRequest {
    /// Colour bodies by component, speed, acceleration, age or density; or draw a map along the
    /// line of sight: surface-density, surface-brightness (mag/arcsec2 in V, one solar luminosity
    /// per solar mass) or velocity (its mean, positive away)
    #[cfg_attr(feature = "options", arg(long, value_name = "BY", visible_alias = "color"))]
    pub colour: Option<String>,
    /// Palette for what is not coloured by component
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().palette, value_name = "NAME"))]
    pub palette: String,
    /// Draw dark matter as well
    #[cfg_attr(feature = "options", arg(long))]
    pub halo: bool,
    /// Half the picture's shorter side, in the bodies' units. A scene's own extent is meant for
    /// 16:9; narrower pictures show as much to the sides
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
    /// What to keep in the middle: nothing, centre (of mass), a component's name, or body:INDEX
    /// [default: nothing, or the centre of a snapshot whose bodies would all leave the picture
    /// together]
    #[cfg_attr(feature = "options", arg(long, value_name = "WHAT"))]
    pub follow: Option<String>,
    /// Exposure relative to the automatic one, in powers of two; negative is darker
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().stops, value_name = "STOPS"))]
    pub stops: f64,
    /// Keep the exposure of the first picture
    #[cfg_attr(feature = "options", arg(long))]
    pub fixed_exposure: bool,
    /// Draw bodies this many times larger
    #[cfg_attr(
        feature = "options",
        arg(long, default_value_t = LookRequest::default().sprite_size, value_name = "FACTOR")
    )]
    pub sprite_size: f64,
    /// Strength of smoothing and glow, 0 to 1 [default: the scene's, or 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "PART"))]
    pub bloom: Option<f64>,
    /// How much longer dim regions are exposed than bright ones, 0 (one exposure for all) to 1
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
    /// How bright the stars and galaxies in the background are, 0 (none) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().sky, value_name = "PART"))]
    pub sky: f64,
    /// How much distant bodies are dimmed beyond what distance itself does, 0 (not at all) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().depth_cue, value_name = "PART"))]
    pub depth_cue: f64,
    /// How strongly dense gas glows pink and blue, 0 (gas has one colour) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().gas, value_name = "PART"))]
    pub gas: f64,
    /// How strongly dust in the gas dims what lies behind it, 0 (no dust) to 1
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().dust, value_name = "PART"))]
    pub dust: f64,
    /// Leave out dithering, the fine pattern that hides steps of grey: makes smaller files
    #[cfg_attr(feature = "options", arg(long))]
    pub no_dither: bool,
    /// Do not draw the paths of the bodies (drawn if there are at most three)
    #[cfg_attr(feature = "options", arg(long))]
    pub no_paths: bool,
    /// Values at the ends of the palette, in the bodies' units; of surface-brightness as
    /// surface-density [default: follow the bodies]
    #[cfg_attr(
        feature = "options",
        arg(long, value_name = "LEAST,MOST", allow_hyphen_values = true)
    )]
    pub colour_range: Option<ValueRange>,
    /// Trails: seconds in which light fades to a third instead of vanishing at once; 0 for none
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().trails, value_name = "SECS"))]
    pub trails: f64,
    /// Streaks of light behind the bodies in space: how far back in simulated time they reach; 0
    /// for none
    #[cfg_attr(feature = "options", arg(long, default_value_t = LookRequest::default().streaks, value_name = "TIME"))]
    pub streaks: f64,
    /// No background, far sky or vignette; PNG pictures are transparent where nothing shines
    #[cfg_attr(feature = "options", arg(long))]
    pub transparent: bool,
    /// PNG pictures with 16 bits a channel instead of 8
    #[cfg_attr(feature = "options", arg(long))]
    pub deep: bool,
    /// What draws the pictures: auto, gpu or cpu
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
            transparent: false,
            deep: false,
            renderer: "auto".to_owned(),
        }
    }
}
