//! From a request to looks and a camera.

use super::{Camera, CameraMotion, ColourBy, Exposure, Follow, Palette, PictureSize, Style};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::{CameraHint, Colouring, ViewHints};
use crate::settings::{LookRequest, ValueRange};

impl LookRequest {
    /// The looks.
    ///
    /// Errors: a name in no registry, a number out of its range.
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
            ..default
        };
        style.validate()?;
        Ok(style)
    }

    /// Changes the looks to what a scene says of its own, where the options say nothing.
    pub fn suit(&self, style: &mut Style, hints: Option<&ViewHints>) {
        let Some(hints) = hints else { return };
        if self.colour.is_none() && hints.colouring == Colouring::Speed {
            style.colour_by = ColourBy::Speed;
        }
        if let (None, Some(glow)) = (self.bloom, hints.glow) {
            style.bloom = glow;
        }
    }

    /// The camera by the options, then by the scene's hints, then by where the bodies are.
    ///
    /// Errors: numbers out of their range, a component or body to follow that is not there.
    pub fn motion(
        &self,
        bodies: &Bodies,
        hints: Option<&ViewHints>,
        style: &Style,
        size: PictureSize,
    ) -> Result<CameraMotion> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_what_is_usual() {
        assert_eq!(LookRequest::default().style().unwrap(), Style::default());
        assert_eq!(
            Follow::from_name(&LookRequest::default().follow, &Bodies::default()).unwrap(),
            Follow::Nothing
        );
    }
}
