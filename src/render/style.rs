//! The style of a picture: what a user can choose about its looks.

use super::palette::{PALETTES, Palette};
use crate::bodies::Role;
use crate::error::{Error, Result, by_name};

/// Longest trail in seconds: with half floats a slower fade would stall.
pub const LONGEST_TRAIL_SECS: f64 = 30.0;

/// The quantity shown by a body's colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColourBy {
    /// The component it belongs to.
    #[default]
    Component,
    /// Its speed, on a logarithmic scale.
    Speed,
    /// Its acceleration, on a logarithmic scale.
    Acceleration,
    /// When it formed or, if that is unknown, how far out in its component it began: see
    /// [`mod@super::ages`].
    Age,
    /// Mass per volume around it, on a logarithmic scale; see [`mod@super::medium`].
    Density,
    /// A map of the mass per area along the line of sight, on a logarithmic scale; see
    /// [`mod@super::map`].
    SurfaceDensity,
    /// The same in magnitudes per square arc second, for one solar luminosity per solar mass.
    SurfaceBrightness,
    /// A map of the mean velocity along the line of sight, weighted by mass; positive is away.
    Velocity,
}

impl ColourBy {
    /// All variants with their names on the command line.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Component, "component"),
        (Self::Speed, "speed"),
        (Self::Acceleration, "acceleration"),
        (Self::Age, "age"),
        (Self::Density, "density"),
        (Self::SurfaceDensity, "surface-density"),
        (Self::SurfaceBrightness, "surface-brightness"),
        (Self::Velocity, "velocity"),
    ];

    /// Whether the picture is a map, with one value per pixel, instead of light.
    pub fn is_map(self) -> bool {
        matches!(self, Self::SurfaceDensity | Self::SurfaceBrightness | Self::Velocity)
    }

    /// Whether it shows velocities, relative to the mean of all bodies.
    pub(super) fn shows_velocities(self) -> bool {
        matches!(self, Self::Speed | Self::Velocity)
    }

    /// The variant of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        by_name("colouring", name, &Self::ALL)
    }
}

/// The mapping of light to grey levels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exposure {
    /// Adapts to each picture, following changes slowly to avoid flicker.
    Auto {
        /// Time constant for following a change towards dark (63 %), in seconds of the film;
        /// towards bright it is a third of that. 0 follows at once, infinity keeps the first
        /// picture's exposure.
        adapt_secs: f64,
    },
    /// One exposure for every picture.
    Fixed {
        /// The intensity that becomes white, greater than 0. An intensity of 1 is all light spread
        /// evenly over a disk with the median radius of the drawn bodies.
        white: f64,
        /// The intensity shown at a third of full scale, greater than 0 and below `white`.
        mid: f64,
    },
}

impl Exposure {
    /// The time constant with which it follows changes; `None` if it follows none.
    pub fn adapt_secs(self) -> Option<f64> {
        match self {
            Self::Auto { adapt_secs } => Some(adapt_secs).filter(|secs| secs.is_finite()),
            Self::Fixed { .. } => None,
        }
    }
}

/// Largest [`Style::stops`], in either direction.
pub const MOST_STOPS: f64 = 10.0;

/// All choices about the looks. [`Style::default`] is meant to suit any scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// The quantity shown by colour.
    pub colour_by: ColourBy,
    /// The scale for speed, acceleration, age and density.
    pub palette: &'static Palette,
    /// Ends of the scale for speed, acceleration, density or a map, in scene units; `None` takes
    /// them from the bodies (2nd and 98th percentile). Ages have a range of their own.
    pub value_range: Option<[f64; 2]>,
    /// Draws dark matter too, as a faint violet haze.
    pub show_halo: bool,
    /// Size of bodies on the picture relative to the default, 0.1 to 10. Their light stays the
    /// same.
    pub sprite_size: f64,
    /// How much stars of one component differ in tint and, as far as they are resolved, in
    /// brightness, 0 (alike) to 1.
    pub variety: f64,
    /// Brightens (positive) or darkens the exposure, in powers of two, -10 to 10.
    pub stops: f64,
    /// The mapping of light to grey levels.
    pub exposure: Exposure,
    /// Strength of smoothing and glow, 0 (off) to 1: bright places shine, and where bodies are
    /// sparse most of their light becomes a haze with faint stars in it, the wider the fewer they
    /// are.
    pub bloom: f64,
    /// Strength of the local exposure, 0 (off) to 1: dim neighbourhoods are exposed longer than
    /// bright ones, so that tails are visible next to the core.
    pub local_exposure: f64,
    /// How much darker the corners are than the middle, 0 to 1.
    pub vignette: f64,
    /// Seconds in which light behind moving bodies fades to a third, 0 (no trails) to 30; see
    /// [`super::trails`].
    pub trail_secs: f64,
    /// Time span, in the bodies' units, of the streaks of light behind bodies in space, 0 (none) or
    /// more.
    pub streak_time: f64,
    /// The empty sky, linear RGB, 0 to 0.5 each.
    pub background: [f32; 3],
    /// Brightness of the far stars and galaxies behind everything, 0 (none) to 1; see
    /// [`super::sky`].
    pub sky: f64,
    /// How much bodies beyond the camera's target are dimmed, in addition to the effect of
    /// distance, and nearer ones brightened, 0 to 1.
    pub depth_cue: f64,
    /// How strongly dense gas glows pink and blue, 0 (one colour) to 1. Costs nothing without gas.
    pub gas: f64,
    /// How much dust in the gas dims and reddens what is behind it, 0 (none) to 1. Costs nothing
    /// without gas.
    pub dust: f64,
    /// Hides the steps of 8-bit grey levels with a fixed fine pattern. Makes PNG files larger.
    pub dither: bool,
    /// Thin lines along the orbits of bodies, if there are at most three; see [`super::paths`].
    pub paths: bool,
    /// No background, far sky or vignette; PNG files are transparent where nothing shines.
    pub transparent: bool,
    /// PNG files with 16 bits a channel.
    pub deep: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            colour_by: ColourBy::Component,
            palette: &PALETTES[0],
            value_range: None,
            show_halo: false,
            sprite_size: 1.0,
            variety: 0.8,
            stops: 0.0,
            exposure: Exposure::Auto { adapt_secs: 0.5 },
            bloom: 1.0,
            local_exposure: 0.6,
            vignette: 0.2,
            trail_secs: 0.0,
            streak_time: 0.0,
            background: [0.0011, 0.0014, 0.0024],
            sky: 0.5,
            depth_cue: 0.0,
            gas: 1.0,
            dust: 0.5,
            dither: true,
            paths: true,
            transparent: false,
            deep: false,
        }
    }
}

impl Style {
    /// Whether bodies of this role are drawn.
    pub(super) fn draws(&self, role: Role) -> bool {
        self.show_halo || role != Role::Halo
    }

    /// The style without the settings that have no effect, as in maps and on transparent pictures.
    pub(super) fn effective(&self) -> Self {
        let mut style = self.clone();
        if self.transparent {
            (style.background, style.sky, style.vignette) = ([0.0; 3], 0.0, 0.0);
        }
        if self.colour_by.is_map() {
            // Light is proportional to mass.
            (style.variety, style.depth_cue, style.gas, style.dust) = (0.0, 0.0, 0.0, 0.0);
            (style.trail_secs, style.streak_time, style.sky, style.vignette) = (0.0, 0.0, 0.0, 0.0);
            // Maps are smoothed by kernels instead, which conserve each body's mass.
            (style.bloom, style.local_exposure) = (0.0, 0.0);
        }
        style
    }

    /// Checks the ranges given for the fields.
    pub fn validate(&self) -> Result<()> {
        let in_range = |what: &str, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::value(what, value, format!("{least} to {most}")))
        };
        in_range("the sprite size", self.sprite_size, 0.1, 10.0)?;
        in_range("the variety of stars", self.variety, 0.0, 1.0)?;
        in_range("the exposure in stops", self.stops, -MOST_STOPS, MOST_STOPS)?;
        in_range("the bloom", self.bloom, 0.0, 1.0)?;
        in_range("the local exposure", self.local_exposure, 0.0, 1.0)?;
        in_range("the far sky", self.sky, 0.0, 1.0)?;
        in_range("the depth cue", self.depth_cue, 0.0, 1.0)?;
        in_range("the glow of gas", self.gas, 0.0, 1.0)?;
        in_range("the dust", self.dust, 0.0, 1.0)?;
        in_range("the vignette", self.vignette, 0.0, 1.0)?;
        in_range("the length of trails in seconds", self.trail_secs, 0.0, LONGEST_TRAIL_SECS)?;
        if !(self.streak_time.is_finite() && self.streak_time >= 0.0) {
            let allowed = "0 (none) or a finite time above it, in the bodies' units";
            return Err(Error::value(
                "the time that streaks reach back",
                self.streak_time,
                allowed,
            ));
        }
        for channel in self.background {
            in_range("a background colour", f64::from(channel), 0.0, 0.5)?;
        }
        match self.exposure {
            Exposure::Auto { adapt_secs } => {
                in_range("the exposure's adaption time", adapt_secs, 0.0, f64::INFINITY)?;
            }
            Exposure::Fixed { white, mid } => {
                in_range("the exposure's white", white, 1e-9, 1e9)?;
                in_range("the exposure's mid level", mid, 1e-12, white)?;
            }
        }
        if let Some([least, most]) = self.value_range {
            let (from, allowed) = match self.colour_by {
                ColourBy::Velocity => (f64::MIN, "two finite numbers, the second the larger"),
                _ => (f64::MIN_POSITIVE, "two numbers greater than 0, the second the larger"),
            };
            if !(least >= from && most > least && most.is_finite()) {
                let range = format!("{least} to {most}");
                return Err(Error::value("the range of the colour scale", range, allowed));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_style_is_valid_and_each_invalid_field_is_reported() {
        assert!(Style::default().validate().is_ok());
        let check = |change: fn(&mut Style), word: &str| {
            let mut style = Style::default();
            change(&mut style);
            let text = style.validate().unwrap_err().to_string();
            assert!(text.contains(word), "'{text}' should say '{word}'");
        };
        check(|s| s.sprite_size = 0.0, "sprite size");
        check(|s| s.variety = f64::NAN, "variety");
        check(|s| s.bloom = 1.5, "bloom");
        check(|s| s.local_exposure = -0.1, "local exposure");
        check(|s| s.sky = 1.1, "far sky");
        check(|s| s.depth_cue = -1.0, "depth cue");
        check(|s| s.vignette = 2.0, "vignette");
        check(|s| s.gas = 1.1, "gas");
        check(|s| s.dust = -0.1, "dust");
        check(|s| s.stops = 99.0, "stops");
        check(|s| s.trail_secs = -1.0, "trails");
        for time in [-1.0, f64::NAN, f64::INFINITY] {
            let text = Style { streak_time: time, ..Style::default() }.validate().unwrap_err();
            assert!(text.to_string().contains("streaks reach back"), "{text}");
        }
        check(|s| s.background[1] = 1.0, "background");
        check(|s| s.value_range = Some([2.0, 1.0]), "range");
        check(|s| s.value_range = Some([-2.0, 1.0]), "greater than 0");
        let style = Style {
            colour_by: ColourBy::Velocity,
            value_range: Some([-2.0, 1.0]),
            ..Style::default()
        };
        assert!(style.validate().is_ok());
        check(|s| s.exposure = Exposure::Fixed { white: 1.0, mid: 2.0 }, "mid level");
        check(|s| s.exposure = Exposure::Auto { adapt_secs: -1.0 }, "adaption");
        assert!(ColourBy::from_name("taste").unwrap_err().to_string().contains("speed"));
    }
}
