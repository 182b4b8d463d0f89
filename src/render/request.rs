//! Turns a look request into a style and a camera.

use super::framing::quantile;
use super::{Camera, CameraMotion, ColourBy, Exposure, Follow, Palette, PictureSize, Style};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::{CameraHint, Colouring, ViewHints};
use crate::settings::{LookRequest, ValueRange};

/// The aspect ratio, width by height, for which a scene's extent is given.
pub const ASPECT: f64 = 16.0 / 9.0;

/// Drift, in units of the radius that holds most of the bodies, beyond which bodies with a common
/// motion count as leaving the picture; and the number of bodies that this radius is taken from.
const DRIFTING: f64 = 0.5;
const SAMPLES: usize = 16_384;

/// The factor from the extent given for [`ASPECT`] to that of the shorter side in a picture of that
/// size, so that a narrower picture shows as much; 1 for that aspect ratio and wider ones.
pub(super) fn widening(size: PictureSize) -> f64 {
    let aspect = f64::from(size.width()) / f64::from(size.height());
    (ASPECT / aspect.max(1.0)).max(1.0)
}

impl LookRequest {
    /// The requested style.
    ///
    /// # Errors
    ///
    /// An unknown name, a number out of its range.
    pub fn style(&self) -> Result<Style> {
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
            bloom: self.bloom.unwrap_or(default.bloom),
            local_exposure: self.local_exposure,
            variety: self.variety,
            vignette: self.vignette,
            sky: self.sky,
            depth_cue: self.depth_cue,
            gas: self.gas,
            dust: self.dust,
            dither: !self.no_dither,
            paths: !self.no_paths,
            value_range: self.colour_range.map(|ValueRange(range)| range),
            trail_secs: self.trails,
            streak_time: self.streaks,
            transparent: self.transparent,
            deep: self.deep,
            ..default
        };
        style.validate()?;
        Ok(style)
    }

    /// Applies the scene's own style where the options set nothing.
    pub fn suit(&self, style: &mut Style, hints: Option<&ViewHints>) {
        let Some(hints) = hints else { return };
        if self.colour.is_none() && hints.colouring == Colouring::Speed {
            style.colour_by = ColourBy::Speed;
        }
        if let (None, Some(glow)) = (self.bloom, hints.glow) {
            style.bloom = glow;
        }
    }

    /// The camera for a picture of `size`: from the options, else from the scene's hints, else from
    /// the positions of the bodies. An extent in the options is half the shorter side of the
    /// picture; one in the hints is for 16:9 pictures. `lasts` is the simulated time for which the
    /// bodies are shown.
    ///
    /// # Errors
    ///
    /// Numbers out of their range, a component or body to follow that does not exist.
    pub fn motion(
        &self,
        bodies: &Bodies,
        hints: Option<&ViewHints>,
        style: &Style,
        size: PictureSize,
        lasts: f64,
    ) -> Result<CameraMotion> {
        let default_follow = default_follow(bodies, hints, lasts);
        let extent = self.extent.or(hints.map(|hints| hints.extent * widening(size)));
        let hints = hints.cloned().unwrap_or(ViewHints { azimuth: -90.0, ..Default::default() });
        let inclination = self.inclination.unwrap_or(hints.inclination);
        let azimuth = self.azimuth.unwrap_or(hints.azimuth);
        let mut start = Camera {
            azimuth_rad: azimuth.to_radians(),
            elevation_rad: (90.0 - inclination).to_radians(),
            ..Camera::default()
        };
        let named = self.follow.as_ref().map(|name| Follow::from_name(name, bodies)).transpose()?;
        let follow = named.unwrap_or(default_follow);
        match extent {
            Some(extent) => {
                if !(extent.is_finite() && extent > 0.0) {
                    return Err(Error::value("--extent", extent, "greater than 0"));
                }
                start.distance = extent / (0.5 * start.fov_rad).tan();
            }
            None => start = start.framing(bodies, style, 0.99, size),
        }
        if let Some(target) = follow.target(bodies)? {
            start.target = target;
        }
        start.validate()?;
        let orbit = self.orbit.unwrap_or(hints.orbit_speed);
        Ok(CameraMotion {
            start,
            orbit_rad_per_sec: orbit.to_radians(),
            follow,
            directs: hints.camera == CameraHint::Directed
                && self.extent.is_none()
                && follow == Follow::Nothing,
            path: hints.keyframes,
        })
    }
}

/// What the camera follows by default: nothing in a scene, whose view was chosen for it; with a
/// snapshot the centre of mass, if the bodies' common motion would take them out of the picture
/// within the simulated time `lasts`.
pub fn default_follow(bodies: &Bodies, hints: Option<&ViewHints>, lasts: f64) -> Follow {
    let (centre, drift) = bodies.centre_of_mass();
    let path_length = drift.length() * lasts;
    if hints.is_some() || !(path_length > 0.0) {
        return Follow::Nothing;
    }
    let stride = bodies.len().div_ceil(SAMPLES).max(1);
    let sample = bodies.position.iter().step_by(stride);
    let mut away: Vec<f64> = sample.map(|place| (*place - centre).length()).collect();
    match path_length > DRIFTING * quantile(&mut away, 0.95) {
        true => Follow::CentreOfMass,
        false => Follow::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn empty_request_gives_defaults() {
        assert_eq!(LookRequest::default().style().unwrap(), Style::default());
        let follow = |bodies| default_follow(bodies, None, 10.0);
        assert_eq!(follow(&Bodies::default()), Follow::Nothing);
    }

    #[test]
    fn drifting_snapshots_are_followed_by_default() {
        let moving = |speed: f64| {
            let mut bodies = Bodies::default();
            for i in 0..1000 {
                let (sin, cos) = libm::sincos(f64::from(i));
                let place = DVec3::new(cos, sin, 0.0) * (0.001 * f64::from(i));
                let whirl = DVec3::new(-sin, cos, 0.0);
                bodies.push(1.0, place, whirl + DVec3::X * speed, 0);
            }
            bodies
        };
        let size = PictureSize::new(640, 360).unwrap();
        let follow = |request: &LookRequest, speed: f64, hints: Option<&ViewHints>, lasts: f64| {
            let style = Style::default();
            request.motion(&moving(speed), hints, &style, size, lasts).unwrap().follow
        };
        let defaults = LookRequest::default();
        assert_eq!(follow(&defaults, 1.0, None, 10.0), Follow::CentreOfMass);
        assert_eq!(
            follow(&defaults, 1e-3, None, 10.0),
            Follow::Nothing,
            "they stay in the picture"
        );
        assert_eq!(follow(&defaults, 1.0, None, 0.1), Follow::Nothing, "it is over before");
        let scene = ViewHints::default();
        assert_eq!(
            follow(&defaults, 1.0, Some(&scene), 10.0),
            Follow::Nothing,
            "a scene has its view"
        );
        let requested =
            LookRequest { follow: Some("nothing".to_owned()), ..LookRequest::default() };
        assert_eq!(follow(&requested, 1.0, None, 10.0), Follow::Nothing);
    }

    #[test]
    fn narrow_pictures_show_everything_wide_ones_do() {
        let hints = ViewHints { extent: 3.0, ..Default::default() };
        let bodies = Bodies::default();
        let half = |request: &LookRequest, width: u32, height: u32| {
            let size = PictureSize::new(width, height).unwrap();
            let style = Style::default();
            let motion = request.motion(&bodies, Some(&hints), &style, size, 10.0).unwrap();
            let camera = motion.start;
            let shorter = camera.distance * (0.5 * camera.fov_rad).tan();
            let px = shorter / (0.5 * f64::from(size.shorter_side()));
            [0.5 * f64::from(width) * px, 0.5 * f64::from(height) * px]
        };
        let defaults = LookRequest::default();
        // The factor of wide pictures is 1.
        for [width, height] in [[1280, 720], [3840, 2160], [1000, 400]] {
            assert!((half(&defaults, width, height)[1] - 3.0).abs() < 1e-9);
        }
        for [width, height] in [[670, 640], [500, 900], [360, 640], [720, 720], [1024, 768]] {
            let [x, y] = half(&defaults, width, height);
            assert!((x - 3.0 * ASPECT).abs() < 1e-9 && y >= 3.0, "{width} by {height}: {x} {y}");
        }
        // An extent in the options is not adjusted.
        let requested = LookRequest { extent: Some(2.0), ..LookRequest::default() };
        assert!((half(&requested, 360, 640)[0] - 2.0).abs() < 1e-9);
    }
}
