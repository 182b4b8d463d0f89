//! Options of the camera and the looks, for films and the window.

use crate::bodies::Bodies;
use crate::error::Error;
use crate::render::{
    Camera, CameraMotion, ColourBy, Exposure, Follow, Palette, PictureSize, Style,
};
use crate::scene::ViewHints;

/// The camera and the looks.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Camera and looks (what suits the bodies if left out)")]
pub struct LookOptions {
    /// component, speed, acceleration or age
    #[arg(long, value_name = "BY", visible_alias = "color")]
    pub colour: Option<String>,
    /// Colours for speed and acceleration
    #[arg(long, default_value = Style::default().palette.name, value_name = "NAME")]
    pub palette: String,
    /// Draw dark matter, too
    #[arg(long)]
    pub halo: bool,
    /// Half the height of the picture, in the bodies' units
    #[arg(long, value_name = "LENGTH")]
    pub extent: Option<f64>,
    /// Angle between the line of sight and the z axis, in degrees
    #[arg(long, value_name = "DEGREES")]
    pub inclination: Option<f64>,
    /// Angle of the camera around the z axis, in degrees
    #[arg(long, value_name = "DEGREES")]
    pub azimuth: Option<f64>,
    /// How fast the camera goes round, in degrees per second of film
    #[arg(long, value_name = "DEGREES")]
    pub orbit: Option<f64>,
    /// What stays in the middle: nothing, centre (of mass), a component's name, or body:INDEX
    #[arg(long, value_name = "WHAT", default_value = "nothing")]
    pub follow: String,
    /// Brighter or darker than automatic, in powers of two
    #[arg(long, default_value_t = 0.0, value_name = "STOPS")]
    pub stops: f64,
    /// Keep the first picture's exposure
    #[arg(long)]
    pub fixed_exposure: bool,
    /// Sprites this many times larger
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR")]
    pub sprite_size: f64,
    /// Part of the light that glows around bright places, 0 to 1
    #[arg(long, default_value_t = Style::default().bloom, value_name = "PART")]
    pub bloom: f64,
    /// Seconds in which light fades to a third instead of vanishing; 0 without trails
    #[arg(long, default_value_t = 0.0, value_name = "SECS")]
    pub trails: f64,
    /// Who paints: auto, gpu, cpu
    #[arg(long, default_value = "auto", value_name = "WHO")]
    pub renderer: String,
}

/// What nothing said means: the command line's own defaults.
impl Default for LookOptions {
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            look: LookOptions,
        }
        <Alone as clap::Parser>::parse_from(["gravitile"]).look
    }
}

impl LookOptions {
    /// The looks.
    pub fn style(&self) -> Result<Style, Error> {
        let default = Style::default();
        let colour_by = match &self.colour {
            Some(name) => ColourBy::from_name(name)?,
            None => default.colour_by,
        };
        let exposure = match self.fixed_exposure {
            true => Exposure::Auto { adapt_secs: f64::INFINITY },
            false => default.exposure,
        };
        let style = Style {
            colour_by,
            palette: Palette::from_name(&self.palette)?,
            show_halo: self.halo,
            sprite_size: self.sprite_size,
            stops: self.stops,
            exposure,
            bloom: self.bloom,
            trail_secs: self.trails,
            ..default
        };
        style.validate()?;
        Ok(style)
    }

    /// The camera by the options, then by the scene's hints, then by where the bodies are.
    pub fn motion(
        &self,
        bodies: &Bodies,
        hints: Option<&ViewHints>,
        style: &Style,
        size: PictureSize,
    ) -> Result<CameraMotion, Error> {
        let extent = self.extent.or(hints.map(|hints| hints.extent));
        let hints = hints.cloned().unwrap_or(ViewHints { azimuth: -90.0, ..Default::default() });
        let inclination = self.inclination.unwrap_or(hints.inclination);
        let azimuth = self.azimuth.unwrap_or(hints.azimuth);
        let mut start = Camera {
            azimuth_rad: azimuth.to_radians(),
            elevation_rad: (90.0 - inclination).to_radians(),
            ..Camera::default()
        };
        let follow = Follow::from_name(&self.follow, bodies)?;
        match extent {
            Some(extent) => {
                if !(extent.is_finite() && extent > 0.0) {
                    return Err(Error::value("--extent", extent, "greater than 0"));
                }
                start.distance = extent / (0.5 * start.fov_rad).tan();
            }
            None => start = start.framing(bodies, style, 0.95, size),
        }
        if let Some(target) = follow.target(bodies)? {
            start.target = target;
        }
        start.validate()?;
        let orbit = self.orbit.unwrap_or(hints.orbit_speed);
        Ok(CameraMotion { start, orbit_rad_per_sec: orbit.to_radians(), follow })
    }
}
